# frozen_string_literal: true

module Crossdock
  # A column on loan by Arrow's C Data interface: two structs, at addresses that are good for as long as this object is alive. A consumer moves
  # both from there, as the interface has it, which marks them; then it releases them. If nobody does, this object does when it is collected.
  #
  # While a column is on loan, nobody writes its memory: Arrow's consumers rely on that.
  #
  # @example Red Arrow takes it
  #   column = array.to_arrow
  #   Arrow::Array.import(column.array, Arrow::DataType.import(column.schema))
  class ArrowColumn
    include Transient

    class << self
      # A column that moves what lies in two structs of somebody else's. They are released by a thread of Ruby's that has the lock and is in no
      # collection, however late: their functions may be written in Ruby.
      #
      # @param schema [Integer, Fiddle::Pointer] the address of a struct `ArrowSchema`
      # @param array [Integer, Fiddle::Pointer] the address of a struct `ArrowArray`
      # @param owner [Object] kept alive until both were released: functions that are written in Ruby belong to an object
      # @return [ArrowColumn]
      # @raise [Error] where one of them was released, or moved elsewhere
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
    #   @raise [Error] once it was released or moved, as the three below
    # @!method name
    #   @return [String, nil] the name of the column
    # @!method length
    #   @return [Integer] how many elements it has
    # @!method null_count
    #   @return [Integer] how many of them are null; -1 where nobody counted
    # @!method released?
    #   @return [Boolean] whether the array was released, or moved elsewhere
    # @!method copied_nbytes
    #   @return [Integer] how many bytes were copied for this column
    # @!method release
    #   Releases what nobody has moved away.
    #   @return [nil]

    # @return [self] a column is what it is asked for
    def to_arrow_c_array
      self
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{released? ? "released" : "#{format.inspect}, #{length} elements"}>"
    end
  end

  class Array
    # The array as a column of Arrow's, in place, with a lease under which nobody writes. Axis 0 is the rows; the others go as a tensor of a fixed
    # shape, in any order.
    #
    # @param copy [Boolean, Symbol, nil] `true` permits a copy where one is needed, `:always` asks for one
    # @param whole [Boolean] whether the array goes as the one element of the column: so axis 0 may lie in any order, too, or be missing
    # @param name [String, Symbol, nil] of the column
    # @param mask [Array, nil] truth values of the array's shape: where one is false, the element is null
    # @return [ArrowColumn]
    # @raise [Refusal] where others may write the memory, where elements lie otherwise than Arrow's do, for types that Arrow has no word for
    def to_arrow(copy: false, whole: false, name: nil, mask: nil)
      export_arrow(copy, whole, name, mask)
    end

    alias to_arrow_c_array to_arrow
  end

  class << self
    # The array of a column that somebody lends by Arrow's C Data interface: in place, and read-only.
    #
    # @overload from_arrow(source, as: :array)
    #   @param source [#to_arrow_c_array, ArrowColumn] what has such a column. Its answer is a column, or the addresses of schema and array
    # @overload from_arrow(schema, array, as: :array)
    #   @param schema [Integer, Fiddle::Pointer] the address of a struct `ArrowSchema`, which is believed; its numbers are checked
    #   @param array [Integer, Fiddle::Pointer] the address of a struct `ArrowArray`
    # @param as [Symbol] `:array`; `:masked` for what may have nulls: an array, and one of truth values, or nil; of a struct `:columns` for a Hash
    #   with an array for each field, or `:records` for one array, which copies
    # @return [Array, (Array, Array), Hash{String => Array}]
    # @raise [Error] where it was released, or moved elsewhere, and where what the structs say contradicts itself. They were released then.
    def from_arrow(source, array = nil, as: :array)
      if array.nil?
        source = source.to_arrow_c_array if source.respond_to?(:to_arrow_c_array)
        # Whatever it is, `source` keeps it alive until what is at its addresses was moved.
        schema, array = source.is_a?(ArrowColumn) ? [source.schema, source.array] : Kernel.Array(source)
        raise TypeError, "a column of Arrow's has two addresses: of its schema, and of its array" if array.nil?
      end
      import_arrow(address_of(schema || source), address_of(array), as, source)
    end

    private :import_arrow
  end
end
