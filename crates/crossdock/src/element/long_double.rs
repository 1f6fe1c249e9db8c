//! C's `long double` of 16 bytes: a sign, 15 bits of exponent and a significand, whose length
//! depends on the processor.

use crate::element::exact::ExactReal;
use crate::element::float::shift_to_even;

const EXPONENT_BIAS: i32 = 16_383;
const SPECIAL: u128 = 0x7fff;

/// The bits of a `long double`, in little-endian bytes.
#[derive(Clone, Copy, Debug)]
pub struct LongDoubleFormat {
    /// The bits of a significand, with its leading one.
    precision: u32,
    /// Those that are stored, below the exponent: all, or all but the leading one.
    stored: u32,
}

/// That of x86: 80 bits, then six bytes of padding.
const EXTENDED: LongDoubleFormat = LongDoubleFormat { precision: 64, stored: 64 };

/// IEEE binary128, as on ARM, RISC-V, LoongArch, s390x and WebAssembly. (On POWER, some compilers
/// have pairs of doubles instead. Nothing tells the two apart, so those are read wrongly there.)
const QUAD: LongDoubleFormat = LongDoubleFormat { precision: 113, stored: 112 };

/// The one of this processor, where a `long double` has 16 bytes.
pub const NATIVE: LongDoubleFormat =
    if cfg!(any(target_arch = "x86_64", target_arch = "x86")) { EXTENDED } else { QUAD };

/// A magnitude.
enum Magnitude {
    /// `significand * 2^exponent`.
    Finite(u128, i32),
    Infinite,
    Nan,
}

impl LongDoubleFormat {
    /// The nearest double, ties to even; too large values become infinite.
    pub(super) fn to_f64(self, raw: &[u8; 16]) -> f64 {
        let (negative, magnitude) = self.parts(raw);
        let magnitude = match magnitude {
            Magnitude::Finite(0, _) => 0.0,
            Magnitude::Finite(significand, exponent) => round(significand, exponent),
            Magnitude::Infinite => f64::INFINITY,
            Magnitude::Nan => f64::NAN,
        };
        if negative { -magnitude } else { magnitude }
    }

    /// Like [`to_f64`](Self::to_f64); `None` for a number that is too large for a double.
    pub(super) fn fits_f64(self, raw: &[u8; 16]) -> Option<f64> {
        let near = self.to_f64(raw);
        let is_special = !matches!(self.parts(raw).1, Magnitude::Finite(..));
        (near.is_finite() || is_special).then_some(near)
    }

    /// A double as an intermediate step to a narrower float; `None` for a number that is too large
    /// for a double. An inexact result becomes the neighbour whose last bit is set, so that
    /// rounding it once more gives the same result as rounding once (round to odd).
    pub(super) fn to_odd(self, raw: &[u8; 16]) -> Option<f64> {
        let near = self.fits_f64(raw)?;
        let magnitude = |raw: &[u8; 16]| u128::from_le_bytes(*raw) & ((1 << (self.stored + 15)) - 1);
        let (exact, rounded) = (magnitude(raw), magnitude(&self.encode_f64(near)));
        if exact == rounded || !near.is_finite() {
            return Some(near);
        }
        Some(f64::from_bits((near.to_bits() - u64::from(rounded > exact)) | 1))
    }

    /// The exact integer, if the number is one of magnitude below 2^64.
    pub(super) fn to_int(self, raw: &[u8; 16]) -> Option<i128> {
        let (negative, Magnitude::Finite(significand, exponent)) = self.parts(raw) else { return None };
        if significand == 0 {
            return Some(0);
        }
        // The number of bits after the binary point.
        let fraction = u32::try_from(-exponent).ok()?;
        if significand.trailing_zeros() < fraction {
            return None;
        }
        let magnitude = i128::from(u64::try_from(significand >> fraction).ok()?);
        Some(if negative { -magnitude } else { magnitude })
    }

    /// A double, exactly. A NaN keeps its sign but not its payload.
    #[must_use]
    pub fn encode_f64(self, value: f64) -> [u8; 16] {
        let negative = value.is_sign_negative();
        let leading_one = 1 << (self.precision - 1);
        if value.is_nan() {
            return self.assemble(negative, SPECIAL, leading_one | leading_one >> 1);
        }
        if value.is_infinite() {
            return self.assemble(negative, SPECIAL, leading_one);
        }
        let bits = value.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let significand = if field == 0 { fraction } else { fraction | (1 << 52) };
        self.normal(negative, significand.into(), field.max(1) - 1075)
    }

