# frozen_string_literal: true

module Crossdock
  # A column that is exported by Arrow's C data interface: two structs, at addresses that stay valid
  # while this object is alive. A consumer moves both structs out, which marks them, and releases
  # them later. Otherwise this object releases them when it is collected.
  #
  # While a column is exported, no code writes its memory: Arrow's consumers rely on that.
  #
  # @example Red Arrow takes it
  #   column = array.to_arrow
  #   Arrow::Array.import(column.array, Arrow::DataType.import(column.schema))
  class ArrowColumn
    include Transient

    class << self
      # A column that moves the content of two foreign structs. A Ruby thread releases them, with
      # the lock held and outside of a collection, at any later time: their functions may be written
      # in Ruby.
      #
      # @param schema [Integer, Fiddle::Pointer] the address of a struct `ArrowSchema`
      # @param array [Integer, Fiddle::Pointer] the address of a struct `ArrowArray`
      # @param owner [Object] kept alive until both were released: functions that are written in
      #   Ruby belong to an object
      # @return [ArrowColumn]
      # @raise [Error] if one of them was released, or moved elsewhere
      def new(schema, array, owner: nil)
        wrap(Crossdock.__send__(:address_of, schema), Crossdock.__send__(:address_of, array), owner)
      end

      private :wrap
    end

    # @!method schema
    #   @return [Integer] the address of the struct `ArrowSchema`
    # @!method array
    #   @return [Integer] the address of the struct `ArrowArray`
    # @!method format
    #   @return [String] the type, in Arrow's letters
    #   @raise [Error] after the column was released or moved, like the three methods below
    # @!method name
    #   @return [String, nil] the name of the column
    # @!method length
    #   @return [Integer] the number of elements
    # @!method null_count
    #   @return [Integer] the number of nulls; -1 if they were not counted
    # @!method released?
    #   @return [Boolean] whether the array was released, or moved elsewhere
    # @!method copied_nbytes
    #   @return [Integer] the number of bytes copied for this column
    # @!method release
    #   Releases the structs that no consumer moved out.
    #   @return [nil]

    # @return [self] a column converts to itself
    def to_arrow_c_array
      self
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{released? ? "released" : "#{format.inspect}, #{length} elements"}>"
    end

    private

    def instead_of_writing
      "write the array of which it was made, or the elements of the column (`column.to_a`)"
    end
  end

  class Array
    # The array as an Arrow column, zero-copy, with a lease that excludes writes. Axis 0 is the
    # rows; the other axes become a tensor of a fixed shape, in any order.
    #
    # @param copy [Boolean, Symbol, nil] `true` permits a copy if necessary, `:always` always copies
    # @param whole [Boolean] whether the array becomes the single element of the column: axis 0 may
    #   then have any stride, too, or be missing
    # @param name [String, Symbol, nil] the name of the column
    # @param mask [Array, nil] booleans of the array's shape: an element is null where its boolean
    #   is false
    # @return [ArrowColumn]
    # @raise [Refusal] if other code may write the memory, if Arrow does not support the layout, or
    #   the dtype
    def to_arrow(copy: false, whole: false, name: nil, mask: nil)
      export_arrow(copy, whole, name, mask)
    end

    alias to_arrow_c_array to_arrow
  end

  class << self
    # The array of a column that a producer exports by Arrow's C data interface: zero-copy, and
    # read-only.
    #
    # @overload from_arrow(source, as: :array)
    #   @param source [#to_arrow_c_array, ArrowColumn] the producer. Its method returns a column, or
    #     the addresses of schema and array
    # @overload from_arrow(schema, array, as: :array)
    #   @param schema [Integer, Fiddle::Pointer] the address of a struct `ArrowSchema`, which cannot
    #     be checked; its numbers are
    #   @param array [Integer, Fiddle::Pointer] the address of a struct `ArrowArray`
    # @param as [Symbol] `:array`; `:masked` for a column that may have nulls: an array, and one of
    #   booleans, or nil; for a struct `:columns` for a Hash with an array for each field, or
    #   `:records` for one array, which copies
    # @return [Array, (Array, Array), Hash{String => Array}]
    # @raise [Error] if it was released, or moved elsewhere, and if the structs contradict
    #   themselves. They are released in that case.
    def from_arrow(source, array = nil, as: :array)
      if array.nil?
        source = source.to_arrow_c_array if source.respond_to?(:to_arrow_c_array)
        # `source` keeps it alive until the structs at its addresses were moved.
        schema, array = source.is_a?(ArrowColumn) ? [source.schema, source.array] : Kernel.Array(source)
        raise TypeError, "a column of Arrow's has two addresses: of its schema, and of its array" if array.nil?
      end
      import_arrow(address_of(schema || source), address_of(array), as, source)
    end

    private :import_arrow
  end
end
