# frozen_string_literal: true

module Crossdock
  # A table or a column that is exported by Arrow's C stream interface: a struct `ArrowArrayStream`
  # at an address that stays valid while this object is alive. A consumer moves the struct out, which
  # marks it, and releases it later. Otherwise this object releases it when it is collected.
  #
  # While a batch is exported, no code writes its memory: Arrow's consumers rely on that.
  #
  # @example Red Arrow takes it
  #   stream = table.to_arrow_c_stream
  #   Arrow::RecordBatchReader.import(stream.address).read_all
  class ArrowStream
    include Transient

    class << self
      private

      # A table or a column of a producer, or of structs at addresses.
      def import(kind, source, array)
        return of_structs(kind, source, array) if array
        return at(kind, source.to_arrow_c_stream) if source.respond_to?(:to_arrow_c_stream)
        return at(kind, source) unless source.respond_to?(:to_arrow_c_array)

        # The object keeps the structs alive until they are moved.
        answer = source.to_arrow_c_array
        schema, array = answer.is_a?(ArrowColumn) ? [answer.schema, answer.array] : Kernel.Array(answer)
        raise TypeError, "a column of Arrow's has two addresses: of its schema, and of its array" if array.nil?

        of_structs(kind, schema, array)
      end

      def at(kind, stream)
        address = Crossdock.__send__(:address_of, stream)
        kind == :table ? table_at(address) : column_at(address)
      end

      def of_structs(kind, schema, array)
        addresses = [schema, array].map { |struct| Crossdock.__send__(:address_of, struct) }
        kind == :table ? table_of_structs(*addresses) : column_of_structs(*addresses)
      end
    end

    # @!method address
    #   @return [Integer] the address of the struct `ArrowArrayStream`
    # @!method released?
    #   @return [Boolean] whether the stream was released, or moved elsewhere
    # @!method release
    #   Releases the stream, unless a consumer moved it out.
    #   @return [nil]

    # @return [self] a stream converts to itself
    def to_arrow_c_stream
      self
    end

    # @return [String]
    def inspect
      "#<#{self.class}#{" released" if released?}>"
    end

    private_class_method :of_table, :of_column, :structs_of, :table_at, :column_at, :table_of_structs, :column_of_structs

    private

    def instead_of_writing
      "save the table of which it was made (`table.save(\"x.arrow\")`), or write the elements of the column (`column.to_a`)"
    end
  end
end
