# frozen_string_literal: true

module Crossdock
  module Adapters
    # `Numo::NArray` of numo-narray and numo-narray-alt: zero-copy, with strides if it is a view.
    #
    # Copied, if a copy is permitted, are: views that select elements by a table of indices, bits,
    # and elements that are to be written although they, or their array, are frozen. An array
    # without memory is refused: Numo allocates the memory at the first write.
    #
    # The NArray is kept alive. Its methods that free the memory raise an error while an array uses
    # it: see {Guard}.
    module Numo
      # The dtypes of Numo's classes, by their names.
      DTYPES = Ractor.make_shareable(
        {
          "Numo::Int8" => :int8, "Numo::Int16" => :int16, "Numo::Int32" => :int32, "Numo::Int64" => :int64,
          "Numo::UInt8" => :uint8, "Numo::UInt16" => :uint16, "Numo::UInt32" => :uint32, "Numo::UInt64" => :uint64,
          "Numo::SFloat" => :float32, "Numo::DFloat" => :float64, "Numo::SComplex" => :complex64, "Numo::DComplex" => :complex128
        }
      )

      # Prepended to `Numo::NArray` when its first object is lent: the methods that free the memory
      # of elements raise an error while an array uses them.
      # @api private
      module Guard
        def free
          Numo.__send__(:check_unused, self, :free)
          super
        end

        # A frozen String takes the place of the memory; any other is copied into it.
        def store_binary(string, *)
          Numo.__send__(:check_unused, self, :store_binary) if string.frozen?
          super
        end

        def marshal_load(*)
          Numo.__send__(:check_unused, self, :marshal_load)
          super
        end
      end

      class << self
        # @return [Array]
        def call(narray, request)
          return bits(narray, request) if narray.is_a?(::Numo::Bit)

          dtype = DTYPES[narray.class.ancestors.find { |ancestor| DTYPES.key?(ancestor.name) }&.name]
          request.refuse("#{narray.class} has elements for which there is no dtype") unless dtype
          ::Numo::NArray.prepend(Guard) unless ::Numo::NArray.include?(Guard)
          return copied(narray, dtype, request, "its version of Numo has other structs") unless in_place?
          return not_writable(narray, dtype, request) if request.writable? && !Adapters.__send__(:numo_writable?, narray)

          lend(narray, dtype, request)
        end

        # Whether this version of the library has the structs that the extension reads: those of
        # numo-narray 0.9.2 and of numo-narray-alt.
        def in_place?
          Adapters.__send__(:numo_known?)
        end

        private

        def lend(narray, dtype, request)
          array = Adapters.__send__(:lend_numo, narray, dtype, request.writable?)
          array.is_a?(String) ? copied(narray, dtype, request, array) : array
        end

        def not_writable(narray, dtype, request)
          return copied(narray, dtype, request, "it is frozen") if request.copy?
          raise FrozenError.new("can't modify frozen #{narray.class}", receiver: narray) if narray.frozen?

          copied(narray, dtype, request, "a frozen String or NArray has its elements, which Numo copies before it writes")
        end

        # A copy by Numo: elements without gaps in memory of its own, which are lent.
        def copied(narray, dtype, request, reason)
          request.refuse("#{narray.class} is not lent in place: #{reason}", would_copy: narray.byte_size) unless request.copy?

          copy = narray.byte_swapped? ? narray.to_host : narray.dup
          request.copied(narray.byte_size)
          array = in_place? ? Adapters.__send__(:lend_numo, copy, dtype, request.writable?) : nil
          return array if array.is_a?(Array)

          Array.from_string(copy.to_binary.freeze, dtype: dtype, shape: copy.shape, copy: request.writable?)
        end

        # Bits are packed; one byte for each is the smallest element of an array.
        def bits(narray, request)
          request.refuse("Numo::Bit packs 8 elements into a byte", would_copy: narray.size) unless request.copy?

          bytes = ::Numo::UInt8.cast(narray)
          request.copied(narray.size)
          call(bytes, request).view_as(:bool)
        end

        # @raise [Error] if an array uses the elements that a method is about to free
        def check_unused(narray, method)
          return unless Adapters.__send__(:numo_obstacle, narray)

          # Arrays that the program has dropped are collected.
          GC.start
          obstacle = Adapters.__send__(:numo_obstacle, narray)
          raise Error, "#{method} would free the elements of this #{narray.class}: #{obstacle}; release it first" if obstacle
        end
      end
    end
  end
end
