# frozen_string_literal: true

require_relative "helper"

class TestViews < Test::Unit::TestCase
  include Helper

  def test_axes_are_turned_and_shapes_changed_in_place
    array = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])
    assert_equal [[1, 4], [2, 5], [3, 6]], array.transpose.to_a
    assert_equal [[1, 2], [3, 4], [5, 6]], array.reshape(3, 2).to_a
    assert_equal [[1, 2], [3, 4], [5, 6]], array.reshape([-1, 2]).to_a
    assert_equal [array.address] * 3, [array.transpose, array.reshape(6), array.flatten].map(&:address)
    assert_match(/reshape.*copy: true/, message_of(Crossdock::Error) { array.transpose.reshape(6) })
    assert_equal [1, 4, 2, 5, 3, 6], array.transpose.reshape(6, copy: true).to_a
    assert_match(/6 elements.*\[2, 3\]/, message_of(ArgumentError) { array.reshape(4, -1) })
    assert_match(/-2/, message_of(ArgumentError) { array.reshape(-2, 3) })
    assert_raise(ArgumentError) { array.reshape(5) }
    assert_raise(IndexError) { array.transpose(0, 2) }
    assert_raise(ArgumentError) { array.transpose(0, 0) }
    assert_equal [2, 2, 3], array.broadcast_to(2, 2, 3).shape
    assert_predicate array.broadcast_to([2, 2, 3]), :readonly?
  end

  def test_axes_are_counted_from_the_end_where_they_are_negative
    array = Crossdock::Array.new([[[1, 2, 3], [4, 5, 6]]])
    assert_equal [[3, 1, 2], [2, 1, 3], [1, 2, 3]],
                 [array.transpose(-1, 0, 1), array.transpose(-2, -3, -1), array.transpose(-3, -2, -1)].map(&:shape)
    assert_match(/axis -4 .* 3 axes/, message_of(IndexError) { array.transpose(-4, 0, 1) })
    assert_match(/axis 3 .* 3 axes/, message_of(IndexError) { array.transpose(0, 1, 3) })
  end

  def test_a_length_is_left_open_only_where_it_can_be_known
    empty = Crossdock::Array.new([[], []])
    assert_equal [0, 3], empty.reshape(-1, 3).shape
    assert_match(/0 elements of shape \[2, 0\] fit no shape \[0, -1\]/, message_of(ArgumentError) { empty.reshape(0, -1) })
  end

  # A number that does not fit the other dtype, or a dtype without numbers, is unequal, and not an
  # error.
  def test_arrays_of_any_two_types_are_compared
    values = { bool: true, int8: -1, uint8: 1, int64: 2**60 + 1, uint64: 2**63, float16: 1.5, bfloat16: 2.0, float32: 0.1, float64: 2.0**60,
               longdouble: 1.0, complex64: 1i, complex128: 2, float8_e4m3fn: 0.5, S5: "a", U3: "a", V4: "abcd", "datetime64[s]": 5,
               "timedelta64[D]": 5, { x: :int8 } => { x: 1 }, { y: :float32, x: :int8 } => { x: 1, y: 2 } }
    arrays = values.map { |dtype, value| Crossdock::Array.new([value], dtype: dtype) }
    arrays.product(arrays).each do |one, other|
      assert_equal other == one, one == other, [one.dtype, other.dtype].inspect
      assert_equal one, other if one.equal?(other)
    end
    assert_equal Crossdock::Array.new([2**60]), Crossdock::Array.new([2.0**60])
    assert_not_equal Crossdock::Array.new([2**60 + 1]), Crossdock::Array.new([1], dtype: :uint8)
  end

  def test_copies_are_new_memory
    array = Crossdock::Array.new([[1, 2], [3, 4]])
    copies = [array.copy, array.dup, array.clone, array.copy(order: :column_major)]
    array[0, 0] = 100
    assert_equal [[[1, 2], [3, 4]]] * 4, copies.map(&:to_a)
    assert_equal [8, 16], copies.last.strides
    frozen = array.freeze
    assert_equal [true, false, false, true], [frozen.clone, frozen.dup, frozen.clone(freeze: false), frozen.dup.clone(freeze: true)].map(&:frozen?)
  end

  def test_types_are_converted_with_a_check
    array = Crossdock::Array.new([1.0, 300.0])
    assert_equal [:int16, [1, 300]], array.cast(:int16).then { |cast| [cast.dtype, cast.to_a] }
    assert_match(/300.*\[1\]|\[1\].*300/, message_of(RangeError) { array.cast(:uint8) })
    assert_equal [1, 255], array.cast(:uint8, saturating: true).to_a
    assert_equal [:uint64, [0x3ff0000000000000]], array[0..0].view_as(:uint64).then { |bits| [bits.dtype, bits.to_a] }
  end

  def test_arrays_are_equal_by_value_and_keys_by_type
    array = Crossdock::Array.new([[1, 2], [3, 4]])
    assert_equal array, Crossdock::Array.new([[1.0, 2.0], [3.0, 4.0]])
    assert_equal array, array.transpose.transpose
    assert_not_equal array, array.transpose
    assert_not_equal array, array.reshape(4)
    assert_not_equal array, [[1, 2], [3, 4]]
    assert_not_equal array, nil
    assert_not_equal Crossdock::Array[2**53 + 1], Crossdock::Array[2.0**53]
    assert_not_equal Crossdock::Array[Float::NAN], Crossdock::Array[Float::NAN]
    assert_not_equal Crossdock::Array["a"], Crossdock::Array[1]
    keys = { array => :here }
    assert_equal [:here, nil], [keys[array.copy], keys[array.cast(:float64)]]
    refute array.eql?(array.cast(:float64))
    refute array.eql?(1)
  end

  def test_a_subclass_makes_its_own
    subclass = Class.new(Crossdock::Array)
    array = subclass.new([[1, 2]])
    assert_equal [subclass] * 4, [array, array[0], array.transpose, array.copy].map(&:class)
  end

  def test_what_was_released_is_gone_but_not_what_others_have
    array = Crossdock::Array.new([1, 2, 3])
    view = array[1..]
    array.release
    assert_equal [2, 3], view.to_a
    assert_match(/released/, message_of(Crossdock::Error) { array[0] })
    assert_match(/released/, message_of(Crossdock::Error) { array.shape })
    assert_match(/released/, array.inspect)
    assert_nil array.release
    assert_raise(FrozenError) { view.freeze.release }
  end

  def test_there_is_no_array_without_memory
    assert_raise(Crossdock::Error) { Crossdock::Array.allocate.size }
    assert_raise(TypeError) { Crossdock::Array.instance_method(:shape).bind_call(Object.new) }
    assert_raise(NoMethodError) { Crossdock::Array.make_full([1], 0, :int8, nil) }
    assert_raise(RangeError, NoMemoryError) { Crossdock::Array.zeros(2**40, 2**40) }
    assert_raise(RangeError) { Crossdock::Array.zeros(-1) }
  end
end
