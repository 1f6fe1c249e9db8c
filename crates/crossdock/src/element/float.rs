//! Floats narrower than 32 bits: one decoder and one encoder for all of their formats.
//!
//! Every one of them is a sign, some exponent bits and some mantissa bits; they differ in the bias
//! and in the meaning of the extreme patterns. All their values are exact in an `f64`, and decoding
//! is exact. Encoding rounds once, to the nearest, ties to the even pattern.

use crate::element::ScalarKind;

/// A float format of at most 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatFormat {
    exponent_bits: u32,
    mantissa_bits: u32,
    /// The bias of the exponent field of normal numbers.
    bias: i32,
    flavour: Flavour,
}

/// The meaning of the extreme patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// The highest exponent is infinity, and NaN with any mantissa.
    Ieee,
    /// No infinity; all ones, of either sign, is NaN. (`fn`)
    FiniteNan,
    /// Neither infinity nor NaN. (`fn`, below 8 bits)
    Finite,
    /// No infinity, no negative zero; the pattern of negative zero is NaN. (`fnuz`)
    NanIsNegativeZero,
    /// No sign, no zero, no infinity: the field is an exponent, all ones is NaN. (`e8m0fnu`)
    PowerOfTwo,
}

impl FloatFormat {
    const fn new(exponent_bits: u32, mantissa_bits: u32, bias: i32, flavour: Flavour) -> Self {
        Self { exponent_bits, mantissa_bits, bias, flavour }
    }

    /// The format of a kind that is a float of at most 16 bits.
    pub(crate) const fn of(kind: ScalarKind) -> Option<Self> {
        use Flavour::{Finite, FiniteNan, Ieee, NanIsNegativeZero, PowerOfTwo};
        Some(match kind {
            ScalarKind::Float16 => Self::new(5, 10, 15, Ieee),
            ScalarKind::BFloat16 => Self::new(8, 7, 127, Ieee),
            ScalarKind::Float8E3M4 => Self::new(3, 4, 3, Ieee),
            ScalarKind::Float8E4M3 => Self::new(4, 3, 7, Ieee),
            ScalarKind::Float8E4M3B11Fnuz => Self::new(4, 3, 11, NanIsNegativeZero),
            ScalarKind::Float8E4M3Fn => Self::new(4, 3, 7, FiniteNan),
            ScalarKind::Float8E4M3Fnuz => Self::new(4, 3, 8, NanIsNegativeZero),
            ScalarKind::Float8E5M2 => Self::new(5, 2, 15, Ieee),
            ScalarKind::Float8E5M2Fnuz => Self::new(5, 2, 16, NanIsNegativeZero),
            ScalarKind::Float8E8M0Fnu => Self::new(8, 0, 127, PowerOfTwo),
            ScalarKind::Float6E2M3Fn => Self::new(2, 3, 1, Finite),
            ScalarKind::Float6E3M2Fn => Self::new(3, 2, 3, Finite),
            ScalarKind::Float4E2M1Fn => Self::new(2, 1, 1, Finite),
            _ => return None,
        })
    }

    pub(crate) const fn mantissa_bits(self) -> u32 {
        self.mantissa_bits
    }

    pub(crate) const fn bias(self) -> i32 {
        self.bias
    }

    pub(crate) const fn flavour(self) -> Flavour {
        self.flavour
    }

    /// The sign bit, which is also the number of patterns without a sign.
    pub(crate) const fn sign(self) -> u16 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// The pattern of the largest finite magnitude.
    pub(crate) const fn max_finite(self) -> u16 {
        let ones = self.sign() - 1;
        match self.flavour {
            Flavour::Ieee => ones - (1 << self.mantissa_bits),
            Flavour::FiniteNan | Flavour::PowerOfTwo => ones - 1,
            Flavour::Finite | Flavour::NanIsNegativeZero => ones,
        }
    }

    /// The pattern of NaN; `None` if the format has no NaN.
    pub(crate) const fn nan(self) -> Option<u16> {
        let ones = self.sign() - 1;
        match self.flavour {
            // Infinity with the highest bit of the mantissa: a quiet NaN.
            Flavour::Ieee => Some(self.max_finite() + 1 + (1 << (self.mantissa_bits - 1))),
            Flavour::FiniteNan | Flavour::PowerOfTwo => Some(ones),
            Flavour::NanIsNegativeZero => Some(self.sign()),
            Flavour::Finite => None,
        }
    }

