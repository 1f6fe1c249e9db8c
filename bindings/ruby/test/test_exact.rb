# frozen_string_literal: true

require_relative "helper"
require "bigdecimal"

# Integers, Rationals and BigDecimals as floats, compared with an oracle in Rational arithmetic:
# rounded once, ties to even.
class TestExact < Test::Unit::TestCase
  include Helper

  # The bits of a significand, and the least and the largest exponent.
  FORMATS = { float16: [11, -14, 15], bfloat16: [8, -126, 127], float32: [24, -126, 127], float64: [53, -1022, 1023],
              float8_e5m2: [3, -14, 15], longdouble: [64, -16_382, 16_383] }.freeze

  # The nearest number of a format; nil if that is beyond the largest.
  def nearest(number, format)
    bits, least, most = FORMATS.fetch(format)
    return 0r if number.zero?

    unit = Rational(2)**([exponent(number), least].max - (bits - 1))
    rounded = (number / unit).round(half: :even) * unit
    rounded if rounded.abs < Rational(2)**(most + 1)
  end

  # The exponent of the highest bit.
  def exponent(number)
    number = number.abs
    guess = number.numerator.bit_length - number.denominator.bit_length
    Rational(2)**guess > number ? guess - 1 : guess
  end

  # The element as a Rational.
  def exactly(array)
    return array[0].to_r unless array.dtype == :longdouble

    significand, top = array.to_binary.unpack("Q<S<")
    magnitude = significand * Rational(2)**([top & 0x7fff, 1].max - 16_383 - 63)
    top[15] == 1 ? -magnitude : magnitude
  end

  def check(number, format, array)
    got, expected = yield && exactly(array), nearest(number.to_r, format)
    assert_equal expected, got, "#{number} in #{format}"
  rescue RangeError => error
    assert_nil nearest(number.to_r, format), "#{number} in #{format}: #{error.message}"
  end

  # Numbers on, between and close to ties, at every exponent, including subnormal ones and those at
  # the ends of the range.
  def cases(format, random, count)
    bits, least, most = FORMATS.fetch(format)
    tiny = Rational(1, 3**400)
    (0...count).flat_map do |number|
      exponent = [random.rand((least - bits - 3)..(most + 1)), least - bits, least - bits + 1, least, most, 0, 61][number % 7]
      unit = Rational(2)**(exponent - bits + 1)
      # Sometimes all bits are set: rounding up then has a carry.
      significand = (number % 5).zero? ? 2**bits - 1 : random.rand(2**(bits - 1)...2**bits)
      tie = (significand + Rational(1, 2)) * unit
      sign = [1, -1][number % 2]
      [tie, tie * (1 + tiny), tie * (1 - tiny), significand * unit, tie + unit * Rational(1, 2**40), tie - unit * Rational(1, 2**70)].map { |case_| case_ * sign }
    end
  end

  def test_rationals_are_rounded_once_to_the_nearest
    FORMATS.each_key do |format|
      array = Crossdock::Array.zeros(1, dtype: format)
      cases(format, Random.new(7), 210).each do |number|
        check(number, format, array) { array[0] = number }
      end
      cases(format, Random.new(8), 35).each do |number|
        check(number, format, array) { array[true] = Crossdock::Array.new([number, 0.5, 3], dtype: format)[0..0] }
        check(number, format, array) { array.fill(number) }
      end
    end
  end

  def test_large_integers_are_rounded_once_alone_and_among_floats
    random = Random.new(9)
    [:float16, :bfloat16, :float32, :float64, :longdouble].each do |format|
      bits, = FORMATS.fetch(format)
      array = Crossdock::Array.zeros(1, dtype: format)
      200.times do
        shift = random.rand(1..([70, FORMATS[format][2] - bits].min))
        integer = ((2 * random.rand(2**(bits - 1)...2**bits) + 1) << (shift - 1)) + [0, 1, -1].sample(random: random)
        integer = -integer if random.rand(2).zero?
        [[integer], [integer, 0.5], [integer, 1r], [integer, -1, 0.5]].each do |list|
          check(integer, format, array) { array[0..0] = Crossdock::Array.new(list, dtype: format)[0..0] }
        end
      end
    end
  end

  def test_a_rational_without_a_dtype_is_the_nearest_double
    array = Crossdock::Array.zeros(1)
    # Ruby's own to_f rounds the numerator before it divides.
    [Rational(2**61 + 1, 3), Rational(3**80, 7**50), Rational(10**400 + 1, 10**399), Rational(1, 3)].each do |number|
      check(number, :float64, array) { array[true] = Crossdock::Array.new([number]) }
      check(number, :float64, array) { array[true] = Crossdock::Array.new([number, 1, 0.5])[0..0] }
    end
  end

  def test_big_decimals_are_rounded_once
    FORMATS.each_key do |format|
      array = Crossdock::Array.zeros(1, dtype: format)
      %w[0.1 -0.1 1.00000005960464477539062500000000000000001 1.000000059604644775390625 2049 2049.0000000000000000000000001 1e-45 7e-46 1e-400 0.00390625].each do |text|
        check(BigDecimal(text), format, array) { array[0] = BigDecimal(text) }
        check(BigDecimal(text), format, array) { array[true] = Crossdock::Array.new([BigDecimal(text), 1], dtype: format)[0..0] }
      end
    end
    special = Crossdock::Array.new(%w[-0 NaN Infinity -Infinity -1e-1000000000].map { |text| BigDecimal(text) }, dtype: :float32)
    assert_equal ["-0.0", "NaN", "Infinity", "-Infinity", "-0.0"], special.to_a.map(&:to_s)
    assert_equal special.to_a.map(&:to_s), special.cast(:longdouble).to_a.map(&:to_s)
    assert_raise(RangeError) { special[0] = BigDecimal("1e1000000000") }
  end

  def test_what_is_too_large_is_refused_and_never_infinite
    [10**400, Rational(10**400), -Rational(10**400, 3), BigDecimal("1e400"), Float::MAX.to_r * 2].each do |number|
      assert_raise(RangeError) { Crossdock::Array.new([number], dtype: :float64) }
      assert_raise(RangeError) { Crossdock::Array.new([number, 0.5], dtype: :float32) }
      assert_raise(RangeError) { Crossdock::Array.zeros(1)[0] = number }
    end
    assert_raise(RangeError) { Crossdock::Array.new([10**400, 0.5]) }
    assert_match(/element \[1\]: 65520 does not fit/, message_of(RangeError) { Crossdock::Array.new([1, 65_520], dtype: :float16) })
  end

  def test_parts_of_complex_numbers_are_rounded_once
    random = Random.new(10)
    { complex32: :float16, complex64: :float32, complex128: :float64 }.each do |dtype, format|
      array = Crossdock::Array.zeros(1, dtype: dtype)
      cases(format, random, 20).each do |number|
        next unless nearest(number, format)

        array[0] = Complex(number, -number)
        assert_equal [nearest(number, format), -nearest(number, format)], array[0].rect.map(&:to_r)
        again = Crossdock::Array.new([Complex(1, number), 2**70], dtype: dtype) if dtype != :complex32
        assert_equal nearest(number, format), again[0].imaginary.to_r if again
        array[0] = number
        assert_equal [nearest(number, format), 0], array[0].rect.map(&:to_r)
      end
    end
    assert_raise(RangeError) { Crossdock::Array.new([Complex(1r, 2)], dtype: :float32) }
  end

  def test_an_integer_takes_exact_numbers_that_are_whole
    large = 2**62 + 1
    [large, Rational(large), BigDecimal(large.to_s)].each do |number|
      [[number], [number, 1.0], [1r, number].reverse].each { |list| assert_equal large, Crossdock::Array.new(list, dtype: :int64)[0] }
      assert_equal large, Crossdock::Array.zeros(1, dtype: :uint64).fill(number)[0]
    end
    # As doubles, these are integers.
    [Rational(3 * large, 3) + Rational(1, 3), BigDecimal("4611686018427387904.000000001")].each do |number|
      assert_raise(RangeError) { Crossdock::Array.new([number], dtype: :int64) }
      assert_raise(RangeError) { Crossdock::Array.zeros(1, dtype: :int64)[0] = number }
    end
    assert_raise(RangeError) { Crossdock::Array.new([3r], dtype: "datetime64[s]") }
    assert_equal [2**64 - 1, -1].map(&:to_f), Crossdock::Array.new([2**64 - 1, -1], dtype: :float64).to_a
    assert_equal [2.0**70], Crossdock::Array.new([2**70], dtype: :float64).to_a
  end
end
