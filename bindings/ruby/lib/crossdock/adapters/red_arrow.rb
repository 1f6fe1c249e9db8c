# frozen_string_literal: true

module Crossdock
  module Adapters
    # `Arrow::Array` and `Arrow::Buffer` of Red Arrow, if they export no MemoryView: arrays
    # zero-copy by Arrow's C structs, and buffers as a copy. `Arrow::Table`, `Arrow::RecordBatch` and
    # `Arrow::RecordBatchReader` become tables by Arrow's C stream ({Crossdock.table}). Arrays are
    # only tested with stand-ins, and tables are untested, since Debian has no package of it.
    module RedArrow
      class << self
        # @return [Array] read-only, unless it is a copy
        def call(object, request)
          request.refuse("what Arrow has is constant") if request.writable? && !request.copy?
          return of_buffer(object, request) unless object.respond_to?(:export)

          # GLib allocated these structs, which are empty after their content was moved out.
          _, array, schema = object.export
          begin
            taken = Crossdock.from_arrow(schema, array)
            request.writable? ? taken.copy : taken
          ensure
            GLib.free(array)
            GLib.free(schema)
          end
        end

        # A table of Red Arrow, or of a batch or a reader of it; nil for other objects.
        # @return [Table, nil]
        def stream_of(object)
          names = Adapters.class_of(object).ancestors.map(&:name)
          if names.include?("Arrow::RecordBatchReader")
            reader = object
          elsif names.include?("Arrow::Table")
            reader = ::Arrow::TableBatchReader.new(object)
          elsif names.include?("Arrow::RecordBatch")
            reader = ::Arrow::RecordBatchReader.new([object])
          else
            return
          end
          # GLib allocated this struct, which is empty after its content was moved out.
          stream = reader.export
          begin
            Table.from_arrow(stream)
          ensure
            GLib.free(stream)
          end
        end

        private

        def of_buffer(buffer, request)
          request.refuse("the bytes of a buffer without MemoryView come only as a copy", would_copy: buffer.size) unless request.copy?

          Adapters.of_copy(buffer.data.to_s, request)
        end
      end
    end
  end
end
