# frozen_string_literal: true

require_relative "helper"

class TestIndex < Test::Unit::TestCase
  include Helper

  NESTED = [[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]]].freeze

  def setup
    @array = Crossdock::Array.new(NESTED)
  end

  def test_axes_that_have_no_index_stay
    assert_equal NESTED[1], @array[1].to_a
    assert_equal NESTED[-1][2], @array[-1, 2].to_a
    assert_equal NESTED, @array[].to_a
    assert_equal [3, 2, 4], @array.transpose(1, 0, 2).shape
  end

  # The oracle is Ruby's Array, for every range with bounds near the axis, and for some of them with
  # a step. (With a step, Ruby itself refuses a bound behind the end, which it clamps without.)
  def test_ranges_take_what_they_take_of_a_ruby_array
    list = (10..15).to_a
    array = Crossdock::Array.new(list)
    bounds = [nil, *(-8..8)]
    taken = 0
    bounds.product(bounds, [true, false], [nil, 1, 2, 5]) do |first, last, exclusive, step|
      range = Range.new(first, last, exclusive)
      # Ruby has no arithmetic sequence without a number in it.
      next if step && first.nil?

      expected = list[range]
      expected = expected&.each_slice(step)&.map(&:first) if step
      range = range % step if step
      if expected
        assert_equal expected, array[range].to_a, range.inspect
        taken += 1
      else
        assert_raise(IndexError, range.inspect) { array[range] }
      end
    end
    assert_operator taken, :>, 1000
  end

  def test_a_negative_step_goes_from_the_first_bound_down_to_the_last
    array = Crossdock::Array.new((10..15).to_a)
    {
      (-1..0) % -1 => [15, 14, 13, 12, 11, 10], (4..1) % -2 => [14, 12], (4...1) % -1 => [14, 13, 12],
      (-1..) % -3 => [15, 12], (9..3) % -1 => [15, 14, 13], (1..4) % -1 => [], 3.step(by: -1, to: 0) => [13, 12, 11, 10]
    }.each { |range, expected| assert_equal expected, array[range].to_a, range.inspect }
  end

  def test_true_is_a_whole_axis_false_are_all_that_are_left_and_new_is_another
    assert_equal [[1, 5, 9], [13, 17, 21]], @array[true, true, 1].to_a
    assert_equal [[1, 5, 9], [13, 17, 21]], @array[false, 1].to_a
    assert_equal [0, 1, 2, 3], @array[0, 0, false].to_a
    assert_equal [[0, 4, 8]], @array[0, :new, true, 0].to_a
    assert_equal [2, 1, 3, 4], @array[true, :new].shape
  end

  def test_views_lie_in_the_same_memory
    view = @array[true, (0..) % 2, (-1..0) % -1]
    assert_equal [[2, 2, 4], [96, 64, -8]], [view.shape, view.strides]
    view[0, 1, 0] = -5
    assert_equal(-5, @array[0, 2, 3])
    assert_equal @array.address + 24, view.address
  end

  def test_parts_are_written_with_a_value_or_with_an_array_that_is_broadcast
    @array[0] = 7
    assert_equal [[7] * 4] * 3, @array[0].to_a
    @array[1, true, 1..2] = [[1, 2], [3, 4], [5, 6]]
    assert_equal [[12, 1, 2, 15], [16, 3, 4, 19], [20, 5, 6, 23]], @array[1].to_a
    @array[true, true, 0] = Crossdock::Array[100, 200, 300]
    assert_equal [[100, 200, 300]] * 2, @array[true, true, 0].to_a
    @array[0, 0, 0] = 4.0
    assert_equal 4, @array[0, 0, 0]
    @array[false] = 0
    assert_equal [0], @array.to_a.flatten.uniq
  end

  def test_what_does_not_fit_is_refused_with_its_numbers
    assert_match(/0\.5.*int64/, message_of(RangeError) { @array[0, 0, 0] = 0.5 })
    assert_match(/\[4\].*\[5\]|\[5\].*\[4\]/, message_of(ArgumentError) { @array[0, 0] = [1, 2, 3, 4, 5] })
    assert_match(/String/, message_of(TypeError) { @array["x"] })
    assert_match(/Symbol/, message_of(TypeError) { @array[:old] })
    assert_match(/4 indices/, message_of(IndexError) { @array[0, 0, 0, 0] })
    assert_match(/step.*0/, message_of(ArgumentError) { @array[0..1, 0, (0..2).step(0)] }) if RUBY_VERSION < "3.4"
    assert_match(/begins at 3.*length 2/, message_of(IndexError) { @array[3..] })
    assert_raise(RangeError) { @array[2**70..] }
    assert_match(/2 ellips|one ellipsis|ellipsis/i, message_of(ArgumentError) { @array[false, false] })
    assert_raise(ArgumentError) { @array.[]=() }
  end

  def test_an_assignment_within_one_memory_is_as_if_the_source_had_been_copied_before
    array = Crossdock::Array.new((0..9).to_a)
    array[1..] = array[0..-2]
    assert_equal [0, 0, 1, 2, 3, 4, 5, 6, 7, 8], array.to_a
  end

  def test_frozen_arrays_and_their_views_are_not_written
    frozen = @array.freeze
    assert_predicate frozen, :readonly?
    assert_match(/frozen/, message_of(FrozenError) { frozen[0, 0, 0] = 1 })
    view = frozen[0]
    assert_predicate view, :readonly?
    assert_match(/read-only.*copy/, message_of(FrozenError) { view[0, 0] = 1 })
    assert_match(/frozen/, message_of(FrozenError) { frozen.fill(0) })
    copy = view.copy
    copy[0, 0] = 99
    assert_equal [99, 0], [copy[0, 0], view[0, 0]]
  end
end
