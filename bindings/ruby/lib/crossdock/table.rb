# frozen_string_literal: true

module Crossdock
  # Named columns of equal length, in batches, on the memory of their producers. {Crossdock.table}
  # makes one of a Hash, or of a table of another library.
  #
  # A part of a table is another table on the same memory.
  #
  # @example
  #   table = Crossdock.table("name" => ["bolt", nil], "price" => Crossdock::Array[0.25, 0.5])
  #   table["price"].array # in place
  #   table[1]             #=> {"name"=>nil, "price"=>0.5}
  #   table.each_row { |row| puts row["name"] }
  class Table
    include Enumerable
    include Transient

    class << self
      # A table of columns, or of rows.
      #
      # @overload new(columns)
      #   @param columns [Hash{String, Symbol => Column, Crossdock::Array, ::Array}] columns and
      #     arrays in place, other values as {Column.new} takes them
      # @overload new(rows)
      #   @param rows [::Array<Hash{String, Symbol => Object}, Struct, Data>] a copy; the first has the
      #     names of the columns, and the others have the same ones
      # @return [Table]
      # @raise [ArgumentError] if rows have other names than the first
      # @example
      #   Crossdock::Table.new([{ name: "bolt", price: 0.25 }, { name: nil, price: 0.5 }])
      def new(columns)
        columns = of_rows(columns) if columns.is_a?(::Array)
        raise TypeError, "an instance of #{columns.class} is no table: give a Hash of columns, or an Array of Hashes, the rows" unless columns.is_a?(Hash)

        of_columns(columns.keys.map(&:to_s), columns.values.map { |values| Crossdock.column(values) })
      end

      # A table of another library, in place, with the same batches.
      #
      # @overload from_arrow(source)
      #   @param source [#to_arrow_c_stream, #to_arrow_c_array, Integer, Fiddle::Pointer] a producer,
      #     or the address of a struct `ArrowArrayStream`, of which all batches are read
      # @overload from_arrow(schema, array)
      #   @param schema [Integer, Fiddle::Pointer] the address of a struct `ArrowSchema` of a struct
      #     of columns
      #   @param array [Integer, Fiddle::Pointer] the address of a struct `ArrowArray`
      # @return [Table]
      # @raise [Error] if a struct was released, or moved elsewhere, and if the structs contradict
      #   themselves. They are released in that case.
      # @raise [IOError] with the producer's message, if it fails
      def from_arrow(source, array = nil)
        ArrowStream.__send__(:import, :table, source, array)
      end

      private :of_columns, :of_records

      private

      # The columns of rows.
      def of_rows(rows)
        columns = nil
        rows.each_with_index do |row, index|
          row = row.to_h if Records.class?(row.class)
          raise TypeError, "row #{index} is an instance of #{row.class}: rows are Hashes, Structs or Data" unless row.is_a?(Hash)

          row = by_name(row, index)
          columns ||= row.transform_values { [] }
          raise ArgumentError, "row 0 has no columns, and a table without columns has no rows: give names, or [] for no rows" if columns.empty?

          unless row.size == columns.size && columns.each_key.all? { |name| row.key?(name) }
            raise ArgumentError, "row #{index} has the columns #{row.keys.first(10).inspect}, and row 0 has #{columns.keys.first(10).inspect}; give nil for a null"
          end

          columns.each { |name, values| values << row[name] }
        end
        columns || {}
      end

      def by_name(row, index)
        named = row.transform_keys(&:to_s)
        return named if named.size == row.size

        twice = row.keys.group_by(&:to_s).values.find { |keys| keys.size > 1 }
        raise ArgumentError, "row #{index} has the keys #{twice.first(10).inspect}, which name one column: give one of them"
      end
    end

    # @!method names
    #   @return [::Array<String>] the names of the columns, which need not be unique
    # @!method size
    #   @return [Integer] the number of rows
    # @!method batches
    #   @return [::Array<Table>] a table for each batch, in place
    # @!method copy
    #   The same rows in new memory, which is not that of a file, a channel or another library. Copies.
    #   @return [Table]
    # @!method to_records
    #   The rows as an array of records. Copies.
    #   @return [Array]
    #   @raise [Refusal] if elements are null
    #   @raise [TypeError] if a column has elements without a fixed width, or decimals
    # @!method released?
    #   @return [Boolean] whether the memory was released, so that nothing can be read
    # @!method release
    #   Releases the memory, unless columns, arrays or other tables use it: also the slot of a
    #   channel. Nothing can be read from this object afterwards.
    #   @return [nil]

    alias length size

    # @return [String] the first and the last rows
    def to_s
      released? ? "released" : grid
    end

    # @return [::Array(Integer, Integer)] the numbers of rows and of columns
    def shape
      [size, names.size]
    end

    # @return [::Array<::Array(String, String)>] the name and the type of each column
    def schema
      columns.map { |column| [column.name, column.type].tap { column.release } }
    end

    # @return [::Array<Column>] the columns, in place
    def columns
      names.each_index.map { |index| column_at(index) }
    end

    # @return [Boolean] whether a column has this name
    def key?(name)
      names.include?(name.to_s)
    end

    # A column, a row, or a part, in place.
    #
    # @overload [](name)
    #   @param name [String, Symbol]
    #   @return [Column]
    # @overload [](names)
    #   @param names [::Array<String, Symbol>]
    #   @return [Table] these columns, in this order
    # @overload [](index)
    #   @param index [Integer] negative ones count from the end
    #   @return [Hash{String => Object}] the row
    # @overload [](range)
    #   @param range [Range]
    #   @return [Table] these rows
    # @overload [](start, length)
    #   @return [Table] these rows
    # @raise [KeyError] if no column, or more than one, has the name
    # @raise [IndexError] for an index out of bounds
    def [](key, length = nil)
      case key
      when String, Symbol then column_at(index_of(key))
      when ::Array then columns_at(key.map { |name| index_of(name) })
      when Range then rows(*RowRange.of(key, nil, size))
      else
        return rows(*RowRange.of(key, length, size)) if length

        row_hashes(RowRange.index(key, size), 1) { |row| return row }
      end
    end

    # The rows as Hashes by name, of which a block is converted at a time.
    #
    # @yieldparam row [Hash{String => Object}]
    # @return [self, Enumerator] an Enumerator without a block
    # @raise [Error] if several columns have one name
    def each_row(&block)
      return enum_for(:each_row) { size } unless block

      (0...size).step(RowRange::BLOCK) { |start| row_hashes(start, RowRange::BLOCK, &block) }
      self
    end

    alias each each_row

    # The last row, or an Array of the last ones. ({#first} is Enumerable's.)
    # @param count [Integer, nil]
    # @return [Hash{String => Object}, ::Array<Hash>, nil]
    def last(count = nil)
      return (self[-1] unless size.zero?) if count.nil?

      count = RowRange.count(count, size)
      enum_for(:row_hashes, size - count, count).to_a
    end

    # @return [Hash{String => ::Array}] the elements of each column, as {Column#to_a} gives them
    # @raise [Error] if several columns have one name
    def to_h
      check_names
      names.zip(values(0, size)).to_h
    end

    # The same columns under other names, in place.
    #
    # @param names [Hash{String, Symbol => String, Symbol}] the new name for each that changes
    # @return [Table]
    # @raise [KeyError] if there is no column of a name
    def rename(names)
      names.each_key { |name| index_of(name) }
      names = names.to_h { |from, to| [from.to_s, to.to_s] }
      renamed(self.names.map { |name| names.fetch(name, name) })
    end

    # @return [Table] another table on the same memory
    def dup
      rows(0, size)
    end

    # @return [Table] another table on the same memory
    def clone(freeze: nil)
      freeze || (frozen? && freeze.nil?) ? dup.freeze : dup
    end

    # All batches as a stream of Arrow's, in place. No code writes the memory until the consumer
    # releases it.
    # @return [ArrowStream]
    # @raise [Refusal] if other code may write the memory
    def to_arrow_c_stream
      ArrowStream.__send__(:of_table, self)
    end

    alias to_arrow to_arrow_c_stream

    # The only batch as Arrow's two structs, in place.
    # @return [ArrowColumn]
    # @raise [Refusal] if there are several batches, or other code may write the memory
    def to_arrow_c_array
      ArrowStream.__send__(:structs_of, self)
    end

    # Writes an Arrow IPC file (`.arrow`, `.feather`), or a stream in a file (`.arrows`). An existing
    # file is replaced when all is written.
    #
    # @param path [String, Pathname]
    # @param compress [Boolean, Symbol] `:lz4`, which `true` is too, or `:zstd`; files that are not
    #   compressed can be opened in place
    # @return [self]
    # @raise [ArgumentError] for files of other formats
    def save(path, compress: false)
      save_to(File.path(path), compress)
      self
    end

    # The rows, as {#each_row} gives them. JSON itself refuses values that it cannot represent (NaN),
    # and writes dates, times and decimals as Strings.
    # @return [String]
    # @raise [Error] if several columns have one name
    def to_json(*state)
      require "json" unless [].respond_to?(:to_json)
      each_row.to_a.to_json(*state)
    end

    # @return [String]
    def inspect
      released? ? "#<#{self.class} released>" : "#{self.class} #{shape}\n#{self}"
    end

    private

    def instead_of_writing
      "save it (`table.save(\"x.arrow\")`), or write its rows (`table.each_row.to_a`)"
    end

    def index_of(name)
      name = name.to_s
      found = names.each_index.select { |index| names[index] == name }
      return found.first if found.size == 1

      what = found.empty? ? "there is no column #{name.inspect} among #{names.first(10).inspect}" : "#{found.size} columns are called #{name.inspect}"
      raise KeyError.new(what, receiver: self, key: name)
    end

    def check_names
      twice = names.tally.find { |_, count| count > 1 }
      raise Error, "#{twice.last} columns are called #{twice.first.inspect}, which a Hash cannot have" if twice
    end

    # Without objects for columns, which would keep the memory until they are collected.
    def row_hashes(start, length)
      check_names
      names, columns = self.names, values(start, length)
      [length, size - start].min.times { |row| yield names.zip(columns.map { |values| values[row] }).to_h }
    end
  end

  class << self
    # A table on the memory of another object, in place.
    #
    # @param object [Table, Hash, ::Array<Hash>, Array, #to_arrow_c_stream, #to_arrow_c_array] a table
    #   of another library, a Hash of columns, rows or an array of records, which are copied. Tables,
    #   batches and readers of Red Arrow have adapters
    # @return [Table]
    # @raise [TypeError] if it is none of these
    def table(object)
      case object
      when Table then object
      when Hash, ::Array then Table.new(object)
      when Array then Table.__send__(:of_records, object)
      else
        adapted = Adapters::RedArrow.stream_of(object)
        return adapted if adapted
        return Table.from_arrow(object) if object.respond_to?(:to_arrow_c_stream) || object.respond_to?(:to_arrow_c_array)

        raise TypeError, "an instance of #{object.class} is no table: neither a Hash of columns nor an Array of rows, nor does it answer to to_arrow_c_stream"
      end
    end

    # A column on the memory of another object, in place, or of the values in an Array, by a copy.
    #
    # @param object [Column, ::Array, Array, Enumerable, #to_arrow_c_stream, #to_arrow_c_array] also
    #   what {Crossdock.view} accepts, with one axis
    # @return [Column]
    def column(object)
      case object
      when Column then object
      when ::Array, Array then Column.new(object)
      else
        return Column.from_arrow(object) if object.respond_to?(:to_arrow_c_stream) || object.respond_to?(:to_arrow_c_array)

        # A Range, a Set or an Enumerator.
        list = object.is_a?(Enumerable) && !object.is_a?(Hash) && !Adapters.exporter?(object) && !Adapters.find(object)
        Column.new(list ? listed(object) : view(object))
      end
    end

    private

    def listed(object)
      infinite = object.respond_to?(:size) && object.size == Float::INFINITY
      raise ArgumentError, "an instance of #{object.class} has infinitely many elements" if infinite

      object.to_a
    end
  end
end
