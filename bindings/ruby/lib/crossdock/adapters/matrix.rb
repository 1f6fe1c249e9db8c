# frozen_string_literal: true

module Crossdock
  module Adapters
    # `Matrix` and `Vector` of Ruby's library: a copy, since their elements are Ruby objects.
    module Matrix
      # @return [Array]
      def self.call(matrix, request)
        # Another library may have a class of this name.
        request.refuse("this #{matrix.class} is not the one of Ruby's library matrix") unless defined?(::Matrix) && matrix.is_a?(::Matrix::CoercionHelper)
        request.refuse("the elements of a #{matrix.class} are Ruby objects, which only a copy (copy: true) converts") unless request.copy?

        array = Array.new(matrix.to_a)
        request.copied(array.nbytes)
        request.writable? ? array : array.to_readonly
      end
    end
  end
end
