# frozen_string_literal: true

module Crossdock
  module Adapters
    # `Numo::NArray`, which exports nothing: a copy by its `to_binary`. Only tested with a stand-in,
    # since Debian has no package of it. (With the gem numo-narray-memoryview it exports
    # MemoryViews, which take precedence.)
    module Numo
      # By the names of its classes.
      DTYPES = Ractor.make_shareable(
        {
          "Int8" => :int8, "Int16" => :int16, "Int32" => :int32, "Int64" => :int64,
          "UInt8" => :uint8, "UInt16" => :uint16, "UInt32" => :uint32, "UInt64" => :uint64,
          "SFloat" => :float32, "DFloat" => :float64, "SComplex" => :complex64, "DComplex" => :complex128
        }
      )

      # @return [Array]
      def self.call(narray, request)
        dtype = narray.class.ancestors.filter_map { |ancestor| DTYPES[ancestor.name.to_s.delete_prefix("Numo::")] }.first
        request.refuse("#{narray.class} has no elements that could be lent") unless dtype
        request.refuse("Numo gives the elements of an array only as a copy", would_copy: narray.byte_size) unless request.copy?

        Adapters.of_copy(narray.to_binary, request, dtype: dtype, shape: narray.shape)
      end
    end
  end
end
