# frozen_string_literal: true

# MemoryView in both directions: Fiddle reads an array of Crossdock, and Crossdock reads memory of Fiddle.

require "crossdock"
require "fiddle"

# Lend: an array is a producer, and so is a part of it, here with its columns reversed.
grid = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])
view = Fiddle::MemoryView.new(grid[true, (-1..0) % -1])
puts [view.format, view.shape, view.strides, view[1, 0]].inspect
grid[1, 2] = 60
puts view[1, 0]
view.release

# Borrow: any producer, here a pointer to six doubles.
pointer = Fiddle::Pointer.malloc(48, Fiddle::RUBY_FREE)
pointer[0, 48] = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5].pack("d*")
bytes = Crossdock.view(pointer)
puts bytes.view_as(:float64).reshape(2, 3)[1, -1]

# Refusals give the reason, where the protocol returns false.
[-> { bytes[48] }, -> { bytes[0] = 1 }, -> { Crossdock.view("a String") }].each do |step|
  step.call
rescue StandardError => error
  puts "#{error.class}: #{error.message}"
end
puts "#{Crossdock.copied_bytes} bytes copied"
