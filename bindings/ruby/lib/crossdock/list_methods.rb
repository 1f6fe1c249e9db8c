# frozen_string_literal: true

module Crossdock
  # What an array has in common with Ruby's Arrays, besides the methods of Enumerable.
  class Array
    BACKWARDS = (-1..0) % -1
    private_constant :BACKWARDS

    # The last element in row-major order, or an Array of the last ones. ({#first} is Enumerable's.)
    # @param count [Integer, nil]
    # @return [Object, ::Array]
    def last(count = nil)
      return (element_at(size - 1) unless empty?) if count.nil?

      ((size - RowRange.count(count, size))...size).map { |position| element_at(position) }
    end

    # The elements in reverse along these axes, or along all: a view.
    # @param axes [::Array<Integer>] negative ones count from the end
    # @return [Array]
    # @raise [IndexError] if there is no such axis
    def reverse(*axes)
      axes = axes.flatten
      axes = (0...ndim).to_a if axes.empty?
      index = ::Array.new(ndim, true)
      axes.each do |axis|
        raise IndexError, "axis #{axis} is out of bounds for an array of #{ndim} axes" unless axis.between?(-ndim, ndim - 1)

        index[axis] = BACKWARDS unless shape[axis].zero?
      end
      self[*index, false]
    end

    # An element, or what it has at the remaining steps: of a record, a field. Nil if an index is out
    # of bounds.
    # @param steps [::Array<Integer, Symbol, String>] the indices; names of fields before or after them
    # @return [Object]
    # @example
    #   trades.dig(0, :price) == trades.dig(:price, 0)
    def dig(*steps)
      raise ArgumentError, "wrong number of arguments (given 0, expected 1+)" if steps.empty?
      indices = steps.take([ndim, 1].max).take_while { |step| !step.is_a?(Symbol) && !step.is_a?(String) }
      part = indices.empty? ? field(steps[0]) : part_at(indices)
      rest = steps.drop([indices.size, 1].max)
      return part if rest.empty? || part.nil?
      raise TypeError, "#{part.class} does not have #dig method" unless part.respond_to?(:dig)

      part.dig(*rest)
    end

    # For pattern matching: the elements of one axis, or arrays along the first of several.
    # @return [::Array]
    # @example
    #   case Crossdock::Array[[1, 2], [3, 4]]
    #   in [[a, _], [*, b]] then [a, b] #=> [1, 4]
    #   end
    def deconstruct
      case ndim
      when 0 then [self[]]
      when 1 then to_a
      else ::Array.new(shape[0]) { |index| self[index] }
      end
    end

    # For pattern matching: what describes the array.
    # @return [Hash{Symbol => Object}] `:dtype`, `:shape`, `:strides`, `:ndim`, `:size`, `:nbytes`,
    #   `:itemsize` and `:fields`
    # @example
    #   case image
    #   in { dtype: :uint8, shape: [rows, columns, 3] } then …
    #   end
    def deconstruct_keys(keys)
      known = %i[dtype shape strides ndim size nbytes itemsize fields]
      (keys ? known & keys : known).to_h { |name| [name, public_send(name)] }
    end

    private

    def part_at(indices)
      self[*indices]
    rescue IndexError
      nil
    end

    # The element at a position in row-major order.
    def element_at(position)
      indices = shape.reverse.map do |length|
        position, index = position.divmod(length)
        index
      end
      self[*indices.reverse]
    end
  end
end
