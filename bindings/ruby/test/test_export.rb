# frozen_string_literal: true

require_relative "helper"
require "fiddle"

class TestExport < Test::Unit::TestCase
  def test_fiddle_reads_an_array_through_its_memory_view
    array = Crossdock::Array.new([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])
    view = Fiddle::MemoryView.new(array)
    assert_equal [array, 2, [2, 3], [24, 8], "d", 8, 48, true],
                 [view.obj, view.ndim, view.shape, view.strides, view.format, view.item_size, view.byte_size, view.readonly?]
    assert_equal [1.5, 6.5], [view[0, 0], view[1, 2]]
    view.release
  end
end
