# frozen_string_literal: true

module Crossdock
  module Adapters
    # `Magick::Image` of RMagick, which does not share its pixels: a copy, with the axes rows,
    # columns and channels.
    module RMagick
      # RMagick's letters for this number of channels.
      MAPS = { 1 => "I", 2 => "IA", 3 => "RGB", 4 => "RGBA" }.freeze
      # RMagick's names of the types of the pixels.
      PIXELS = Ractor.make_shareable({ uint8: :CharPixel, uint16: :ShortPixel, uint32: :LongPixel, float32: :FloatPixel, float64: :DoublePixel })

      class << self
        # @return [Array]
        def call(image, request)
          channels = channels_of(image)
          type, dtype, width = image.depth > 8 ? [Magick::ShortPixel, :uint16, 2] : [Magick::CharPixel, :uint8, 1]
          nbytes = image.columns * image.rows * channels.size * width
          request.refuse("RMagick gives the pixels of an image only as a copy", would_copy: nbytes) unless request.copy?

          pixels = image.export_pixels_to_str(0, 0, image.columns, image.rows, channels, type)
          Adapters.of_copy(pixels, request, dtype: dtype, shape: [image.rows, image.columns, channels.size])
        end

        # An image with the elements of an array as pixels.
        # @return [Magick::Image]
        def export(array, map)
          require "rmagick" unless defined?(::Magick::Image)
          rows, columns, channels = array.shape
          map ||= MAPS[channels || 1]
          unless [2, 3].include?(array.ndim) && map&.size == (channels || 1) && !array.empty?
            raise ArgumentError, "an array of shape #{array.shape} is no image#{" with the channels #{map}" if map}: give rows, columns, and 1 to 4 channels"
          end
          type = PIXELS[array.dtype]
          raise ArgumentError, "an image has pixels of #{PIXELS.keys.join(", ")}, and not of #{array.dtype}: convert them with `cast`" unless type

          image = blank(columns, rows, map)
          # RMagick reads the bytes of the String, which are the array's.
          image.import_pixels(0, 0, columns, rows, map, bytes_of(array), ::Magick.const_get(type))
          Adapters.__send__(:count_copied, array.nbytes)
          image
        end

        private

        def blank(columns, rows, map)
          image = ::Magick::Image.new(columns, rows)
          image.colorspace = ::Magick::GRAYColorspace if map.start_with?("I")
          image.colorspace = ::Magick::CMYKColorspace if map.start_with?("CMYK")
          image.alpha(::Magick::OpaqueAlphaChannel) if map.include?("A")
          image
        end

        def bytes_of(array)
          array.__send__(:lend_string)
        rescue Refusal
          array.copy.__send__(:lend_string)
        end

        # RMagick's letters for the channels.
        def channels_of(image)
          channels =
            case image.colorspace
            when Magick::GRAYColorspace then "I"
            when Magick::CMYKColorspace then "CMYK"
            else "RGB"
            end
          image.alpha? ? "#{channels}A" : channels
        end
      end
    end
  end
end
