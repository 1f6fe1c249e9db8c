//! Numbers of any type, real or complex: whether they are equal, and how far apart they are.

use crate::element::exact::ExactReal;
use crate::element::wide_float::WideFloat;
use crate::element::{Value, long_double};

/// A number of any type, real or complex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactNumber {
    re: ExactReal,
    im: ExactReal,
}

impl ExactNumber {
    /// A number or a truth value (0 or 1); `None` for other values.
    pub fn of(value: &Value) -> Option<Self> {
        let real = |re| Self { re, im: ExactReal::ZERO };
        Some(match value {
            Value::Bool(truth) => real(ExactReal::integer(i128::from(*truth))),
            Value::Int(number) => real(ExactReal::integer((*number).into())),
            Value::UInt(number) => real(ExactReal::integer((*number).into())),
            Value::Float(number) => real((*number).into()),
            Value::Complex { re, im } => Self { re: (*re).into(), im: (*im).into() },
            Value::LongDouble(raw) => real(long_double::NATIVE.exact(raw)),
            Value::ComplexLongDouble(parts) => {
                let [re, im] = parts.each_ref().map(|raw| long_double::NATIVE.exact(raw));
                Self { re, im }
            }
            _ => return None,
        })
    }

    /// The real part.
    pub fn real(self) -> ExactReal {
        self.re
    }

    /// Whether any part is NaN.
    pub fn is_nan(self) -> bool {
        self.re.is_nan() || self.im.is_nan()
    }

    fn is_infinite(self) -> bool {
        self.re.is_infinite() || self.im.is_infinite()
    }

    /// The absolute value, rounded to about 53 bits; `None` if it is not finite.
    pub fn size(self) -> Option<WideFloat> {
        Some(self.re.size()?.hypot(self.im.size()?))
    }

    /// The absolute value of the difference, rounded to about 53 bits. Equal infinite parts are no
    /// distance apart; `None` for other numbers that are not finite.
    pub fn distance(self, other: Self) -> Option<WideFloat> {
        Some(self.re.distance(other.re)?.hypot(self.im.distance(other.im)?))
    }

