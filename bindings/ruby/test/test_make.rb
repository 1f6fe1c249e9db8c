# frozen_string_literal: true

require_relative "helper"
require "date"

class TestMake < Test::Unit::TestCase
  def test_names_of_fields_are_symbols_and_strings_of_text
    ["\xff", 1, nil, Object.new].each do |name|
      assert_raise(TypeError, EncodingError, ArgumentError) { Crossdock::Array.zeros(1, dtype: { name => :int8 }) }
      assert_raise(TypeError, EncodingError, ArgumentError) { Crossdock::Array.zeros(1, dtype: { a: :int8 })[0] = { name => 1 } }
    end
    assert_equal [:a, :ä], Crossdock::Array.zeros(1, dtype: { "a" => :int8, ä: :int8 }).fields
  end

  def test_a_record_that_holds_itself_is_refused
    fields = {}
    fields[:inner] = fields
    assert_match(/64 deep/, assert_raise(ArgumentError) { Crossdock::Array.zeros(1, dtype: fields) }.message)
  end

  include Helper

  def test_the_dtype_is_guessed_from_the_elements
    {
      [1, 2] => :int64, [1.5, 2.5] => :float64, [1, 2.5] => :float64, [true, false] => :bool, [1i, 2] => :complex128,
      [2**63, 1] => :uint64, ["ab", "ä"] => :U2, [] => :float64
    }.each do |nested, dtype|
      array = Crossdock::Array.new(nested)
      assert_equal dtype, array.dtype, nested.inspect
      assert_equal [nested.size], array.shape
    end
  end

  def test_a_negative_length_names_the_argument
    zero = Crossdock::Array.zeros(1)
    [-> { Crossdock::Array.zeros(-1) }, -> { Crossdock::Array.ones([2, -1]) }, -> { Crossdock::Array.full(-1, 2) }, -> { zero.broadcast_to(-1) },
     -> { Crossdock::Array.from_string("ab", shape: [-1]) }, -> { Crossdock.at_address(16, dtype: :int8, shape: -1) }].each do |made|
      assert_equal "shape: -1 is negative", message_of(RangeError, &made)
    end
    assert_equal "count: -1 is negative", message_of(ArgumentError) { Crossdock::Array.linspace(0, 1, -1) }
    assert_match(/\Ashape: /, message_of(TypeError) { Crossdock::Array.zeros(2, "x") })
  end

  def test_axes_are_as_deep_as_the_arrays
    array = Crossdock::Array.new([[[1, 2, 3], [4, 5, 6]]])
    assert_equal [1, 2, 3], array.shape
    assert_equal [48, 24, 8], array.strides
    assert_equal [3, 6, 48, 8], [array.ndim, array.size, array.nbytes, array.itemsize]
    assert_equal 6, array[0, 1, 2]
    assert_equal [], Crossdock::Array.new(7).shape
    refute array.readonly?
  end

  def test_an_integer_that_no_dtype_has_is_named
    assert_equal "element [0]: #{2**64} does not fit uint64", message_of(RangeError) { Crossdock::Array.new([2**64]) }
    assert_equal "element [1]: #{2**63} does not fit int64", message_of(RangeError) { Crossdock::Array.new([-1, 2**63]) }
    assert_match(/an Integer of 101 digits/, message_of(RangeError) { Crossdock::Array.new([10**100]) })
    array = Crossdock::Array.new([1])
    assert_equal "#{2**70} does not fit int64", message_of(RangeError) { array[0] = 2**70 }
  end

  def test_arrays_that_are_no_boxes_are_refused_with_the_place
    assert_match(/Array of 1 at \[1\].*2 elements/, message_of(ArgumentError) { Crossdock::Array.new([[1, 2], [3]]) })
    assert_match(/Integer at \[1\]/, message_of(ArgumentError) { Crossdock::Array.new([[1, 2], 3]) })
    assert_match(/\[0, 1\]/, message_of(ArgumentError) { Crossdock::Array.new([[1, [2]], [3, 4]]) })
    endless = []
    endless << endless
    assert_match(/deeper than 64/, message_of(ArgumentError) { Crossdock::Array.new(endless) })
    # More paths than could be followed.
    endless << endless
    assert_match(/deeper than 64/, message_of(ArgumentError) { Crossdock::Array.new(endless) })
  end

  def test_records_that_contain_themselves_are_refused
    numbers = Crossdock::Array.new([1])
    [->(record) { record }, ->(record) { [record, record] }, ->(record) { [[record], [numbers]] }, ->(record) { { y: record } }].each do |part|
      record = {}
      record[:x] = part.call(record)
      assert_match(/records nested more than 64 deep/, message_of(ArgumentError) { Crossdock::Array.new([record]) })
    end
  end

  def test_elements_that_no_dtype_says_are_refused_by_name
    assert_match(/Object/, message_of(TypeError) { Crossdock::Array.new([Object.new]) })
    assert_match(/1 numbers, 1 truth values/, message_of(TypeError) { Crossdock::Array.new([1, true]) })
    assert_match(/nil/, message_of(TypeError) { Crossdock::Array.new([1.5, nil]) })
  end

  def test_a_dtype_that_is_given_converts_with_a_check
    assert_equal 2.0, Crossdock::Array.new([1, 2], dtype: :float32)[1]
    assert_equal [:uint8, 3], Crossdock::Array.new([3.0], dtype: "u1").then { |array| [array.dtype, array[0]] }
    assert_match(/256/, message_of(RangeError) { Crossdock::Array.new([256], dtype: :uint8) })
    assert_match(/flaot32/, message_of(ArgumentError) { Crossdock::Array.new([1], dtype: :flaot32) })
  end

  def test_an_array_of_another_is_a_copy
    array = Crossdock::Array.new([[1, 2], [3, 4]])
    copy = Crossdock::Array.new(array.transpose, dtype: :float32)
    array[0, 0] = 100
    assert_equal [:float32, [[1.0, 3.0], [2.0, 4.0]]], [copy.dtype, copy.to_a]
    assert_equal [8, 16], Crossdock::Array.new(array, order: :column_major).strides
  end

  def test_indices_are_counted_from_either_end_and_checked
    array = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])
    assert_equal [1, 6, 4], [array[0, 0], array[-1, -1], array[1, -3]]
    assert_match(/index 2 .*axis 0 .*length 2/, message_of(IndexError) { array[2, 0] })
    assert_match(/index -4 .*axis 1/, message_of(IndexError) { array[0, -4] })
    assert_match(/3 indices.*\[2, 3\]/, message_of(IndexError) { array[0, 0, 0] })
  end

  def test_it_prints_the_columns_of_numpy_and_the_literals_of_ruby
    assert_equal "Crossdock::Array int64 [2, 2]\n[[ 1  2]\n [30  4]]", Crossdock::Array.new([[1, 2], [30, 4]]).inspect
    { [true, false] => "[ true false]", [1, 2.5] => "[1.0 2.5]", [1i, 2 - 0.5i] => "[(0.0+1.0i) (2.0-0.5i)]", ["ä", "b\n"] => '["ä" "b\\n"]',
      [Float::NAN, -Float::INFINITY] => "[      NaN -Infinity]", [nil, Date.new(2026, 1, 2)] => "[         nil '2026-01-02']",
      [{ x: 1, "a b" => "y" }] => '[{x: 1, "a b": "y"}]' }.each do |elements, text|
      assert_equal text, Crossdock::Array.new(elements).to_s
    end
    assert_equal %w[true 1.5 (1.0+2.0i) nil], [true, 1.5, 1 + 2i].map { |value| Crossdock::Array.new(value).to_s } + [Crossdock::Array.new([nil], dtype: "datetime64[D]")[0].inspect]
    assert_equal '["a\\xFF"]', Crossdock::Array.new(["a\xff".b], dtype: :S2).to_s
  end
end
