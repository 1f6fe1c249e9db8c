# frozen_string_literal: true

module Crossdock
  # Structs and Data as records.
  # @api private
  module Records
    class << self
      # Whether a class is one of Structs or of Data.
      def class?(object)
        object.is_a?(Class) && object.respond_to?(:members) && (object < Struct || (defined?(::Data.define) ? object < ::Data : false))
      end

      # The element of a record.
      def build(record, as)
        return record unless record.is_a?(Hash)

        values = record.fetch_values(*as.members)
        return as.new(**as.members.zip(values).to_h) if as.respond_to?(:keyword_init?) && as.keyword_init?

        as.new(*values)
      end

      # Refuses a class that is none of Structs or Data.
      def check(as)
        raise TypeError, "#{as.inspect} is no class of Structs or Data" unless class?(as)
      end

      # {build} for the records in nested Arrays.
      def nested(elements, depth, as)
        return build(elements, as) if depth.zero?

        elements.map { |part| nested(part, depth - 1, as) }
      end
    end
  end
  private_constant :Records

  @records = Ractor.make_shareable({})

  class << self
    # A dtype in the form of {Array#dtype}, which `dtype:` accepts everywhere.
    #
    # @param spec [Symbol, String, Hash, ::Array, Class] a name (`:float32`), NumPy's spelling
    #   (`"<f4"`), a template of `Array#pack` (`"iqc"`, and with C's alignment `"|iqc"`), a Hash of
    #   fields, `[dtype, lengths]` for a sub-array, or a class ({record}). NumPy's spellings
    #   with a width come first (`"i4"` is `:int32`); single letters are those of `pack` (`"l"` has
    #   4 bytes), except a lone `S`, `U`, `V`, `M` or `m`, which is NumPy's
    # @param names [::Array<Symbol, String>, nil] the names of the fields, which are `f0`, `f1`, … in
    #   a template
    # @param align [Boolean] whether the fields of a Hash are where C aligns them
    # @return [Symbol, String, Hash]
    # @raise [ArgumentError] if no dtype is written like this
    # @example
    #   Crossdock.dtype("iqc", names: %i[id count kind])
    #   Crossdock.dtype({ kind: :int8, point: [:float64, 3] }, align: true)
    def dtype(spec, names: nil, align: false)
      make_dtype(spec, names && Kernel.Array(names), align)
    end

    # Makes a Struct or Data class the name of a record: `dtype: Point`. Its objects are elements of
    # every record with these fields; {Array#to_a} and {Array#each} return them with `as: Point`.
    # To be called from the main Ractor.
    #
    # @param class_of_records [Class]
    # @param spec [Hash, String] the dtypes of the members, or a template with one part for each
    # @param align [Boolean] as for {dtype}
    # @return [Symbol, String, Hash] the dtype
    # @raise [ArgumentError] if the members are others, or the class has another record
    # @example
    #   Point = Struct.new(:x, :y)
    #   Crossdock.record(Point, { x: :float64, y: :float64 })
    #   Crossdock::Array.new([Point.new(1, 2)], dtype: Point).to_a(as: Point)
    def record(class_of_records, spec, align: false)
      Records.check(class_of_records)

      members = class_of_records.members
      found = spec.is_a?(Hash) ? dtype(spec, align: align) : dtype(spec, names: members, align: align)
      fields = Array.zeros(0, dtype: found).fields
      raise ArgumentError, "the members of #{class_of_records} are #{members}, and the fields #{fields}" unless fields == members

      known = @records[class_of_records]
      raise ArgumentError, "#{class_of_records} is the record #{known}" if known && known != found

      @records = Ractor.make_shareable(@records.merge(class_of_records => found))
      found
    end

    private

    def dtype_of_class(class_of_records)
      @records.fetch(class_of_records) do
        raise ArgumentError, "dtype: #{class_of_records.inspect} is the name of no record; make it one with Crossdock.record"
      end
    end
  end
  private_class_method :make_dtype
end
