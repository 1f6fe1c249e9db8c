# frozen_string_literal: true

require_relative "helper"

class TestStrings < Test::Unit::TestCase
  include Helper

  def test_a_frozen_string_is_lent_in_place_and_read_only
    string = [1.5, 2.5, 3.5, 4.5].pack("d*").freeze
    array = Crossdock::Array.from_string(string, dtype: :float64, shape: [2, 2])
    assert_equal [[1.5, 2.5], [3.5, 4.5]], array.to_a
    assert_predicate array, :readonly?
    assert_raise(FrozenError) { array[0, 0] = 1 }
    assert_equal [string.b, 8, 16], [array.to_binary, *Crossdock::Array.from_string(string, dtype: :float64, shape: [2, 2], order: :column_major).strides]
  end

  def test_another_string_is_locked_until_nothing_of_the_array_is_left
    string = +"abcdef"
    array = Crossdock::Array.from_string(string)
    part = array[1..2]
    assert_match(/locked/, message_of(RuntimeError) { string << "g" })
    assert_match(/lock/, message_of(RuntimeError) { Crossdock::Array.from_string(string) })
    array.release
    assert_raise(RuntimeError) { string.clear }
    assert_equal "bc", part.to_binary
    part.release
    assert_equal "abcdefg", string << "g"
    Crossdock::Array.from_string(string) do |bytes|
      assert_equal 7, bytes.size
      assert_predicate bytes, :readonly?
    end
    assert_equal "abcdefgh", string << "h"
  end

  def test_strings_whose_arrays_were_collected_are_unlocked_by_the_next_array_that_is_made
    strings = ::Array.new(200) { |number| +"#{number} bytes" }
    Thread.new { strings.each { |string| Crossdock::Array.from_string(string)[1..] } }.join
    assert_operator strings.count { |string| changeable?(string) }, :<, 200
    GC.start
    Crossdock::Array[1]
    # The collector takes values on the stack for references.
    assert_operator strings.count { |string| changeable?(string) }, :>, 150
  end

  def changeable?(string)
    string << "."
    true
  rescue RuntimeError
    false
  end

  def test_a_copy_is_its_own_memory
    string = +"abc"
    array = Crossdock::Array.from_string(string, copy: true)
    array[0] = 0x7a
    assert_equal %w[abc zbc], [string, array.to_binary]
    string << "d"
  end

  def test_lengths_have_to_fit
    assert_match(/7 bytes.*int16/, message_of(ArgumentError) { Crossdock::Array.from_string("1234567", dtype: :int16) })
    assert_match(/6 bytes.*\[2, 2\].*4/, message_of(ArgumentError) { Crossdock::Array.from_string("123456", shape: [2, 2]) })
    assert_raise(TypeError) { Crossdock::Array.from_string(5) }
    assert_equal [0], Crossdock::Array.from_string("").shape
  end

  def test_short_strings_stay_where_they_are_through_compaction
    omit("this Ruby does not compact") unless GC.respond_to?(:compact)
    strings = ::Array.new(2000) { |number| format("%08d", number).freeze }
    arrays = strings.map { |string| Crossdock::Array.from_string(string) }
    strings = strings.map { |string| string.each_char.to_a.join }
    3.times do
      GC.compact
      assert_equal strings, arrays.map(&:to_binary)
    end
  end
end