    /// An integer, exactly. Its magnitude is below 2^64.
    pub(super) fn encode_int(self, value: i128) -> [u8; 16] {
        self.normal(value < 0, value.unsigned_abs(), 0)
    }

    /// The number of bits of a significand, its leading one included.
    pub const fn precision(self) -> u32 {
        self.precision
    }

    /// `significand * 2^exponent`, where the significand has [`precision`](Self::precision) bits,
    /// or fewer with the [`lowest`](Self::lowest) exponent, or is the power of two above them.
    /// `None` for a number that is too large.
    #[must_use]
    pub fn encode(self, negative: bool, significand: u128, exponent: i64) -> Option<[u8; 16]> {
        let is_above = significand >> self.precision != 0;
        let (significand, exponent) =
            if is_above { (significand >> 1, exponent + 1) } else { (significand, exponent) };
        // Without its leading one, the number is subnormal, with the exponent field 0.
        let is_normal = significand >> (self.precision - 1) != 0;
        let field = exponent + i64::from(EXPONENT_BIAS) + i64::from(self.precision) - 1;
        let field = if is_normal { u128::try_from(field).ok()? } else { 0 };
        (field < SPECIAL).then(|| self.assemble(negative, field, significand))
    }

    /// Whether both are the same number: zeros are, NaNs are not, and padding counts for nothing.
    pub(super) fn are_equal(self, left: &[u8; 16], right: &[u8; 16]) -> bool {
        self.exact(left) == self.exact(right)
    }

    /// The number itself.
    pub(super) fn exact(self, raw: &[u8; 16]) -> ExactReal {
        let (negative, magnitude) = self.parts(raw);
        match magnitude {
            Magnitude::Finite(significand, exponent) => ExactReal::Finite { negative, significand, exponent },
            Magnitude::Infinite => ExactReal::Infinite { negative },
            Magnitude::Nan => ExactReal::Nan,
        }
    }

    /// Whether a normal number is the lowest of its exponent, so that the next number below is half
    /// as far away as the one above.
    pub(super) fn is_lowest_of_its_exponent(self, significand: u128, exponent: i32) -> bool {
        significand == 1 << (self.precision - 1) && exponent > self.lowest()
    }

    /// The exponent of the lowest bit of all numbers.
    pub const fn lowest(self) -> i32 {
        1 - EXPONENT_BIAS - (self.precision as i32 - 1)
    }

    /// The sign, and the rest.
    fn parts(self, raw: &[u8; 16]) -> (bool, Magnitude) {
        let bits = u128::from_le_bytes(*raw);
        let (field, stored) = (bits >> self.stored & SPECIAL, bits & ((1 << self.stored) - 1));
        let writes_leading_one = self.stored == self.precision;
        let magnitude = if writes_leading_one && field > 0 && stored >> (self.precision - 1) == 0 {
            // Processors since the 80387 take no such number or infinity.
            Magnitude::Nan
        } else if field == SPECIAL {
            let is_infinite = stored & ((1 << (self.precision - 1)) - 1) == 0;
            if is_infinite { Magnitude::Infinite } else { Magnitude::Nan }
        } else {
            let has_hidden_one = !writes_leading_one && field != 0;
            let significand = stored | u128::from(has_hidden_one) << self.stored;
            // Subnormals count like the lowest normal exponent.
            Magnitude::Finite(significand, field.max(1) as i32 - 1 + self.lowest())
        };
        (bits >> (self.stored + 15) & 1 == 1, magnitude)
    }

    /// `significand * 2^exponent`, exactly, for exponents of doubles and at most 64 bits.
    fn normal(self, negative: bool, significand: u128, exponent: i32) -> [u8; 16] {
        if significand == 0 {
            return self.assemble(negative, 0, 0);
        }
        let highest = 127 - significand.leading_zeros();
        let field = exponent + highest as i32 + EXPONENT_BIAS;
        self.assemble(negative, field as u128, significand << (self.precision - 1 - highest))
    }

    /// The bits of the significand that are stored are put below the exponent.
    fn assemble(self, negative: bool, field: u128, significand: u128) -> [u8; 16] {
        let stored = significand & ((1 << self.stored) - 1);
        (u128::from(negative) << (self.stored + 15) | field << self.stored | stored).to_le_bytes()
    }
}

