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

      # Prepended to `Numo::NArray` when the first elements are lent: the methods that free the memory
      # of elements raise an error while an array uses them.
      # @api private
      module Guard
        def free
          # Numo ignores it for views.
          unless Adapters.__send__(:numo_view?, self)
            Numo.__send__(:check_unused, self, :free)
            Numo.__send__(:check_owned, self)
          end
          super
        end

        # A frozen String takes the place of the memory; any other is copied into it.
        def store_binary(string, *)
          Numo.__send__(:check_unused, self, :store_binary) if string.frozen?
          super
        end

        def marshal_load(*)
          # Numo changes the shape of a frozen array before it notices.
          raise FrozenError.new("can't modify frozen #{self.class}", receiver: self) if frozen?

          Numo.__send__(:check_unused, self, :marshal_load)
          super
        end
      end

      class << self
        # @return [Array]
        def call(narray, request)
          request.refuse("#{narray.class} is not the Numo::NArray of Numo") unless defined?(::Numo::NArray) && narray.is_a?(::Numo::NArray)
          return bits(narray, request) if narray.is_a?(::Numo::Bit)

          dtype = DTYPES[narray.class.ancestors.find { |ancestor| DTYPES.key?(ancestor.name) }&.name]
          request.refuse("#{narray.class} has elements for which there is no dtype") unless dtype
          guard
          return copied(narray, dtype, request, "its version of Numo has other structs") unless in_place?
          return not_writable(narray, dtype, request) if request.writable? && !Adapters.__send__(:numo_writable?, narray)

          lend(narray, dtype, request)
        end

        # The elements of an array in a frozen NArray, zero-copy, or a copy in Numo's memory.
        # @param array [Array]
        # @param copy [Boolean, Symbol]
        # @return [Numo::NArray]
        def export(array, copy)
          raise ArgumentError, "copy: #{copy.inspect} is neither true nor false, nor :always" unless [nil, false, true, :always].include?(copy)

          require "numo/narray" unless defined?(::Numo::NArray)
          guard
          request = Request.new(false, copy)
          return export_bits(array, request) if array.dtype == :bool

          name = DTYPES.key(array.dtype.to_s.delete_prefix("<").delete_prefix(">").to_sym)
          request.refuse("Numo has no elements of #{array.dtype}; convert them with `cast`") unless name
          class_of_numo = ::Numo.const_get(name.delete_prefix("Numo::"))
          reason = copy == :always ? "a copy was asked for" : nil
          export_as(class_of_numo, array, request, reason)
        end

        # Whether this version of the library has the structs that the extension reads: those of
        # numo-narray 0.9.2 and of numo-narray-alt.
        def in_place?
          Adapters.__send__(:numo_known?)
        end

        private

        def guard
          ::Numo::NArray.prepend(Guard) unless ::Numo::NArray.include?(Guard)
        end

        def export_as(class_of_numo, array, request, reason)
          reason ||= "its elements are byte-swapped" if DTYPES[class_of_numo.name] != array.dtype
          reason ||= "this version of Numo has other structs" unless in_place?
          narray = reason || lend_to(class_of_numo, array, request)
          return narray unless narray.is_a?(String)

          request.refuse("#{class_of_numo} cannot have the array in place: #{narray}", would_copy: array.nbytes) unless request.copy?
          copied = class_of_numo.new(array.shape).allocate
          Crossdock.view(copied, writable: true).fill(array).release unless array.empty?
          copied
        end

        def lend_to(class_of_numo, array, request)
          return class_of_numo.new(array.shape).freeze if array.empty?

          Adapters.__send__(:lend_to_numo, array, class_of_numo)
        rescue Refusal => refusal
          raise unless request.copy?

          refusal.message
        end

        def export_bits(array, request)
          nbytes = (array.size + 7) / 8
          request.refuse("Numo::Bit packs 8 elements into a byte", would_copy: nbytes) unless request.copy?

          bits = ::Numo::Bit.cast(export(array.view_as(:uint8), true))
          request.copied(nbytes)
          bits
        end

        # Numo would free memory that is not its own.
        def check_owned(narray)
          raise Error, "free would free memory that this #{narray.class} does not own" if Adapters.__send__(:numo_foreign?, narray)
        end

        def lend(narray, dtype, request)
          array = Adapters.__send__(:lend_numo, narray, dtype, request.writable?, false)
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
          array = Adapters.__send__(:lend_numo, copy, dtype, request.writable?, true) if in_place?
          return Adapters.of_copy(copy.to_binary, request, dtype: dtype, shape: copy.shape) unless array.is_a?(Array)

          request.copied(narray.byte_size)
          array
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
