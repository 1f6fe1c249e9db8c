# frozen_string_literal: true

module Crossdock
  module Adapters
    # Ruby's own `IO::Buffer`: its bytes, zero-copy. While they are lent, the buffer is locked, as
    # Ruby locks a buffer that it reads into: it is neither freed nor resized. For a slice, the
    # buffer that owns the memory is locked.
    module IOBuffer
      # The longest chain of slices that is followed.
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

        # The owner of a buffer's memory while it is locked, and whether the memory is constant; nil
        # if there is no owner.
        def owner_of(buffer, depth = 0)
          return [buffer, false] if buffer.internal? || buffer.mapped?

          sources, is_of_frozen_string = Adapters.__send__(:io_buffer_sources, buffer)
          return [buffer, true] if is_of_frozen_string

          # A slice refers to the buffer that it is a slice of.
          sources.filter_map { |source| owner_of(source, depth + 1) }.first if depth < DEEPEST
        end
      end
    end
  end
end
