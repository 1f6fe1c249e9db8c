# frozen_string_literal: true

require_relative "helper"
require "date"
require "json"
require "set"

class TestElements < Test::Unit::TestCase
  include Helper

  # Ruby's own `pack` and `unpack` are the oracle.
  LETTERS = {
    int8: "c", uint8: "C", int16: "s", uint16: "S", int32: "l", uint32: "L", int64: "q", uint64: "Q", float32: "f", float64: "d",
    ">int16": "s>", ">uint32": "L>", ">float64": "G", "<float32": "e"
  }.freeze

  def test_every_number_is_what_unpack_makes_of_its_bytes
    random = Random.new(1)
    LETTERS.each do |dtype, letter|
      # More than one batch, and more than one chunk.
      [1, 255, 256, 257, 70_000].each do |size|
        bytes = random.bytes(size * [0].pack(letter).bytesize)
        array = Crossdock::Array.from_string(bytes, dtype: dtype)
        assert_equal bytes.unpack("#{letter}*").map(&:to_s), array.to_a.map(&:to_s), "#{size} of #{dtype}"
        assert_equal bytes, array.to_binary
        array.release
      end
    end
  end

  def test_floats_of_every_exponent_are_exact
    floats = (-1074..1023).flat_map { |power| [2.0**power, -(2.0**power), 1.7 * 2.0**[power, 1022].min] }
    floats += [0.0, -0.0, Float::INFINITY, -Float::INFINITY, Float::MAX, Float::MIN, 1.72723e-77, [0x3000000000000000].pack("Q").unpack1("d")]
    array = Crossdock::Array.new(floats)
    assert_equal floats.pack("d*"), array.to_binary
    assert_equal floats.pack("d*"), array.to_a.pack("d*")
    assert_equal floats.pack("d*"), array.each.to_a.pack("d*")
    assert_equal floats.pack("d*"), floats.each_index.map { |index| array[index] }.pack("d*")
    assert_predicate Crossdock::Array[Float::NAN].to_a[0], :nan?
  end

  def test_nested_arrays_come_back_whatever_the_shape_and_the_strides
    random = Random.new(2)
    seen = Hash.new(0)
    100.times do
      shape = ::Array.new(random.rand(5)) { random.rand(5) }
      size = shape.reduce(1, :*)
      flat = (0...size).to_a
      nested = shape.empty? ? flat[0] : shape.drop(1).reverse.reduce(flat) { |list, len| len.zero? ? list : list.each_slice(len).to_a }
      next if size.zero?

      array = Crossdock::Array.new(nested)
      assert_equal [shape, nested], [array.shape, array.to_a]
      next if shape.empty?

      turned = array.transpose
      assert_equal turned.each.to_a, turned.to_a.flatten
      assert_equal turned.to_a.flatten.pack("q*"), turned.to_binary
      seen[shape.size] += 1
    end
    assert_operator seen.size, :>=, 4, seen
    assert_equal [[], []], Crossdock::Array.zeros(2, 0).to_a
    assert_equal [], Crossdock::Array.zeros(0, 2).to_a
    assert_equal [[[], []]], Crossdock::Array.zeros(1, 2, 0, 3).to_a
    assert_equal [[[7]]], Crossdock::Array.new([[[7]]]).to_a
  end

  # Elements of size 0: empty strings, empty sub-arrays, records without fields.
  def test_elements_without_bytes_are_as_many_as_the_shape_says
    { S0: "", V0: "", U0: "", "('<i4', (0,))" => [], "('<i4', (2, 0))" => [[], []], "('<i4', (0, 2))" => [], {} => {}, { a: :S0, b: :V0 } => { a: "", b: "" } }
      .each do |dtype, element|
      array = Crossdock::Array.zeros(3, dtype: dtype)
      assert_equal [0, [element] * 3], [array.nbytes, array.to_a], dtype
      assert_equal JSON.generate([element] * 3), array.to_json
      assert_equal [[element] * 3] * 2, [array.each.to_a, array.copy[(-1..0) % -1].to_a]
      grid = Crossdock::Array.zeros(2, 3, 1, dtype: dtype)
      assert_equal [[[element]] * 3] * 2, grid.to_a
      assert_equal [[[element] * 2] * 3], grid.transpose.to_a
      assert_equal [[], []], Crossdock::Array.zeros(2, 0, dtype: dtype).to_a
      assert_equal [], Crossdock::Array.zeros(0, 2, dtype: dtype).to_a
      assert_equal [[element] * 2] * 3, Crossdock::Array.zeros(2, dtype: dtype).broadcast_to(3, 2).to_a
      assert_equal element, Crossdock::Array.zeros(dtype: dtype).to_a
    end
    assert_equal ["", ""], Crossdock::Array.new(["", ""]).to_a
    assert_equal [[[""], [""]], :S0], Crossdock::Array.new([[""], [""]], dtype: :S0).then { |array| [array.to_a, array.dtype] }
  end

  def test_more_elements_than_an_array_of_ruby_holds_are_an_error
    [Crossdock::Array.zeros(1).broadcast_to(1 << 55), Crossdock::Array.zeros(1 << 55, dtype: :S0)].each do |array|
      assert_raise(NoMemoryError, ArgumentError) { array.to_a }
    end
  end

  def test_complex_numbers_truth_values_text_and_bytes
    assert_equal [1i, 2 + 0.5i], Crossdock::Array.new([1i, 2 + 0.5i]).to_a
    assert_equal [true, false], Crossdock::Array.new([true, false]).to_a
    assert_equal ["ä", ""], Crossdock::Array.new(["ä", ""]).to_a
    bytes = Crossdock::Array.new(["ab", "c"], dtype: :S3)
    assert_equal [["ab", "c"], Encoding::BINARY], [bytes.to_a, bytes[0].encoding]
    assert_equal [Encoding::UTF_8, Encoding::BINARY], [Crossdock::Array.new("ä")[].encoding, bytes.to_binary.encoding]
    assert_equal 0.1r.to_f, Crossdock::Array.new([0.1r])[0]
  end

  def test_dates_are_times_in_utc_and_nil
    days = Crossdock::Array.new([0, nil, 20_000], dtype: "datetime64[D]")
    assert_equal [:"datetime64[D]", [Time.utc(1970), nil, Time.utc(2024, 10, 4)]], [days.dtype, days.to_a]
    assert_predicate days[0], :utc?
    assert_match(/1970-01-01.*nil.*2024-10-04/, days.inspect)
    days[1] = Date.new(2026, 1, 2)
    assert_equal [Time.utc(2026, 1, 2)], days[1..1].to_a
    { "Y" => Time.utc(2026), "M" => Time.utc(2026, 3), "W" => Time.utc(1970, 1, 8), "25m" => Time.utc(1970, 1, 1, 0, 50), "ms" => Time.at(-1, 5, :millisecond),
      "us" => Time.at(1, 7, :usec), "ns" => Time.at(1, 9, :nsec), "ps" => Time.at(1 + 3r / 10**12), "as" => Time.at(1 + 3r / 10**18) }.each do |unit, time|
      array = Crossdock::Array.new([time], dtype: "datetime64[#{unit}]")
      assert_equal [time.to_r, 0], [array[0].to_r, array[0].utc_offset], unit
    end
    assert_equal [[5], 2**62 + 1970], [Crossdock::Array.new([5], dtype: "datetime64").to_a, Crossdock::Array.new([2**62], dtype: "datetime64[Y]")[0].year]
  end

  def test_times_are_elements_if_their_unit_has_them
    assert_equal [:"datetime64[ns]", :"datetime64[D]", :"datetime64[ns]"],
                 [[Time.now, nil], [Date.new(2026, 1, 2)], [Date.new(2026, 1, 2), DateTime.new(2026, 1, 2, 3)]].map { |times| Crossdock::Array.new(times).dtype }
    moment = Time.new(2026, 1, 2, 3, 4, 5.25r, "+02:00")
    assert_equal [moment, moment], [Crossdock::Array.new([moment])[0], Crossdock::Array.new([moment.to_datetime])[0]]
    { "datetime64[D]" => moment, "datetime64[M]" => Date.new(2026, 1, 2), "datetime64[Y]" => Time.utc(2026, 1, 1, 1), "datetime64[7D]" => Date.new(1970, 1, 2),
      "datetime64[as]" => Time.at(1r / 3), "datetime64" => moment, "datetime64[ns]" => Time.utc(3000) }.each do |dtype, time|
      assert_match(/does not fit #{Regexp.escape(dtype)}/, message_of(RangeError) { Crossdock::Array.new([time], dtype: dtype) }, dtype)
    end
  end

  def test_spans_are_counts_and_nil
    spans = Crossdock::Array.new([0, nil, -5], dtype: "timedelta64[s]")
    assert_equal [:"timedelta64[s]", [0, nil, -5]], [spans.dtype, spans.to_a]
    assert_match(/nil can't be an element/, message_of(TypeError) { Crossdock::Array.new([nil], dtype: :int8) })
  end

  def test_truth_values_are_one_and_zero_as_numbers
    assert_equal [[1, 0, 7], [1.0, 0.0]],
                 [Crossdock::Array.new([true, false, 7], dtype: :uint8), Crossdock::Array.new([true, false], dtype: :float64)].map(&:to_a)
    switches = Crossdock::Array.new([{ on: true }, { on: false }], dtype: { on: :bool })
    assert_equal [{ on: true }, { on: false }], switches.to_a
  end

  def test_whole_numbers_of_any_class_are_integers_and_no_dates
    assert_equal [[2, 3], [4]], [Crossdock::Array.new([2r, 3], dtype: :int32), Crossdock::Array.new([Complex(4, 0).real.to_r], dtype: :uint8)].map(&:to_a)
    [:"datetime64[s]", :"timedelta64[s]"].each do |dtype|
      assert_match(/2\/1 does not fit/, message_of(RangeError) { Crossdock::Array.new([2r], dtype: dtype) })
    end
    assert_match(/5\/2 does not fit int32/, message_of(RangeError) { Crossdock::Array.new([5r / 2], dtype: :int32) })
    assert_match(/1\+2j\) does not fit/, message_of(RangeError) { Crossdock::Array.new([Complex(1, 2)], dtype: :float64) })
  end

  def test_records_are_hashes
    trades = Crossdock::Array.new([{ price: 1.5, size: 3 }, { price: 2.5, size: 4 }], dtype: { price: :float32, size: :uint8 })
    assert_equal [5, %i[price size], [{ price: 1.5, size: 3 }, { price: 2.5, size: 4 }]], [trades.itemsize, trades.fields, trades.to_a]
    sizes = trades.field(:size)
    assert_equal [[5], [3, 4]], [sizes.strides, sizes.to_a]
    sizes[1] = 9
    assert_equal({ price: 2.5, size: 9 }, trades[1])
    trades[0] = { size: 1, price: 0.5 }
    assert_equal({ price: 0.5, size: 1 }, trades[0])
    assert_match(/"weight".*price.*size/, message_of(IndexError) { trades.field("weight") })
    assert_match(/no field "weight"/, message_of(ArgumentError) { trades[0] = { price: 1, size: 2, weight: 3 } })
    assert_match(/no value.*"size"/, message_of(ArgumentError) { trades[0] = { price: 1 } })
    assert_equal trades.dtype, Crossdock::Array.zeros(1, dtype: trades.dtype).dtype
    assert_nil sizes.fields
  end

  def test_two_values_for_one_field_are_refused
    type = { a: :int8, "é" => { x: :int8 } }
    latin = "é".encode("ISO-8859-1")
    good = { a: 1, latin => { "x" => 2 } }
    array = Crossdock::Array.new([good], dtype: type)
    assert_equal [{ a: 1, "é": { x: 2 } }], array.to_a
    twice = { { a: 1, "a" => 1, é: { x: 2 } } => /two values for the field "a": keys \[:a, "a", /,
              { "é" => { x: 2 }, latin => { x: 2 }, a: 1 } => /two values for the field "é"/,
              { a: 1, é: { x: 2, "x" => 2 } } => /field "é": the Hash has two values for the field "x"/ }
    by_identity = { é: { x: 1 } }.compare_by_identity
    2.times { by_identity[+"a"] = 1 }
    twice[by_identity] = /two values for the field "a"/
    twice.each do |hash, text|
      assert_match(text, message_of(ArgumentError) { array[0] = hash })
      assert_match(text, message_of(ArgumentError) { array.fill(hash) })
      assert_match(/\Aelement \[1\]: .*#{text}/, message_of(ArgumentError) { Crossdock::Array.new([good, hash], dtype: type) })
      assert_raise(ArgumentError) { Crossdock::Array.full(2, hash, dtype: type) }
    end
    assert_equal [{ a: 1, "é": { x: 2 } }], array.to_a
    [{ a: :int8, "a" => :int8 }, { "é" => :int8, latin => :int8 }, { a: { x: :int8, "x" => :int8 } }].each do |doubled|
      assert_match(/already taken/, message_of(TypeError) { Crossdock::Array.zeros(1, dtype: doubled) })
    end
  end

  def test_objects_that_are_no_elements_are_refused_with_a_way_out
    point = Struct.new(:x, :y)
    { point.new(1, 2) => /record/, Time.at(0) => /Time.*datetime64/, Date.new(1970) => /Date.*datetime64/, { x: 1 } => /record/, Object.new => /Object/ }.each do |object, text|
      assert_match(text, message_of(TypeError) { Crossdock::Array.new([1, object], dtype: :int8) })
      assert_match(/\Aelement \[1\]: .*#{text}/, message_of(TypeError) { Crossdock::Array.new([1, object], dtype: :float32) })
      assert_match(text, message_of(TypeError) { Crossdock::Array.zeros(3)[true] = object })
      assert_match(/by dtype: what they are/, message_of(TypeError) { Crossdock::Array.new([1, object]) })
    end
    assert_match(/1 records and 1 dates/, message_of(TypeError) { Crossdock::Array.new([{ x: 1 }, Time.at(0)]) })
    assert_match(/nil among/, message_of(TypeError) { Crossdock::Array.new([1, nil]) })
  end

  def test_large_integers_are_exact_or_refused
    array = Crossdock::Array.new([2**64 - 1, 0])
    assert_equal [2**64 - 1, 0], array.to_a
    assert_equal(-(2**63), Crossdock::Array.new([-(2**63)])[0])
    assert_raise(RangeError) { Crossdock::Array.new([2**64]) }
    assert_raise(RangeError) { Crossdock::Array.new([2**63, -1]) }
    assert_equal 2.0**70, Crossdock::Array.zeros(1).tap { |floats| floats[0] = 2**70 }[0]
  end

  def test_enumerable_works_on_the_elements
    array = Crossdock::Array.new([[3, 1], [2, 5]])
    assert_equal [11, 1, 5, [3, 1, 2, 5]], [array.sum, array.min, array.max, array.each.to_a]
    assert_equal [6, 2, 4, 10], array.map { |number| number * 2 }
    assert_equal [4, 4, 4], [array.each.size, array.size, array.length]
    assert_same array, array.each { |number| number }
    seen = []
    array.each do |number|
      seen << number
      array[1, 1] = 50 if number == 3
    end
    assert_equal [3, 1, 2, 50], seen
  end
end
