# frozen_string_literal: true

module Crossdock
  module Adapters
    # Vectors and matrices of GSL (the library gsl), of doubles, ints and complex numbers: zero-copy.
    # GSL's views, such as `matrix.row(0)`, do not keep the memory of their matrix: they are copied.
    module GSL
      # The dtypes and sizes of the elements, by the names of the classes.
      KINDS = Ractor.make_shareable(
        {
          "GSL::Vector" => [:float64, 8], "GSL::Vector::Int" => [:int32, 4], "GSL::Vector::Complex" => [:complex128, 16],
          "GSL::Matrix" => [:float64, 8], "GSL::Matrix::Int" => [:int32, 4], "GSL::Matrix::Complex" => [:complex128, 16]
        }
      )

      class << self
        # @return [Array]
        def call(object, request)
          request.refuse("#{object.class} is not a class of GSL") unless defined?(::GSL::Object) && object.is_a?(::GSL::Object)

          name = object.class.ancestors.map(&:name).find { |ancestor| KINDS.key?(ancestor) }
          dtype, width = KINDS[name]
          shape = name.start_with?("GSL::Matrix") ? [object.size1, object.size2] : [object.size]
          raise FrozenError.new("can't modify frozen #{object.class}", receiver: object) if request.writable? && object.frozen?
          return copied(object, shape, dtype, width, request, "how this Ruby lays out an object of GSL is not known") unless NArray.in_place?

          address, strides = Adapters.__send__(:read_gsl, object, shape)
          return copied(object, shape, dtype, width, request, "a #{object.class} does not keep the memory that it views") unless address

          Crossdock.at_address(address, dtype: dtype, shape: shape, strides: strides.map { |stride| stride * width },
                                        writable: request.writable?, owner: object)
        end

        private

        def copied(object, shape, dtype, width, request, reason)
          nbytes = shape.reduce(:*) * width
          request.refuse(reason, would_copy: nbytes) unless request.copy?

          request.copied(nbytes)
          elements = dtype == :complex128 ? complex(object, shape) : object.to_a
          array = Array.new(elements, dtype: dtype)
          request.writable? ? array : array.to_readonly
        end

        def complex(object, shape)
          return ::Array.new(shape[0]) { |index| number(object[index]) } if shape.size == 1

          ::Array.new(shape[0]) { |row| ::Array.new(shape[1]) { |column| number(object[row, column]) } }
        end

        def number(complex)
          Complex(complex.re, complex.im)
        end
      end
    end
  end
end
