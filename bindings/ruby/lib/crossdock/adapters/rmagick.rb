# frozen_string_literal: true

module Crossdock
  module Adapters
    # `Magick::Image` of RMagick, which does not share its pixels: a copy, with the axes rows,
    # columns and channels.
    module RMagick
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

        private

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
