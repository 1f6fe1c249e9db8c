# frozen_string_literal: true

require_relative "helper"
require_relative "native"
require "fiddle"

Native.load("probe") unless defined?(Probe)

# Imported memory.
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

  def test_elements_are_copied_from_whatever_exports_a_view
    lender = Probe::Lender.new({ bytes: "abcd" })
    assert_equal [97, 98, 99, 100], Crossdock::Array.new(lender).to_a
    array = Crossdock::Array.zeros(2, 4, dtype: :int16)
    array[1] = lender
    assert_equal [[0] * 4, [97, 98, 99, 100]], array.to_a
    assert_equal 0, Probe.exports(lender)
  end

  # RUBY_MEMORY_VIEW_INDIRECT, which has STRIDES, and FORMAT; and WRITABLE.
  EVERYTHING = (1 << 6) | (1 << 3) | (1 << 2) | (1 << 1)
  WRITABLE = 1

  def test_a_producer_is_asked_for_everything_first
    says = { bytes: "abcd", shape: [4], strides: [1], format: "C" }
    assert_equal 4, Crossdock.view(Probe::Lender.new({ **says, only_flags: EVERYTHING })).size
    assert_equal 4, Crossdock.view(Probe::Lender.new({ **says, only_flags: EVERYTHING | WRITABLE }), writable: true).size
    assert_match(/no MemoryView/, message_of(Crossdock::Refusal) { Crossdock.view(Probe::Lender.new({ **says, only_flags: 1 << 1 })) })
  end

  def test_a_producer_that_names_no_object_stays_as_long_as_the_view
    alive = ObjectSpace::WeakMap.new
    views = ::Array.new(20) do
      lender = Probe::Lender.new({ bytes: "abcd", shape: [4], sparing: true })
      alive[lender] = true
      Crossdock.view(lender)
    end
    GC.start
    assert_equal [20, [97, 98, 99, 100]], [alive.size, views.last.to_a]
  end

  # A byte count is at least the extent of the items, or exactly the bytes of the items; any other
  # number contradicts shape and strides.
  def test_a_producer_whose_numbers_contradict_each_other_is_refused
    lend = ->(**says) { Crossdock.view(Probe::Lender.new({ bytes: "a" * 4096, item_size: 8, format: "q", offset: 2048, **says })) }
    [[2**40, 8], [8, 2**40], [-(2**40), 8], [2**61, 8], [4096, 8], [24, 32]].each do |strides|
      message = message_of(Crossdock::Error, RangeError) { lend.call(byte_size: 64, ndim: 2, shape: [2, 3], strides: strides) }
      assert_match(/byte_size is 64|address space|9223372036854775807/, message)
    end
    assert_equal 2, lend.call(byte_size: 64, ndim: 2, shape: [2, 3], strides: [24, 8]).shape[0]
    random = Random.new(Integer(ENV.fetch("CROSSDOCK_SEED", 7)))
    taken = ::Array.new(2000) do
      shape = ::Array.new(random.rand(1..3)) { random.rand(1..4) }
      strides = shape.map { random.rand(-8..8) * 8 }
      span = shape.zip(strides).sum { |length, stride| (length - 1) * stride.abs } + 8
      items = shape.inject(8, :*)
      said = [span - 1, span, span + 1, items - 1, items, items + 1, random.rand(0..1000)].sample(random: random)
      fits = said >= span || said == items
      begin
        assert_equal shape, lend.call(byte_size: said, ndim: shape.size, shape: shape, strides: strides).shape
        assert fits, [shape, strides, said].inspect
      rescue Crossdock::Error => error
        refute fits, [shape, strides, said, error.message].inspect
      end
      fits
    end
    assert_equal [true, true], [taken.count(true) > 200, taken.count(false) > 200]
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
    assert_match(/MemoryView in C \(ROW_MAJOR\) +by a copy +.*\[1, 2\].*\[8, 16\]/, text)
    assert_match(/PEP 3118 +in place$/, text)
    assert_match(/numpy\.asarray +in place/, text)
    assert_match(/read-only/, Crossdock.explain(Crossdock::Array[1].freeze))
    pointer = Crossdock.explain(Fiddle::Pointer["bytes"])
    assert_match(/Fiddle::Pointer: exports MemoryViews; .*no function release\n.*uint8 of shape \[5\].*read-only/, pointer)
    assert_match(/to be written: .*WRITABLE/, pointer)
    assert_match(/refused: .*gave no MemoryView/, Crossdock.explain(Fiddle::NULL))
  end
end
