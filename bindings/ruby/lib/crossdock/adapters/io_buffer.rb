# frozen_string_literal: true

module Crossdock
  module Adapters
    # Ruby's own `IO::Buffer`: bytes, in place. While they are lent the buffer is locked, as Ruby locks one that it reads into: it is neither freed
    # nor resized. Of a slice, the buffer that has the memory is locked.
    module IOBuffer
      # As many slices of slices are followed.
      DEEPEST = 16

      class << self
        # @return [Array] one axis of bytes
        def call(buffer, request)
          owner, is_constant = owner_of(buffer)
          if owner && !(is_constant && request.writable?)
            return Adapters.__send__(:lock_io_buffer, buffer, owner, [request.writable?, is_constant])
          end
          unless request.copy?
            why = owner ? "that of a frozen String" : "neither its own nor that of a frozen String"
            request.refuse("the memory of this IO::Buffer is #{why}", would_copy: buffer.size)
          end

          Adapters.of_copy(buffer.get_string, request)
        end

        private

        # What keeps the memory of a buffer while it is locked, and whether the memory is constant; nil where nothing does.
        def owner_of(buffer, depth = 0)
          return [buffer, false] if buffer.internal? || buffer.mapped?

          sources, is_of_frozen_string = Adapters.__send__(:io_buffer_sources, buffer)
          return [buffer, true] if is_of_frozen_string

          # A slice refers to what it is a slice of.
          sources.filter_map { |source| owner_of(source, depth + 1) }.first if depth < DEEPEST
        end
      end
    end
  end
end