    /// The value of a pattern, exactly. Bits above the format's width are ignored; a NaN's payload
    /// is not kept.
    pub(crate) fn decode(self, bits: u16) -> f64 {
        let magnitude = bits & (self.sign() - 1);
        let negative = self.flavour != Flavour::PowerOfTwo && bits & self.sign() != 0;
        let value = if magnitude > self.max_finite() {
            let infinite = self.flavour == Flavour::Ieee && magnitude == self.max_finite() + 1;
            if infinite { f64::INFINITY } else { f64::NAN }
        } else if negative && magnitude == 0 && self.flavour == Flavour::NanIsNegativeZero {
            f64::NAN
        } else {
            let field = i32::from(magnitude >> self.mantissa_bits);
            let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
            let (significand, exponent) = if self.flavour == Flavour::PowerOfTwo {
                (1, field)
            } else if field == 0 {
                (mantissa, 1)
            } else {
                (mantissa | (1 << self.mantissa_bits), field)
            };
            f64::from(significand) * power_of_two(exponent - self.bias - self.mantissa_bits as i32)
        };
        if negative { -value } else { value }
    }

    /// The pattern nearest to a value, ties to the even pattern.
    ///
    /// Too large values become infinity if the format has it, else NaN if it has it, else the
    /// largest finite value. NaN becomes negative zero if there is no NaN. A power of two has no
    /// sign and no zero: negative values are NaN, zero becomes the smallest power.
    /// [`fits`](Self::fits) tests a value beforehand.
    pub(crate) fn encode(self, value: f64) -> u16 {
        let negative = value.is_sign_negative();
        let unsigned = self.flavour == Flavour::PowerOfTwo;
        if value.is_nan() || unsigned && negative && value != 0.0 {
            return self.nan().unwrap_or(self.sign());
        }
        let magnitude = self.round(value.abs());
        let sign = if negative && !unsigned { self.sign() } else { 0 };
        if magnitude > self.max_finite() {
            return match (self.flavour, self.nan()) {
                (Flavour::Ieee, _) => self.max_finite() + 1 + sign,
                (Flavour::FiniteNan, Some(nan)) => nan + sign,
                (_, Some(nan)) => nan,
                (_, None) => self.max_finite() + sign,
            };
        }
        if magnitude == 0 && self.flavour == Flavour::NanIsNegativeZero { 0 } else { magnitude + sign }
    }

    /// Whether the format represents this value, with rounding. It does not represent infinities,
    /// NaN, signs and zeros that it lacks, or magnitudes that round beyond the largest finite one.
    pub(crate) fn fits(self, value: f64) -> bool {
        if value.is_nan() {
            return self.nan().is_some();
        }
        if value.is_infinite() {
            return self.flavour == Flavour::Ieee;
        }
        let representable = self.flavour != Flavour::PowerOfTwo || value > 0.0;
        representable && self.round(value.abs()) <= self.max_finite()
    }

    /// The pattern of a magnitude as if the exponent field were one bit wider: above `max_finite`
    /// is too large.
    fn round(self, value: f64) -> u16 {
        let too_large = self.sign();
        if value.is_infinite() {
            return too_large;
        }
        // value = significand * 2^exponent. Subnormal doubles are far below half of the smallest
        // value of any format.
        let bits = value.to_bits();
        let significand = u128::from((bits & ((1 << 52) - 1)) | (1 << 52));
        let exponent = (bits >> 52) as i32 - 1075;
        let lowest = 1 - self.bias - i32::from(self.flavour == Flavour::PowerOfTwo);
        let binade = exponent + 52;
        if binade > self.bias + 2 {
            return too_large;
        }
        // The last bit that is kept counts 2^quantum.
        let quantum = binade.max(lowest) - self.mantissa_bits as i32;
        let dropped = quantum - exponent;
        let kept = if dropped > 54 { 0 } else { shift_to_even(significand, dropped as u32) };
        // The leading one of a normal significand adds 1 to the exponent field, and so does a
        // carry.
        let below = (binade.max(lowest) - lowest) as u16;
        if self.flavour == Flavour::PowerOfTwo {
            return (below + kept as u16).saturating_sub(1);
        }
        (below << self.mantissa_bits) + kept as u16
    }
}

