# frozen_string_literal: true

require_relative "helper"
require "fiddle"

# Memory of others.
class TestView < Test::Unit::TestCase
  include Helper

  def test_a_pointer_of_fiddle_is_an_array_of_bytes_in_place
    pointer = Fiddle::Pointer.malloc(6, Fiddle::RUBY_FREE)
    pointer[0, 6] = "\x01\x02\x03\xff\x05\x06".b
    array = Crossdock.view(pointer)
    assert_equal [:uint8, [6], [1, 2, 3, 255, 5, 6], pointer.to_i], [array.dtype, array.shape, array.to_a, array.address]
    assert_predicate array, :readonly?
    pointer[2] = 77
    assert_equal 77, array[2]
    assert_match(/WRITABLE/, message_of(FrozenError) { Crossdock.view(pointer, writable: true) })
  end

  def test_the_object_stays_alive_while_anything_of_the_array_is_left
    parts = ::Array.new(200) do |number|
      pointer = Fiddle::Pointer.malloc(64, Fiddle::RUBY_FREE)
      pointer[0, 64] = (number % 256).chr.b * 64
      Crossdock.view(pointer)[60..]
    end
    GC.start
    ::Array.new(1000) { "x" * 64 }
    assert_equal(::Array.new(200) { |number| [number % 256] * 4 }, parts.map(&:to_a))
  end

  def test_an_array_of_ours_is_itself
    array = Crossdock::Array[1, 2, 3]
    view = Crossdock.view(array)
    assert_predicate view, :readonly?
    writable = Crossdock.view(array, writable: true)
    writable[0] = 5
    assert_equal [5, 5], [array[0], view[0]]
    assert_raise(FrozenError) { Crossdock.view(array.freeze, writable: true) }
  end

  def test_what_exports_nothing_is_refused_by_name
    [nil, 1, :a, "text", [1], Object.new, Class, Fiddle::Pointer].each do |object|
      assert_match(/exports no MemoryView/, message_of(TypeError) { Crossdock.view(object) })
    end
    assert_match(/Fiddle::Pointer gave no MemoryView/, message_of(Crossdock::Refusal) { Crossdock.view(Fiddle::NULL) })
  end

  def test_a_view_is_explained
    assert_match(/instance of String: exports no MemoryView/, Crossdock.explain("text"))
    assert_match(/a BasicObject: exports no/, Crossdock.explain(BasicObject.new))
    text = Crossdock.explain(Crossdock::Array.new([[1, 2], [3, 4]]).transpose[0..0])
    assert_match(/offers: int64 of shape \[1, 2\] with strides \[8, 16\]/, text)
    assert_match(/in row-major order:.*\[1, 2\].*\[8, 16\]/, text)
    assert_match(/read-only/, Crossdock.explain(Crossdock::Array[1].freeze))
    pointer = Crossdock.explain(Fiddle::Pointer["bytes"])
    assert_match(/Fiddle::Pointer: exports MemoryViews; .*no function release\n.*uint8 of shape \[5\].*read-only/, pointer)
    assert_match(/to be written: .*WRITABLE/, pointer)
    assert_match(/refused: .*gave no MemoryView/, Crossdock.explain(Fiddle::NULL))
  end
end
