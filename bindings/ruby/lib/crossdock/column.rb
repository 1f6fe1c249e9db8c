# frozen_string_literal: true

module Crossdock
  # Elements of one type, some of them null, on the memory of their producer: text, dates, decimals,
  # lists, structs, numbers, or any other type of Arrow's. A column of a table has a chunk for each
  # batch.
  #
  # A column with elements of a fixed width and without nulls exports MemoryViews, like the
  # {Crossdock::Array} that {#array} returns.
  #
  # In Ruby, a null is nil, a date is a Date, a timestamp is a Time (in UTC, or at the fixed offset
  # of its type), a decimal is a BigDecimal, a list is an Array, a struct is a Hash with Strings, and
  # a map is an Array of pairs. Times of day and durations are Integers, the count of their unit.
  #
  # @example
  #   column = Crossdock.column(["one", nil, "three"])
  #   column[2]       #=> "three"
  #   column[0..1].to_a #=> ["one", nil]
  class Column
    include Enumerable
    include Transient

    class << self
      # A column of Strings, numbers, booleans, Dates or Times, some of them nil: a copy. Or of a
      # {Crossdock::Array} with one axis, in place.
      #
      # @param values [::Array, Crossdock::Array]
      # @return [Column]
      # @raise [TypeError] if the values are of several kinds
      def new(values)
        of_object(values)
      end

      # A column of another library, in place.
      #
      # @overload from_arrow(source)
      #   @param source [#to_arrow_c_stream, #to_arrow_c_array, Integer, Fiddle::Pointer] a producer,
      #     or the address of a struct `ArrowArrayStream`
      # @overload from_arrow(schema, array)
      #   @param schema [Integer, Fiddle::Pointer] the address of a struct `ArrowSchema`
      #   @param array [Integer, Fiddle::Pointer] the address of a struct `ArrowArray`
      # @return [Column]
      # @raise [Error] if a struct was released, or moved elsewhere, and if the structs contradict
      #   themselves. They are released in that case.
      def from_arrow(source, array = nil)
        ArrowStream.__send__(:import, :column, source, array)
      end

      private :of_object
    end

    # @!method name
    #   @return [String] the name, which may be empty
    # @!method type
    #   @return [String] the type, as Arrow's libraries name it: `"string"`, `"timestamp[us, tz=UTC]"`
    # @!method nullable?
    #   @return [Boolean] whether there may be nulls
    # @!method null_count
    #   @return [Integer] the number of nulls
    # @!method size
    #   @return [Integer] the number of elements
    # @!method array
    #   The elements as an array, in place. Dates of 32 bits and times are integers, a dictionary
    #   gives its indices, and moments are in UTC.
    #   @return [Array]
    #   @raise [Refusal] if elements are null, or the column has several chunks
    #   @raise [TypeError] if the elements have no fixed width, or are decimals
    # @!method mask
    #   A boolean for each element: true where it is valid, false where it is null. Copies.
    #   @return [Array]
    # @!method fill_nulls(value)
    #   The elements with a value in place of each null. Copies.
    #   @param value [Numeric, Boolean, String] of the kind of the elements
    #   @return [Column]
    # @!method compact
    #   The elements in new memory and in one chunk. Copies.
    #   @return [Column]
    # @!method chunks
    #   @return [::Array<Column>] a column for each chunk, in place
    # @!method to_a
    #   @return [::Array] the elements
    # @!method released?
    #   @return [Boolean] whether the memory was released, so that nothing can be read
    # @!method release
    #   Releases the memory, unless the table, arrays, other columns or views use it: also the slot of
    #   a channel. Nothing can be read from this object afterwards.
    #   @return [nil]

    # The element at an index, or a part, in place.
    #
    # @overload [](index)
    #   @param index [Integer] negative ones count from the end
    #   @return [Object] the element; nil if it is null
    # @overload [](range)
    #   @param range [Range]
    #   @return [Column]
    # @overload [](start, length)
    #   @return [Column]
    # @raise [IndexError] for an index out of bounds
    def [](index, length = nil)
      return part(*RowRange.of(index, length, size)) if length || index.is_a?(Range)

      at(RowRange.index(index, size))
    end

    # The last element, or an Array of the last ones. ({#first} is Enumerable's.)
    # @param count [Integer, nil]
    # @return [Object, ::Array]
    def last(count = nil)
      return (at(size - 1) unless size.zero?) if count.nil?

      count = RowRange.count(count, size)
      values(size - count, count)
    end

    # @yieldparam element [Object] the elements as {#to_a} gives them, of which a block is converted
    #   at a time
    # @return [self, Enumerator] an Enumerator without a block
    def each(&block)
      return enum_for(:each) { size } unless block

      (0...size).step(RowRange::BLOCK) { |start| values(start, RowRange::BLOCK).each(&block) }
      self
    end

    # @param name [String, Symbol]
    # @return [Column] the same elements under another name
    def rename(name)
      named(name.to_s)
    end

    # The chunks as a stream of Arrow's, in place. No code writes the memory until the consumer
    # releases it.
    # @return [ArrowStream]
    # @raise [Refusal] if other code may write the memory
    def to_arrow_c_stream
      ArrowStream.__send__(:of_column, self)
    end

    alias to_arrow to_arrow_c_stream

    # The only chunk as Arrow's two structs, in place.
    # @return [ArrowColumn]
    # @raise [Refusal] if there are several chunks, or other code may write the memory
    def to_arrow_c_array
      ArrowStream.__send__(:structs_of, self)
    end

    # @return [Column] another column on the same memory
    def dup
      part(0, size)
    end

    # @return [Column] another column on the same memory
    def clone(freeze: nil)
      freeze || (frozen? && freeze.nil?) ? dup.freeze : dup
    end

    # The elements in a list, like {#to_a}.
    # @return [String]
    def to_json(*state)
      require "json" unless [].respond_to?(:to_json)
      to_a.to_json(*state)
    end

    # @return [String] the first and the last elements
    def to_s
      released? ? "released" : text
    end

    # @return [String]
    def inspect
      return "#<#{self.class} released>" if released?

      "#{self.class} #{"#{name.inspect} " unless name.empty?}#{type} #{size}\n#{self}"
    end

    alias length size

    private

    def instead_of_writing
      "write its elements (`column.to_a`), or save a table that has it"
    end
  end

  # Indices of rows and elements.
  # @api private
  module RowRange
    # How many rows are converted at a time.
    BLOCK = 1024

    class << self
      def index(index, size)
        index = Integer(index)
        found = index.negative? ? index + size : index
        raise IndexError, "index #{index} is out of bounds for #{size} rows" unless found.between?(0, size - 1)

        found
      end

      # How many of the last ones there are.
      def count(count, size)
        raise TypeError, "count: an instance of #{count.class} is no Integer" unless count.respond_to?(:to_int)

        count = count.to_int
        raise ArgumentError, "count: #{count} is negative" if count.negative?

        [count, size].min
      end

      # The start and the length of a Range, or of a start and a length.
      def of(range, length, size)
        if length
          start, stop = Integer(range), nil
          raise ArgumentError, "the length #{length} is negative" if length.negative?
        else
          start, stop = range.begin || 0, range.end
        end
        start += size if start.negative?
        raise IndexError, "#{range.inspect} is out of bounds for #{size} rows" unless start.between?(0, size)
        return [start, [length, size - start].min] if length

        stop = size - 1 if stop.nil?
        stop += size if stop.negative?
        stop -= 1 if range.end && range.exclude_end?
        [start, (stop + 1 - start).clamp(0, size - start)]
      end
    end
  end
  private_constant :RowRange
end