/// `value / 2^shift`, rounded to the nearest, ties to even. `shift` is 1 to 127.
pub(super) fn shift_to_even(value: u128, shift: u32) -> u128 {
    let (kept, dropped, half) = (value >> shift, value & ((1 << shift) - 1), 1 << (shift - 1));
    kept + u128::from(dropped > half || (dropped == half && kept & 1 == 1))
}

/// 2^exponent, for exponents of normal doubles.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ScalarKind; 13] = [
        ScalarKind::Float16,
        ScalarKind::BFloat16,
        ScalarKind::Float8E3M4,
        ScalarKind::Float8E4M3,
        ScalarKind::Float8E4M3B11Fnuz,
        ScalarKind::Float8E4M3Fn,
        ScalarKind::Float8E4M3Fnuz,
        ScalarKind::Float8E5M2,
        ScalarKind::Float8E5M2Fnuz,
        ScalarKind::Float8E8M0Fnu,
        ScalarKind::Float6E2M3Fn,
        ScalarKind::Float6E3M2Fn,
        ScalarKind::Float4E2M1Fn,
    ];

    fn format(kind: ScalarKind) -> FloatFormat {
        FloatFormat::of(kind).unwrap()
    }

    /// Every pattern of a format.
    fn patterns(kind: ScalarKind) -> std::ops::RangeInclusive<u16> {
        let signed = kind != ScalarKind::Float8E8M0Fnu;
        0..=(format(kind).sign() - 1) | if signed { format(kind).sign() } else { 0 }
    }

    #[test]
    fn every_pattern_is_read_and_written_back() {
        for kind in KINDS {
            let mut nans = 0;
            for bits in patterns(kind) {
                let value = format(kind).decode(bits);
                if value.is_nan() {
                    nans += 1;
                    let again = format(kind).decode(format(kind).encode(value));
                    assert!(again.is_nan(), "{kind} {bits:#x}");
                } else {
                    assert_eq!(format(kind).encode(value), bits, "{kind} {bits:#x} = {value:e}");
                }
                assert!(format(kind).fits(value), "{kind} {bits:#x} = {value:e}");
            }
            let expected = match kind {
                ScalarKind::Float16 => 2046,
                ScalarKind::BFloat16 => 254,
                ScalarKind::Float8E3M4 => 30,
                ScalarKind::Float8E4M3 => 14,
                ScalarKind::Float8E5M2 => 6,
                ScalarKind::Float8E4M3Fn => 2,
                ScalarKind::Float6E2M3Fn | ScalarKind::Float6E3M2Fn | ScalarKind::Float4E2M1Fn => 0,
                _ => 1,
            };
            assert_eq!(nans, expected, "{kind}");
        }
    }

    #[test]
    fn between_two_neighbours_the_nearer_wins_and_ties_are_even() {
        for kind in KINDS {
            for bits in 0..format(kind).max_finite() {
                let (low, high) = (format(kind).decode(bits), format(kind).decode(bits + 1));
                assert!(low < high, "{kind} {bits:#x}");
                let middle = low + (high - low) / 2.0;
                // A power of two has no mantissa whose last bit could be even: a tie goes up.
                let up = kind == ScalarKind::Float8E8M0Fnu || bits % 2 == 1;
                let even = if up { bits + 1 } else { bits };
                assert_eq!(format(kind).encode(middle), even, "{kind}: {middle:e}");
                assert_eq!(format(kind).encode(middle.next_down()), bits, "{kind}: below {middle:e}");
                assert_eq!(format(kind).encode(middle.next_up()), bits + 1, "{kind}: above {middle:e}");
                if kind != ScalarKind::Float8E8M0Fnu && even != 0 {
                    assert_eq!(
                        format(kind).encode(-middle),
                        even | format(kind).sign(),
                        "{kind}: -{middle:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn bfloat16_is_the_upper_half_of_a_binary32() {
        for bits in 0..=u16::MAX {
            let value = f64::from(f32::from_bits(u32::from(bits) << 16));
            let decoded = format(ScalarKind::BFloat16).decode(bits);
            assert!(decoded.to_bits() == value.to_bits() || decoded.is_nan() && value.is_nan(), "{bits:#x}");
        }
    }

    #[test]
    fn known_values_are_read() {
        for (kind, bits, value) in [
            (ScalarKind::Float16, 0x3c00, 1.0),
            (ScalarKind::Float16, 0x7bff, 65504.0),
            (ScalarKind::Float16, 0x0001, 5.960_464_477_539_063e-8),
            (ScalarKind::Float16, 0x3555, 0.333_251_953_125),
            (ScalarKind::Float16, 0xfc00, f64::NEG_INFINITY),
            (ScalarKind::Float8E4M3Fn, 0x7e, 448.0),
            (ScalarKind::Float8E4M3, 0x77, 240.0),
            (ScalarKind::Float8E4M3, 0x78, f64::INFINITY),
            (ScalarKind::Float8E4M3Fnuz, 0x7f, 240.0),
            (ScalarKind::Float8E4M3B11Fnuz, 0x7f, 30.0),
            (ScalarKind::Float8E5M2, 0x7b, 57344.0),
            (ScalarKind::Float8E5M2Fnuz, 0x7f, 57344.0),
            (ScalarKind::Float8E3M4, 0x6f, 15.5),
            (ScalarKind::Float8E8M0Fnu, 0x7f, 1.0),
            (ScalarKind::Float8E8M0Fnu, 0x00, 5.877_471_754_111_438e-39),
            (ScalarKind::Float6E2M3Fn, 0x1f, 7.5),
            (ScalarKind::Float6E3M2Fn, 0x1f, 28.0),
            (ScalarKind::Float4E2M1Fn, 0x7, 6.0),
            (ScalarKind::Float4E2M1Fn, 0x9, -0.5),
        ] {
            assert_eq!(format(kind).decode(bits), value, "{kind} {bits:#x}");
        }
    }

    #[test]
    fn what_is_too_large_becomes_what_the_format_has_for_it() {
        // Results of ml_dtypes 0.6.0.
        for (kind, values) in [
            (
                ScalarKind::Float8E4M3Fn,
                [(464.0, 0x7e), (465.0, 0x7f), (f64::INFINITY, 0x7f), (f64::NEG_INFINITY, 0xff)],
            ),
            (
                ScalarKind::Float8E4M3Fnuz,
                [(240.0, 0x7f), (248.0, 0x80), (f64::INFINITY, 0x80), (-1e-9, 0x00)],
            ),
            (ScalarKind::Float8E4M3, [(248.0, 0x78), (247.0, 0x77), (-1e9, 0xf8), (-1e-9, 0x80)]),
            (ScalarKind::Float4E2M1Fn, [(1e9, 0x7), (-1e9, 0xf), (f64::NEG_INFINITY, 0xf), (f64::NAN, 0x8)]),
            (ScalarKind::Float8E8M0Fnu, [(0.0, 0x00), (-1.0, 0xff), (6.0, 0x82), (f64::INFINITY, 0xff)]),
            (
                ScalarKind::Float16,
                [(65519.0, 0x7bff), (65520.0, 0x7c00), (f64::MAX, 0x7c00), (f64::MIN, 0xfc00)],
            ),
        ] {
            for (value, bits) in values {
                assert_eq!(format(kind).encode(value), bits, "{kind} {value}");
            }
        }
    }

    #[test]
    fn fits_refuses_what_the_format_cannot_say() {
        for kind in KINDS {
            assert!(!format(kind).fits(f64::MAX), "{kind}");
            let powers = kind == ScalarKind::Float8E8M0Fnu;
            for value in [0.0, -1.0] {
                assert_eq!(format(kind).fits(value), !powers, "{kind} {value}");
            }
            let infinite = matches!(format(kind).flavour, Flavour::Ieee);
            assert_eq!(format(kind).fits(f64::INFINITY), infinite, "{kind}");
        }
        assert!(!format(ScalarKind::Float4E2M1Fn).fits(f64::NAN));
        assert!(format(ScalarKind::Float4E2M1Fn).fits(6.9));
        assert!(!format(ScalarKind::Float16).fits(65520.0));
        assert!(format(ScalarKind::Float16).fits(65519.0));
    }
}
