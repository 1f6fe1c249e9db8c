# frozen_string_literal: true

module Crossdock
  # An n-dimensional array: memory, the type of its elements, a shape and strides.
  #
  # Indexing, `transpose`, `reshape` and `field` give views: other arrays on the same memory. What copies has `copy`, `pack` or `to_` in its
  # name, and `dup` and `clone`, which copy in Ruby, too.
  class Array
    include Enumerable

    class << self
      # An array with the elements of nested Arrays.
      #
      # @param nested [::Array, Numeric, String] as deep as the array is to have axes
      # @param dtype [Symbol, String, nil] the type of the elements. Without it: `:int64` of Integers, `:float64` of Floats and of both,
      #   `:bool` of truth values, `:complex128` of Complex numbers
      # @param order [Symbol] `:row_major` or `:column_major`
      # @return [Array]
      def new(nested, dtype: nil, order: nil)
        from_nested(nested, dtype, order)
      end

      # As {new}, with the rows as arguments: `Crossdock::Array[[1, 2], [3, 4]]`.
      # @return [Array]
      def [](*rows, dtype: nil)
        from_nested(rows, dtype, nil)
      end

      # An array of zeros.
      # @return [Array]
      def zeros(*shape, dtype: :float64, order: nil)
        make_full(shape.flatten, nil, dtype, order)
      end

      # An array of one value.
      # @return [Array]
      def full(shape, value, dtype: :float64, order: nil)
        make_full(Kernel.Array(shape), value, dtype, order)
      end

      private :from_nested, :make_full
    end

    # The array as NumPy prints it, behind its class, type and shape.
    # @return [String]
    def inspect
      "#{self.class} #{dtype} #{shape}\n#{text}"
    end

    alias length size
    alias to_s pack
  end
end