    /// Whether two numbers are equal or close, by the formula of NumPy's `isclose`:
    /// `|self - other| <= atol + rtol * |other|`. It is exact for real numbers; the absolute values
    /// of complex ones are rounded to about 53 bits. `rtol` and `atol` are not negative.
    pub fn is_close(self, other: Self, rtol: f64, atol: f64, equal_nan: bool) -> bool {
        if self.is_nan() || other.is_nan() {
            return self.is_nan() && other.is_nan() && equal_nan;
        }
        if self == other || other.is_infinite() {
            return self == other;
        }
        let has_size = !(other.re.is_zero() && other.im.is_zero());
        if atol.is_infinite() || rtol.is_infinite() {
            return if rtol.is_infinite() { has_size } else { true };
        }
        if self.is_infinite() {
            return false;
        }
        let (Some(distance), Some(size)) = (self.distance(other), other.size()) else { return false };
        let limit = WideFloat::from_f64(atol).plus(WideFloat::from_f64(rtol).times(size));
        // Rounding decides only between numbers that are nearly equal.
        let is_near = distance.ratio(limit).is_some_and(|ratio| (ratio - 1.0).abs() < 1e-9);
        if is_near && self.im.is_zero() && other.im.is_zero() {
            return self.re.is_within(other.re, rtol, atol);
        }
        distance <= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::big::BigNatural;

    fn real(significand: i128, exponent: i32) -> ExactNumber {
        let negative = significand < 0;
        let re = ExactReal::Finite { negative, significand: significand.unsigned_abs(), exponent };
        ExactNumber { re, im: ExactReal::ZERO }
    }

    /// A long double of x86 with the exponent field and significand.
    fn long(number: f64, lowest_bits: u64) -> ExactReal {
        match ExactReal::from(number) {
            ExactReal::Finite { negative, significand, exponent } => ExactReal::Finite {
                negative,
                significand: (significand << 11) + u128::from(lowest_bits),
                exponent: exponent - 11,
            },
            other => other,
        }
    }

    #[test]
    fn numbers_are_equal_whatever_their_types() {
        let of = |value: &Value| ExactNumber::of(value).unwrap();
        let raw = |value: f64| long_double::NATIVE.encode_f64(value);
        let one = of(&Value::LongDouble(raw(1.0)));
        let complex = |im: f64| of(&Value::ComplexLongDouble(Box::new([raw(1.0), raw(im)])));
        for same in [of(&1.0.into()), of(&1.into()), of(&1u8.into()), of(&true.into()), complex(-0.0)] {
            assert_eq!(one, same);
        }
        let zeros = [of(&(-0.0).into()), of(&0.into()), of(&Value::LongDouble(raw(-0.0)))];
        assert!(zeros.iter().all(|&zero| zero == zeros[0]));
        let infinity = of(&Value::LongDouble(raw(f64::INFINITY)));
        assert!(infinity == of(&f64::INFINITY.into()) && infinity != of(&f64::NEG_INFINITY.into()));
        let nan = of(&Value::LongDouble(raw(f64::NAN)));
        assert!(nan != nan && nan != of(&f64::NAN.into()) && one != complex(1.0) && one != nan);
        assert_ne!(long(1.0, 1), ExactReal::from(1.0));
        let large = long_double::NATIVE.encode_int((1 << 63) + 1);
        assert_eq!(of(&Value::LongDouble(large)), of(&Value::UInt((1 << 63) + 1)));
        assert_ne!(of(&Value::LongDouble(large)), of(&Value::Float(2_f64.powi(63))));
        assert!(ExactNumber::of(&"1".into()).is_none());
    }

    #[test]
    fn small_numbers_are_ordered_and_close_as_integers_are_at_every_scale() {
        let mut rng = fastrand::Rng::with_seed(11);
        let (mut near, mut ties) = (0, 0);
        for _ in 0..20_000 {
            // All in units of 2^-20, so that `i128` holds every product.
            let mut number = |bits: u32| i128::from(rng.i64(..) >> (64 - bits));
            let a = number(50);
            let b = if number(2) == 0 { number(50) } else { a + number(14) };
            // Where the share of the relative tolerance is whole, a sum may meet the distance.
            let b = if number(1) == 0 { b & !1023 } else { b };
            let relative = number(9).abs();
            let absolute = match number(2) {
                0 => ((a - b).abs() - ((relative * b.abs()) >> 10)).max(0),
                _ => number(14).abs(),
            };
            let scale = rng.i32(-16_000..16_000);
            let (one, other) = (real(a << 20, scale), real(b, scale + 20));
            assert_eq!(one.re.partial_cmp(&other.re), Some(a.cmp(&b)));
            let distance = one.distance(other).unwrap();
            assert_eq!(distance, WideFloat::new((a - b).unsigned_abs(), scale + 20));
            let rtol = relative as f64 / 1024.0;
            // A tolerance is a double, and not of every scale.
            let (one, other, unit) = match rng.bool() {
                true => (real(a, -40), real(b, -40), 2_f64.powi(-40)),
                false => (real(a, 600), real(b, 600), 2_f64.powi(600)),
            };
            let limit = absolute * 1024 + relative * b.abs();
            let expected = (a - b).abs() * 1024 <= limit;
            let atol = absolute as f64 * unit;
            assert_eq!(one.is_close(other, rtol, atol, false), expected, "{a} {b} {absolute} {relative}");
            near += usize::from(expected);
            ties += usize::from((a - b).abs() * 1024 == limit);
        }
        assert!((2000..18_000).contains(&near) && ties > 100, "{near} {ties}");
    }

    #[test]
    fn closeness_does_not_round_to_doubles() {
        let within = |a: ExactNumber, b: ExactNumber, rtol, atol| a.is_close(b, rtol, atol, false);
        let decimal = |digits: i128, exponent: i32| real(digits, exponent);
        // About 1e4000 and twice that, and the same below all doubles.
        for exponent in [13_287, -13_287] {
            let (one, two) = (decimal(1, exponent), decimal(2, exponent));
            assert!(!within(one, two, 1e-3, 0.0) && within(one, two, 0.5, 0.0));
            assert!(!within(one, two, 0.499_999_999_999_999_9, 0.0));
        }
        // A tolerance far below or above them decides, too.
        assert!(within(real(1, -16_000), real(2, -16_000), 0.0, f64::from_bits(1)));
        assert!(!within(real(1, 16_000), real(2, 16_000), 0.0, f64::MAX));
        assert!(!within(real((1 << 60) + 1, -60), real(1, 0), 0.0, 0.0));
        assert!(within(real((1 << 60) + 1, -60), real(1, 0), 0.0, 2_f64.powi(-60)));
        assert!(!within(real((1 << 63) + 1, 0), real((1 << 63) + 2, 0), 0.0, 0.5));
        assert!(within(real((1 << 63) + 1, 0), real((1 << 63) + 2, 0), 0.0, 1.0));
        // A bit that a double loses decides.
        assert!(!within(real((1 << 110) + 1, -110), real(0, 0), 0.0, 1.0));
        assert!(within(real((1 << 110) - 1, -110), real(0, 0), 0.0, 1.0));
        // Bits that lie far apart.
        let (huge, tiny) = (real(1, 16_000), real(1, -16_000));
        assert!(!within(huge, tiny, 1.0, 0.0) && within(tiny, huge, 1.0, 0.0));
        assert!(!within(real(-1, -16_000), huge, 1.0, 0.0) && within(real(0, 0), huge, 1.0, 0.0));
        let infinity = ExactNumber { re: f64::INFINITY.into(), im: ExactReal::ZERO };
        assert!(within(infinity, infinity, 0.0, 0.0) && !within(huge, infinity, 1.0, 1.0));
        assert!(!within(infinity, huge, 1.0, 1.0) && within(infinity, huge, 0.0, f64::INFINITY));
        // Complex numbers of which one part is far below the other.
        let both = |re: ExactNumber, im: ExactNumber| ExactNumber { re: re.re, im: im.re };
        let (a, b) = (both(huge, tiny), both(huge, real(2, -16_000)));
        assert!(a != b && !within(a, b, 0.0, 0.0) && within(a, b, 1e-9, 0.0) && within(a, a, 0.0, 0.0));
        assert_eq!(a.distance(b), Some(WideFloat::new(1, -16_000)));
        let nan = ExactNumber { re: ExactReal::Nan, im: ExactReal::ZERO };
        assert!(nan.is_close(nan, 0.0, 0.0, true) && !nan.is_close(nan, 1.0, 1.0, false));
        assert!(!nan.is_close(huge, 1.0, 1.0, true));
    }

    #[test]
    fn a_distance_is_rounded_once() {
        let mut rng = fastrand::Rng::with_seed(12);
        for _ in 0..5000 {
            let gap = rng.i32(0..126);
            let (a, b) = (rng.u128(1..1 << 113), rng.u128(1..1 << 113));
            let (one, other) = (real(a as i128, gap), real(-(b as i128), 0));
            let sum = BigNatural::shifted(a, gap as u32).add(&BigNatural::shifted(b, 0));
            let found = one.distance(other).unwrap();
            // No double is nearer: twice the error is at most the distance of two doubles.
            let (significand, exponent) = found.parts();
            let near = BigNatural::shifted(significand, (exponent + 200) as u32);
            let mut exact = sum;
            (0..200).for_each(|_| exact.multiply(2));
            let (mut above, below) = if near < exact { (exact, near) } else { (near, exact) };
            above.subtract(&below);
            let half = BigNatural::shifted(1, (exponent + 199) as u32);
            assert!(above <= half, "{a} << {gap} + {b}");
        }
    }
}
