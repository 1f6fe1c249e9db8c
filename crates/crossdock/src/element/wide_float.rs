//! Floats with the precision of a double and an exponent without limits.

use std::cmp::Ordering;
use std::fmt;

use crate::element::long_digits;

/// A number that is not negative: 53 bits times any power of two. No operation overflows or
/// underflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WideFloat {
    /// From 1 up to 2, or 0.
    fraction: f64,
    /// The power of two; 0 for 0.
    exponent: i32,
}

/// 2^exponent, for exponents of normal doubles.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl WideFloat {
    /// Zero.
    pub const ZERO: Self = Self { fraction: 0.0, exponent: 0 };

    /// `significand * 2^exponent`, rounded to the nearest.
    pub(crate) fn new(significand: u128, exponent: i32) -> Self {
        Self::normal(significand as f64, exponent)
    }

    /// `number * 2^exponent` for a normal double that is not negative, or zero.
    fn normal(number: f64, exponent: i32) -> Self {
        if number == 0.0 {
            return Self::ZERO;
        }
        let own = (number.to_bits() >> 52) as i32 - 1023;
        let fraction = f64::from_bits(number.to_bits() & ((1 << 52) - 1) | 1023 << 52);
        Self { fraction, exponent: exponent + own }
    }

    /// A double that is finite and not negative.
    pub fn from_f64(number: f64) -> Self {
        match number.is_normal() {
            true => Self::normal(number, 0),
            false => Self::normal(number * power_of_two(64), -64),
        }
    }

    /// The nearest double, 0 and infinity included.
    pub fn to_f64(self) -> f64 {
        match self.exponent {
            1024.. => f64::INFINITY,
            -1022.. => self.fraction * power_of_two(self.exponent),
            // The one multiplication that rounds is the last.
            -1100.. => self.fraction * power_of_two(self.exponent + 200) * power_of_two(-200),
            _ => 0.0,
        }
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        let (large, small) = if self < other { (other, self) } else { (self, other) };
        Self::normal(large.fraction + small.at(large.exponent), large.exponent)
    }

    /// The product.
    pub fn times(self, other: Self) -> Self {
        Self::normal(self.fraction * other.fraction, self.exponent.saturating_add(other.exponent))
    }

    /// The hypotenuse over two sides.
    pub fn hypot(self, other: Self) -> Self {
        let (large, small) = if self < other { (other, self) } else { (self, other) };
        if small == Self::ZERO {
            return large;
        }
        Self::normal(large.fraction.hypot(small.at(large.exponent)), large.exponent)
    }

    /// This number divided by another one as a double; `None` if that one is zero.
    pub fn ratio(self, other: Self) -> Option<f64> {
        if other == Self::ZERO {
            return None;
        }
        let quotient = Self::normal(self.fraction / other.fraction, self.exponent - other.exponent);
        Some(if self == Self::ZERO { 0.0 } else { quotient.to_f64() })
    }

    /// An integer of at most 53 bits, and the power of two by which it is multiplied.
    pub(super) fn parts(self) -> (u128, i32) {
        ((self.fraction * power_of_two(52)) as u128, self.exponent - 52)
    }

    /// The number divided by a power of two that is not less than it: from 0 up to 2.
    fn at(self, exponent: i32) -> f64 {
        match self.exponent - exponent {
            _ if self == Self::ZERO => 0.0,
            down @ -1022.. => self.fraction * power_of_two(down),
            _ => 0.0,
        }
    }
}

impl PartialOrd for WideFloat {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let key = |number: &Self| (number.fraction > 0.0).then_some(number.exponent);
        match key(self).cmp(&key(other)) {
            Ordering::Equal => self.fraction.partial_cmp(&other.fraction),
            order => Some(order),
        }
    }
}

/// With as many digits after the point as the format requests, and 6 unless it does: `1.5e4000`.
impl fmt::LowerExp for WideFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bits, exponent) = self.parts();
        let (significand, exponent) = long_digits::rounded(bits, exponent, f.precision().unwrap_or(6));
        write!(f, "{}e{exponent}", significand.trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_doubles_are_those_of_doubles() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..5000 {
            let mut number = || f64::from_bits(rng.u64(..0x7ff0_0000_0000_0000));
            let (a, b) = (number(), number());
            let (one, two) = (WideFloat::from_f64(a), WideFloat::from_f64(b));
            assert_eq!((one.to_f64(), one < two), (a, a < b));
            if (a + b).is_finite() {
                assert_eq!(one.plus(two).to_f64(), a + b);
            }
            let (product, ratio) = (a * b, a / b);
            if product == 0.0 || !product.is_subnormal() {
                assert_eq!(one.times(two).to_f64(), product, "{a:e} {b:e}");
            }
            if ratio == 0.0 || !ratio.is_subnormal() {
                assert_eq!(one.ratio(two), Some(ratio), "{a:e} {b:e}");
            }
        }
        assert_eq!(WideFloat::from_f64(3e-5).hypot(WideFloat::from_f64(4e-5)).to_f64(), 5e-5);
        assert_eq!(WideFloat::from_f64(1.0).ratio(WideFloat::ZERO), None);
    }

    #[test]
    fn exponents_go_beyond_those_of_doubles() {
        let huge = WideFloat::new(3, 16_000);
        assert_eq!(huge.to_f64(), f64::INFINITY);
        assert_eq!(huge.times(WideFloat::new(1, -16_000)).to_f64(), 3.0);
        assert_eq!(huge.plus(WideFloat::from_f64(1.0)), huge);
        assert_eq!(huge.hypot(WideFloat::new(4, 16_000)), WideFloat::new(5, 16_000));
        assert_eq!(format!("{:.4e} {:.0e}", WideFloat::new(1, 13_287), WideFloat::ZERO), "6.1031e3999 0e0");
        assert!(WideFloat::new(1, -16_000) > WideFloat::ZERO && WideFloat::new(1, -16_000).to_f64() == 0.0);
    }
}
