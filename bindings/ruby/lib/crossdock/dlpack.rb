# frozen_string_literal: true

module Crossdock
  # A tensor on loan by DLPack: the address of its struct, to be taken by one consumer, once. Python's libraries call such an object a capsule.
  #
  # Whoever takes the tensor calls its deleter, once. If nobody does, the object calls it when it is collected. Until then the memory is lent:
  # nobody has an array of it that relies on its being constant.
  #
  # @example A consumer in C gets the address, by a method of its own
  #   capsule = array.to_dlpack
  #   Other.consume(capsule.take)
  class DLPack
    include Transient

    class << self
      # A capsule for a tensor of somebody else's. It is not looked at, but for its version. Its deleter is called by a thread of Ruby's that has
      # the lock and is in no collection, however late: it may be written in Ruby.
      #
      # @param address [Integer, Fiddle::Pointer] of a `DLManagedTensorVersioned`, which is the capsule's from now on
      # @param legacy [Boolean] whether it is a `DLManagedTensor`, from before version 1.0
      # @param owner [Object] kept alive until the deleter was called: a deleter that is written in Ruby belongs to an object
      # @return [DLPack]
      def new(address, legacy: false, owner: nil)
        wrap(Crossdock.__send__(:address_of, address), !legacy, owner)
      end

      private :wrap
    end

    # @!method address
    #   Where the struct is; it stays the capsule's. {#to_ptr} is the same for Fiddle.
    #   @return [Integer]
    #   @raise [Error] once it was taken
    # @!method take
    #   Where the struct is; it is the caller's from now on, who calls the deleter.
    #   @return [Integer]
    #   @raise [Error] once it was taken
    # @!method used?
    #   @return [Boolean] whether it was taken or released
    # @!method versioned?
    #   @return [Boolean] whether the struct is that of version 1; otherwise the one from before
    # @!method copied_nbytes
    #   @return [Integer] how many bytes were copied for this capsule
    # @!method release
    #   Calls the deleter, unless the tensor was taken.
    #   @return [nil]

    # The struct for Fiddle, which takes the capsule itself where a function wants a pointer. It stays the capsule's.
    # @return [Fiddle::Pointer]
    def to_ptr
      require "fiddle"
      Fiddle::Pointer.new(address)
    end

    # The name that Python's capsules have.
    # @return [String]
    def name
      "#{"used_" if used?}dltensor#{"_versioned" if versioned?}"
    end

    # @return [self] a capsule is what it is asked for
    def to_dlpack
      self
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{name}#{format(" 0x%016x", address) unless used?}>"
    end
  end

  class Array
    # The array as a tensor of DLPack, in place, with a lease: a consumer may write it, so nobody has it as constant memory meanwhile.
    #
    # @param copy [Boolean, Symbol, nil] `true` permits a copy where one is needed, `:always` asks for one
    # @param legacy [Boolean] whether to use the struct from before version 1.0, which cannot say that an array is read-only
    # @param trust_readonly [Boolean] your word that no consumer of this capsule writes an array that is read-only. The protocol asks them not to,
    #   and some do: without your word, and without a copy, read-only and frozen arrays are refused.
    # @return [DLPack]
    # @raise [Refusal] for types that DLPack has no word for, strides that are no whole number of elements, memory that is read-only
    def to_dlpack(copy: false, legacy: false, trust_readonly: false)
      export_dlpack(copy, !legacy, trust_readonly)
    end
  end

  class << self
    # The array of a tensor that somebody lends by DLPack, in place.
    #
    # @param source [#to_dlpack, DLPack, Integer, Fiddle::Pointer] what has such a tensor, a capsule, or the address of a struct. An address is
    #   believed; the struct's numbers are checked.
    # @param legacy [Boolean] of an address: whether it is that of the struct from before version 1.0
    # @param writable [Boolean] of the struct from before 1.0, which cannot say whether it may be written: your word that it may
    # @return [Array]
    # @raise [Error] where the capsule was used, and where what the struct says contradicts itself. Its deleter was called then.
    def from_dlpack(source, legacy: false, writable: false)
      source = source.to_dlpack if source.respond_to?(:to_dlpack)
      source = address_of(source) unless source.is_a?(DLPack)
      import_dlpack(source, !legacy, writable)
    end

    private

    # The address that is meant by an Integer, or by what stands for a pointer.
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
