# frozen_string_literal: true

module Crossdock
  module Adapters
    # `Vips::Image` of ruby-vips, with the axes rows, columns and bands: zero-copy and read-only, since
    # libvips shares pixels among images. An image that libvips has not computed yet is computed into
    # memory first.
    module Vips
      # The dtypes of libvips' formats of bands.
      DTYPES = Ractor.make_shareable(
        {
          uchar: :uint8, char: :int8, ushort: :uint16, short: :int16, uint: :uint32, int: :int32,
          float: :float32, double: :float64, complex: :complex64, dpcomplex: :complex128
        }
      )

      class << self
        # @return [Array]
        def call(image, request)
          request.refuse("#{image.class} is not the one of ruby-vips") unless defined?(::Vips::Image) && image.is_a?(::Vips::Image)

          dtype = DTYPES[image.format]
          request.refuse("pixels of the format #{image.format} have no dtype") unless dtype
          shape = [image.height, image.width, image.bands]
          if request.writable? && !request.copy?
            request.refuse("libvips shares the pixels of an image, which are not written", would_copy: Array.zeros(0, dtype: dtype).itemsize * shape.reduce(:*))
          end

          array = lend(image.copy_memory, dtype, shape)
          request.writable? ? array.copy.tap { array.release } : array
        end

        # An image on the elements of an array.
        # @return [Vips::Image]
        def export(array, copy)
          require "vips" unless defined?(::Vips::Image)
          rows, columns, bands = array.shape
          format = DTYPES.key(array.dtype)
          raise ArgumentError, "an array of shape #{array.shape} is no image: give rows, columns, and bands" unless [2, 3].include?(array.ndim) && !array.empty?
          raise ArgumentError, "an image of libvips has bands of #{DTYPES.values.join(", ")}, and not of #{array.dtype}: convert them with `cast`" unless format

          address, lease = lend_pixels(array, copy)
          pixels = ::FFI::Pointer.new(address).slice(0, array.nbytes)
          image = ::Vips::Image.new_from_memory(pixels, columns, rows, bands || 1, format)
          # Images that depend on this one inherit it.
          image.references << lease
          image
        end

        private

        # libvips keeps the memory of an image in memory as long as the image.
        def lend(image, dtype, shape)
          pixels = functions.vips_image_get_data(image)
          raise Error, "libvips gave no memory for #{image}" if pixels.null?

          Crossdock.at_address(pixels.address, dtype: dtype, shape: shape, owner: image)
        end

        def lend_pixels(array, copy)
          array = array.copy if copy == :always
          array.__send__(:lend_address, false, false)
        rescue Refusal
          raise unless copy

          array.copy.__send__(:lend_address, false, false)
        end

        # ruby-vips does not attach this function.
        def functions
          @functions ||= Module.new do
            extend ::FFI::Library
            ffi_lib ::Vips.ffi_libraries.map(&:name)
            attach_function :vips_image_get_data, [:pointer], :pointer
          end
        end
      end
    end
  end
end
