# frozen_string_literal: true

module Crossdock
  module Adapters
    # `NArray` of the library NArray (version 0.6): zero-copy, with NArray's own indices, so that
    # `view(narray)[i, j]` is `narray[i, j]`. Its first axis is the fastest: the array is
    # column-major.
    module NArray
      # The dtypes of its `typecode`s. The code for Ruby objects is left out.
      DTYPES = Ractor.make_shareable(
        { 1 => :uint8, 2 => :int16, 3 => :int32, 4 => :float32, 5 => :float64, 6 => :complex64, 7 => :complex128 }
      )

      class << self
        # @return [Array]
        def call(narray, request)
          dtype = DTYPES[narray.typecode]
          request.refuse("an NArray of Ruby objects has no elements that could be lent") unless dtype
          raise FrozenError.new("can't modify frozen #{narray.class}", receiver: narray) if request.writable? && narray.frozen?
          return copied(narray, dtype, request) unless in_place?

          address, code, shape = Adapters.__send__(:read_narray, narray, narray.rank, narray.total)
          # An overridden method may return something else.
          raise Error, "a #{narray.class} whose typecode is not that of its elements" unless DTYPES[code] == dtype

          Crossdock.at_address(address, dtype: dtype, shape: shape, strides: strides(shape, narray.element_size),
                                        writable: request.writable?, owner: narray)
        end

        # Whether objects still have the layout of Ruby 4.0 and older.
        def in_place?
          RUBY_VERSION < "4.1"
        end

        private

        def copied(narray, dtype, request)
          nbytes = narray.total * narray.element_size
          request.refuse("how this Ruby lays out an NArray is not known", would_copy: nbytes) unless request.copy?

          Adapters.of_copy(narray.to_s, request, dtype: dtype, shape: narray.total.zero? ? [0] : narray.shape, order: :column_major)
        end

        def strides(shape, width)
          shape.map do |length|
            stride = width
            width *= length
            stride
          end
        end
      end
    end
  end
end
