# frozen_string_literal: true

require_relative "helper"
require_relative "native"
require "fiddle"

Native.load("probe") unless defined?(Probe)

# Ruby's own reading of this library's views: every rank, strides of every sign, every format that
# Ruby supports.
class TestFiddle < Test::Unit::TestCase
  include Helper

  FORMATS = {
    int8: "c", uint8: "C", int16: "s", uint16: "S", int32: "l", uint32: "L", int64: "q", uint64: "Q", float32: "f", float64: "d",
    ">int16": "s>", ">uint16": "S>", ">int32": "l>", ">uint32": "L>", ">int64": "q>", ">uint64": "Q>", ">float32": "g", ">float64": "G"
  }.freeze

  def assert_read(array)
    view = Fiddle::MemoryView.new(array)
    shape = array.shape
    assert_equal [shape, array.strides, array.ndim, array.itemsize, array.nbytes],
                 [view.shape, view.strides, view.ndim, view.item_size, view.byte_size]
    if shape.empty?
      return # Fiddle has no way to ask for the one element.
    end

    indices = shape.map { |len| (0...len).to_a }
    first, *others = indices
    first.product(*others).each do |index|
      own = array[*index]
      own = own.values if own.is_a?(Hash)
      assert_equal own, view[*index], "#{array.dtype} #{index} of #{shape} by #{array.strides}"
    end
  ensure
    view&.release
  end

  def test_ranks_from_none_to_eight_over_strides_of_every_kind
    random = Random.new(3)
    signs = Hash.new(0)
    (0..8).each do |rank|
      8.times do
        shape = ::Array.new(rank) { 1 + random.rand(rank > 5 ? 2 : 4) }
        array = Crossdock::Array.new((0...shape.reduce(1, :*)).to_a).then { |flat| rank.zero? ? flat[0..0].reshape([]) : flat.reshape(*shape) }
        array = array.transpose(*(0...rank).to_a.shuffle(random: random))
        array = array[false, *array.shape.map { [true, (-1..0) % -1, (0..) % 2, 0..].sample(random: random) }]
        array = array[false, :new] if random.rand(4).zero? && rank < 8
        array.strides.each { |stride| signs[stride <=> 0] += 1 }
        assert_read(array)
      end
    end
    assert_equal [-1, 0, 1], signs.keys.sort, signs
    assert_read(Crossdock::Array.new([1, 2]).broadcast_to(3, 2))
  end

  def test_every_format_that_ruby_can_say
    random = Random.new(4)
    FORMATS.each do |dtype, format|
      size = [0].pack(format).bytesize
      array = Crossdock::Array.from_string(random.bytes(size * 12), dtype: dtype, shape: [3, 4])
      array = Crossdock::Array.new([[1.5, -2.5, 0.0, 1e30]] * 3, dtype: dtype) if dtype.to_s.include?("float")
      view = Fiddle::MemoryView.new(array)
      assert_equal [format, size], [view.format, view.item_size], dtype
      view.release
      assert_read(array)
      assert_read(array[(-1..0) % -1, true])
    end
  end

  def test_what_ruby_has_no_word_for_is_said_by_its_numbers
    assert_equal ["C", 1], Fiddle::MemoryView.new(Crossdock::Array[true, false]).then { |view| [view.format, view[0]] }
    assert_equal ["dd", [0.5, 2.0]], Fiddle::MemoryView.new(Crossdock::Array[0.5 + 2i]).then { |view| [view.format, view[0]] }
    records = Crossdock::Array.new([{ id: 7, at: 0.25 }] * 2, dtype: { id: :uint8, at: ">float64" })
    assert_equal ["CG", 9], Fiddle::MemoryView.new(records).then { |view| [view.format, view.item_size] }
    assert_read(records)
    assert_equal "q", Fiddle::MemoryView.new(Crossdock::Array.new([5], dtype: "datetime64[s]")).format
    # Types without numbers in Ruby are refused, with a reason.
    half = Crossdock::Array.zeros(2, dtype: :float16)
    assert_raise(ArgumentError) { Fiddle::MemoryView.new(half) }
    assert_match(/float16/, Crossdock.explain(half))
  end

  def test_every_field_is_filled_in
    array = Crossdock::Array.new([[1.5, 2.5, 3.5]] * 2)[true, (-1..0) % -1]
    fields = Probe.get(array, 76).fields
    expected = { obj: array, data: array.address, byte_size: 48, readonly: true, format: "d", item_size: 8, components: false, length: 0, ndim: 2,
                 shape: [2, 3], strides: [24, -8], sub_offsets: nil, private_data: true }
    assert_equal expected, fields
  end

  def test_views_are_counted_and_pin_the_array
    array = Crossdock::Array.new([1])
    views = ::Array.new(3) { Fiddle::MemoryView.new(array) }
    assert_equal 3, Probe.exports(array)
    views.each(&:release)
    assert_equal 0, Probe.exports(array)
    Fiddle::MemoryView.export(array) { |view| assert_equal 1, view[0] }
  end

  def test_who_asks_for_writing_writes_the_array
    array = Crossdock::Array.zeros(2, 2, dtype: :uint8)
    Probe.get(array, 1).poke([1, 0], 200)
    assert_equal [[0, 0], [200, 0]], array.to_a
  end

  def test_subclasses_lend_as_their_class_does
    assert_equal 7, Fiddle::MemoryView.new(Class.new(Crossdock::Array)[7])[0]
  end
end
