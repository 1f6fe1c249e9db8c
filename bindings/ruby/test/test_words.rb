# frozen_string_literal: true

require_relative "helper"

# Errors say what to do in Ruby's words: no message names an item of Rust.
class TestWords < Test::Unit::TestCase
  include Helper

  CAST = "cast it with `cast` to the same type without < or >"

  def swapped
    Crossdock::Array.zeros(2, dtype: ">f8")
  end

  def records
    Crossdock::Array.zeros(2, dtype: { a: :int32, b: :float64 })
  end

  def constant
    Crossdock::Array.new([1, 2, 3]).to_readonly
  end

  # The fact, and the advice, of what the block raises.
  def assert_words(fact, advice, error = Crossdock::Refusal, &)
    text = message_of(error, &)
    assert_true text.start_with?(fact), text
    assert_true text.end_with?("; #{advice}"), text
    assert_no_match(/`(to_order|to_byte_order|insert_axis|into_\w+|trust_readonly)`|\w\(\)\?|host/, text)
  end

  def test_elements_that_a_protocol_does_not_have
    assert_words("DLPack has no non-native byte order: >float64", CAST) { swapped.to_dlpack }
    assert_words("Arrow has no elements in non-native byte order: >float64", CAST) { swapped.to_arrow }
    assert_words("DLPack has no records: ", "export one field at a time with `field`") { records.to_dlpack }
    assert_words("an array of rank 0 is no column",
                 "insert an axis with the index `:new`, or export it with `to_arrow(whole: true)`") do
      Crossdock::Array.new(1.5).to_arrow
    end
  end

  def test_memory_that_is_read_only
    assert_words("the array is read-only, and DLPack's flag that says so is advisory",
                 "copy it with `copy`, or vouch for the consumer with `trust_readonly: true`") { constant.to_dlpack }
    assert_words("the array is read-only, and DLPack's legacy struct cannot say so",
                 "export the versioned struct, copy it with `copy`, or vouch for the consumer with `trust_readonly: true`") do
      constant.to_dlpack(legacy: true)
    end
  end

  def test_columns_that_are_more_than_an_array
    assert_words("importing an Arrow column: the 2 columns of a struct lie apart",
                 "import them one by one with `from_arrow(column, as: :columns)`, or as records with " \
                 "`from_arrow(column, as: :records)`", Crossdock::Error) do
      Crossdock.from_arrow(records.to_arrow(copy: true))
    end
    values = Crossdock::Array.new([1, 2])
    column = values.to_arrow(mask: Crossdock::Array.new([true, false]))
    assert_words("importing an Arrow column: 1 of 2 elements are null, which no dtype says",
                 "fill them, leave them out, or import the truth values beside them with `from_arrow(column, as: :masked)`",
                 RangeError) { Crossdock.from_arrow(column) }
  end
end
