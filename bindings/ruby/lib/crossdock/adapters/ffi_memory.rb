# frozen_string_literal: true

module Crossdock
  module Adapters
    # `FFI::MemoryPointer`: its bytes, zero-copy. While an array uses them, `free` raises an error,
    # and the end of a block of `MemoryPointer.new` leaves them to the collector: see {Guard}.
    #
    # What was freed before it is viewed is not detected: FFI does not say.
    module FFIMemory
      # Prepended to `FFI::MemoryPointer` when this library is loaded, if FFI is; otherwise by the first
      # exchange.
      # @api private
      module Guard
        def initialize(*arguments, &block)
          return super unless block

          super(*arguments, &nil)
          begin
            yield self
          ensure
            free unless FFIMemory.__send__(:used?, self)
          end
        end

        def free
          raise Error, "free would free the bytes of this #{self.class}: a Crossdock::Array uses them; release it first" if FFIMemory.__send__(:used?, self)

          super
        end
      end

      class << self
        # @return [Array] one axis of bytes
        def call(pointer, request)
          request.refuse("#{pointer.class} is not the one of FFI") unless defined?(::FFI::MemoryPointer) && pointer.is_a?(::FFI::MemoryPointer)
          raise FrozenError.new("can't modify frozen #{pointer.class}", receiver: pointer) if request.writable? && pointer.frozen?

          guard
          uses = uses_of(pointer)
          array = Crossdock.at_address(pointer.address, dtype: :uint8, shape: [pointer.size], writable: request.writable?, owner: pointer, &giving_back(uses))
          uses << true
          array
        end

        # @api private
        def guard
          ::FFI::MemoryPointer.prepend(Guard) unless ::FFI::MemoryPointer.include?(Guard)
        end

        private

        # A list with one entry for each array. The blocks that give the bytes back keep it alive.
        def uses_of(pointer)
          lists[pointer] ||= []
        end

        # Apart: a block keeps all local variables of its method, the array too.
        def giving_back(uses) = proc { uses.pop }

        # The lists of this Ractor, by pointer: a frozen one takes no variable, and a copy is another one.
        def lists
          Ractor.current[:crossdock_ffi_uses] ||= ObjectSpace::WeakMap.new
        end

        # @return [Boolean] whether an array uses the bytes, after arrays that the program has dropped
        #   were collected
        def used?(pointer)
          uses = lists[pointer]
          return false if uses.nil? || uses.empty?

          GC.start
          Adapters.__send__(:give_back)
          !uses.empty?
        end
      end

      guard if defined?(::FFI::MemoryPointer)
    end
  end
end