/// `significand * 2^exponent`, rounded to a double. `significand` is not zero.
fn round(significand: u128, exponent: i32) -> f64 {
    let highest = 127 - significand.leading_zeros() as i32;
    let binade = exponent + highest;
    if binade > 1023 {
        return f64::INFINITY;
    }
    let dropped = binade.max(-1022) - 52 - exponent;
    let kept = match dropped {
        ..=0 => significand << -dropped,
        // All of it is below half of the lowest bit that is kept.
        _ if dropped > highest + 1 => 0,
        _ => shift_to_even(significand, dropped as u32),
    };
    // The leading one of a normal significand adds 1 to the exponent field, and so does a carry, up
    // to infinity.
    f64::from_bits((((binade.max(-1022) + 1022) as u64) << 52) + kept as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [LongDoubleFormat; 2] = [EXTENDED, QUAD];

    /// A magnitude with the highest 64 bits of its significand.
    fn of(format: LongDoubleFormat, negative: bool, field: u128, significand: u64) -> [u8; 16] {
        format.assemble(negative, field, u128::from(significand) << (format.precision - 64))
    }

    #[test]
    fn doubles_are_written_and_read_back() {
        for value in [
            0.0,
            -0.0,
            1.0,
            -1.5,
            std::f64::consts::PI,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::from_bits(0x000f_ffff_ffff_ffff),
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            for format in FORMATS {
                let raw = format.encode_f64(value);
                assert_eq!(format.to_f64(&raw).to_bits(), value.to_bits(), "{value:e} in {format:?}");
                assert!(format.are_equal(&raw, &raw));
            }
        }
        for format in FORMATS {
            let nan = format.encode_f64(f64::NAN);
            assert!(format.to_f64(&nan).is_nan() && !format.are_equal(&nan, &nan));
            assert!(format.are_equal(&format.encode_f64(0.0), &format.encode_f64(-0.0)));
            assert!(!format.are_equal(&format.encode_f64(1.5), &format.encode_f64(-1.5)));
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_processor() {
        // 1.0L and -2.5L, as gcc writes them for x86 and for ARM.
        assert_eq!(EXTENDED.encode_f64(1.0)[..10], [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
        assert_eq!(EXTENDED.encode_f64(-2.5)[..10], [0, 0, 0, 0, 0, 0, 0, 0xa0, 0x00, 0xc0]);
        assert_eq!(QUAD.encode_f64(1.0)[10..], [0, 0, 0, 0, 0xff, 0x3f]);
        assert_eq!(QUAD.encode_f64(-2.5)[10..], [0, 0, 0, 0x40, 0x00, 0xc0]);
        for format in FORMATS {
            assert_eq!(format.encode_int(1), format.encode_f64(1.0));
            assert_eq!(format.encode_int(0), format.encode_f64(0.0));
            assert_eq!(format.to_f64(&format.encode_int(i128::from(u64::MAX))), 2_f64.powi(64));
            assert_eq!(format.encode_int(i128::from(i64::MIN)), format.encode_f64(-(2_f64.powi(63))));
        }
    }

    #[test]
    fn integers_come_back_exactly_and_fractions_are_none() {
        for format in FORMATS {
            for number in
                [0, 1, -1, 3, i128::from(i64::MIN), u64::MAX.into(), -i128::from(u64::MAX), 1 << 53 | 1]
            {
                assert_eq!(format.to_int(&format.encode_int(number)), Some(number));
            }
            for value in [0.5, -1.5, 2_f64.powi(64), 1e300, 1e-300, f64::INFINITY, f64::NAN] {
                assert_eq!(format.to_int(&format.encode_f64(value)), None, "{value}");
            }
            assert_eq!(format.to_int(&format.encode_f64(-0.0)), Some(0));
        }
    }

    #[test]
    fn encodings_without_their_leading_one_are_not_numbers() {
        let one = EXPONENT_BIAS as u128;
        // Unnormals, a pseudo-infinity and a pseudo-NaN.
        for (field, significand) in [(one, 0), (one, 1 << 62), (1, 5), (SPECIAL, 0), (SPECIAL, 1 << 62)] {
            let raw = of(EXTENDED, true, field, significand);
            assert!(EXTENDED.to_f64(&raw).is_nan() && !EXTENDED.are_equal(&raw, &raw));
            assert_eq!(EXTENDED.to_int(&raw), None);
        }
        // A pseudo-denormal is the number that its exponent of 1 would make.
        let (denormal, normal) = (of(EXTENDED, false, 0, 1 << 63), of(EXTENDED, false, 1, 1 << 63));
        assert!(EXTENDED.are_equal(&denormal, &normal));
        // Binary128 does not write a leading one.
        assert!(QUAD.are_equal(&of(QUAD, false, one, 1 << 63), &QUAD.encode_f64(1.0)));
    }

    #[test]
    fn parts_become_the_number_that_they_are() {
        for format in FORMATS {
            let leading_one = 1 << (format.precision() - 1);
            let one = format.encode_f64(1.0);
            let exponent = 1 - i64::from(format.precision());
            assert_eq!(format.encode(false, leading_one, exponent), Some(one));
            // The power of two above all significands.
            assert_eq!(format.encode(false, leading_one << 1, exponent - 1), Some(one));
            let lowest = i64::from(format.lowest());
            let subnormal = format.encode(true, 1, lowest).unwrap();
            assert_eq!(
                (u128::from_le_bytes(subnormal) << (112 - format.stored)) << 1,
                1 << (113 - format.stored)
            );
            assert_eq!(format.encode(false, leading_one, 16_384 + exponent), None);
            let largest = format.encode(false, (leading_one << 1) - 1, 16_383 + exponent);
            assert_eq!(format.to_f64(&largest.unwrap()), f64::INFINITY);
        }
    }

    #[test]
    fn what_becomes_narrower_than_a_double_is_rounded_once() {
        let one = EXPONENT_BIAS as u128;
        for format in FORMATS {
            // 1 + 2^-24 is a tie between floats, and the extra bit makes it round up; a double
            // would lose that bit.
            let above = of(format, true, one, 0x8000_0080_0000_0001);
            assert_eq!(format.to_f64(&above) as f32, -1.0);
            assert_eq!(format.to_odd(&above).unwrap() as f32, -(1.0_f32.next_up()));
            let below = of(format, false, one, 0x8000_0080_0000_0000 - 1);
            assert_eq!(format.to_odd(&below).unwrap() as f32, 1.0);
            for exact in [0.0, -0.0, 1.5, f64::MAX, f64::INFINITY] {
                assert_eq!(format.to_odd(&format.encode_f64(exact)).unwrap().to_bits(), exact.to_bits());
            }
            let large = of(format, false, SPECIAL - 1, u64::MAX);
            assert_eq!((format.to_odd(&large), format.fits_f64(&large)), (None, None));
        }
    }

    #[test]
    fn what_a_double_cannot_hold_is_rounded_once() {
        let one = EXPONENT_BIAS as u128;
        for format in FORMATS {
            let read = |field, significand| format.to_f64(&of(format, false, field, significand));
            // 1 + 2^-53 is a tie and goes to the even 1; a bit more goes up; 1 + 3 * 2^-53 is a tie
            // and goes up.
            assert_eq!(read(one, 0x8000_0000_0000_0400), 1.0);
            assert_eq!(read(one, 0x8000_0000_0000_0401), 1.0_f64.next_up());
            assert_eq!(read(one, 0x8000_0000_0000_0c00), 1.0_f64.next_up().next_up());
            assert_eq!(read(one, u64::MAX), 2.0);
            assert_eq!(read(SPECIAL - 1, u64::MAX), f64::INFINITY);
            assert_eq!(read(one + 1023, u64::MAX), f64::INFINITY);
            // Half of the smallest double is a tie; anything above it is not.
            assert_eq!(read(one - 1075, 0x8000_0000_0000_0000), 0.0);
            assert_eq!(read(one - 1075, 0x8000_0000_0000_0001), f64::from_bits(1));
            assert_eq!(read(one - 1076, u64::MAX), 0.0);
            assert_eq!(read(1, u64::MAX), 0.0);
            assert_eq!(read(0, 1), 0.0);
            assert_eq!(read(0, 0), 0.0);
        }
        // The last bit of binary128.
        let tie = 1 << 112 | 1 << 59;
        assert_eq!(QUAD.to_f64(&QUAD.assemble(false, one, tie)), 1.0);
        assert_eq!(QUAD.to_f64(&QUAD.assemble(false, one, tie | 1)), 1.0_f64.next_up());
    }
}
