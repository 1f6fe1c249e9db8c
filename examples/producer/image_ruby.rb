# frozen_string_literal: true

# Fiddle, and Crossdock if it is installed, use the pixels of `image_ruby.c` in place.

require "fiddle"
require "image_ruby"

picture = Image.new(480, 640)
view = Fiddle::MemoryView.new(picture)
puts "Fiddle    #{view.shape} #{view.strides} #{view.format} #{view[479, 639, 2]}"
view.release

begin
  require "crossdock"
rescue LoadError
  exit
end
array = Crossdock.view(picture, writable: true)
array[479, 639] = [1, 2, 3]
puts "Crossdock #{array.shape} #{array.address == picture.address} #{array[479, 639].to_a}"
