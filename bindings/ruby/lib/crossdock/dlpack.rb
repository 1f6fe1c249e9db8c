# frozen_string_literal: true

module Crossdock
  # A tensor that is exported by DLPack: the address of its struct, which one consumer takes once.
  # Python's libraries call such an object a capsule.
  #
  # The consumer that takes the tensor calls its deleter, once. Otherwise the object calls it when
  # it is collected. Until then the memory is leased: no array treats it as constant.
  #
  # @example A consumer in C gets the address, by a method of its own
  #   capsule = array.to_dlpack
  #   Other.consume(capsule.take)
  class DLPack
    include Transient

    class << self
      # A capsule for a foreign tensor. Only its version is read. A Ruby thread calls its deleter,
      # with the lock held and outside of a collection, at any later time: it may be written in
      # Ruby.
      #
      # @param address [Integer, Fiddle::Pointer] the address of a `DLManagedTensorVersioned`, which
      #   the capsule owns from now on
      # @param legacy [Boolean] whether it is a `DLManagedTensor`, from before version 1.0
      # @param owner [Object] kept alive until the deleter was called: a deleter that is written in
      #   Ruby belongs to an object
      # @return [DLPack]
      def new(address, legacy: false, owner: nil)
        wrap(Crossdock.__send__(:address_of, address), !legacy, owner)
      end

      private :wrap
    end

    # @!method address
    #   The address of the struct, which the capsule still owns. {#to_ptr} is the same for Fiddle.
    #   @return [Integer]
    #   @raise [Error] after it was taken
    # @!method take
    #   The address of the struct, which the caller owns from now on and must delete.
    #   @return [Integer]
    #   @raise [Error] after it was taken
    # @!method used?
    #   @return [Boolean] whether it was taken or released
    # @!method versioned?
    #   @return [Boolean] whether the struct is that of version 1, rather than the older one
    # @!method copied_nbytes
    #   @return [Integer] the number of bytes copied for this capsule
    # @!method release
    #   Calls the deleter, unless the tensor was taken.
    #   @return [nil]

    # The struct for Fiddle, which accepts the capsule itself as a pointer argument. The capsule
    # still owns it.
    # @return [Fiddle::Pointer]
    def to_ptr
      require "fiddle"
      Fiddle::Pointer.new(address)
    end

    # The name of the equivalent Python capsule.
    # @return [String]
    def name
      "#{"used_" if used?}dltensor#{"_versioned" if versioned?}"
    end

    # @return [self] a capsule converts to itself
    def to_dlpack
      self
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{name}#{format(" 0x%016x", address) unless used?}>"
    end

    private

    def instead_of_writing
      "write the array of which it was made"
    end
  end

  class Array
    # The array as a DLPack tensor, zero-copy, with a lease: the consumer may write it, so no array
    # treats the memory as constant meanwhile.
    #
    # @param copy [Boolean, Symbol, nil] `true` permits a copy if necessary, `:always` always copies
    # @param legacy [Boolean] whether to use the struct from before version 1.0, which has no
    #   read-only flag
    # @param trust_readonly [Boolean] your promise that no consumer of this capsule writes a
    #   read-only array. The protocol forbids it, but some consumers do: without this promise, and
    #   without a copy, read-only and frozen arrays are refused.
    # @return [DLPack]
    # @raise [Refusal] for dtypes that DLPack lacks, strides that are not multiples of the element
    #   size, and read-only memory
    def to_dlpack(copy: false, legacy: false, trust_readonly: false)
      export_dlpack(copy, !legacy, trust_readonly)
    end
  end

  class << self
    # The array of a tensor that a producer exports by DLPack, zero-copy.
    #
    # @param source [#to_dlpack, DLPack, Integer, Fiddle::Pointer] a producer, a capsule, or the
    #   address of a struct. An address cannot be checked; the struct's numbers are.
    # @param legacy [Boolean] for an address: whether the struct is the one from before version 1.0
    # @param writable [Boolean] for the struct from before 1.0, which has no read-only flag: your
    #   promise that it may be written
    # @return [Array]
    # @raise [Error] if the capsule was used, and if the struct contradicts itself. Its deleter is
    #   called in that case.
    def from_dlpack(source, legacy: false, writable: false)
      source = source.to_dlpack if source.respond_to?(:to_dlpack)
      source = address_of(source) unless source.is_a?(DLPack)
      import_dlpack(source, !legacy, writable)
    end

    private

    # The address in an Integer, or in an object that represents a pointer.
    def address_of(pointer)
      return pointer if pointer.is_a?(Integer)
      return pointer.to_ptr.to_i if pointer.respond_to?(:to_ptr)
      return pointer.to_int if pointer.respond_to?(:to_int) && !pointer.is_a?(Numeric)
      return pointer.address if pointer.respond_to?(:address)

      raise TypeError, "an instance of #{pointer.class} is no address: give an Integer, a pointer, or what answers to_dlpack"
    end

    private :import_dlpack
  end
end
