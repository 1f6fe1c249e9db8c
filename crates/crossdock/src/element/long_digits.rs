//! The decimal digits of floats that Rust's standard library does not format, by the algorithm of
//! Steele and White (Dragon4): exact, in integers of any size.

use std::cmp::Ordering;

use crate::element::big::BigNatural;

/// Decimal digits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LongDigits {
    /// At least one digit, unless none were requested.
    pub(super) digits: Vec<u8>,
    /// The power of ten of the first digit.
    pub(super) exponent: i32,
}

/// A number that is not zero as a fraction whose first digit is before the point.
struct Fraction {
    /// The number divided by `10^exponent`.
    numerator: BigNatural,
    denominator: BigNatural,
    exponent: i32,
    /// Half the distance to the next number below, and whether the distance to the next one above
    /// is twice that. In the unit of the numerator.
    margin: BigNatural,
    is_uneven: bool,
}

impl Fraction {
    fn new(significand: u128, exponent: i32, is_uneven: bool) -> Self {
        // One more bit than the significand has holds half of a lowest bit; two, a quarter.
        let spare = 1 + u32::from(is_uneven);
        let up = exponent.max(0).unsigned_abs();
        let mut numerator = BigNatural::shifted(significand, up + spare);
        let mut denominator = BigNatural::shifted(1, exponent.min(0).unsigned_abs() + spare);
        let mut margin = BigNatural::shifted(1, up);
        let highest = 127 - significand.leading_zeros() as i32 + exponent;
        // At most one below the exponent.
        let mut tens = (f64::from(highest) * std::f64::consts::LOG10_2).floor() as i32;
        if tens > 0 {
            denominator.multiply_by_tens(tens.unsigned_abs());
        } else {
            numerator.multiply_by_tens(tens.unsigned_abs());
            margin.multiply_by_tens(tens.unsigned_abs());
        }
        let mut ten = denominator.clone();
        ten.multiply(10);
        if numerator >= ten {
            denominator = ten;
            tens += 1;
        } else if numerator < denominator {
            numerator.multiply(10);
            margin.multiply(10);
            tens -= 1;
        }
        Self { numerator, denominator, exponent: tens, margin, is_uneven }
    }

    /// Takes the digit before the point, and moves the next one there.
    fn digit(&mut self) -> u8 {
        let mut digit = 0;
        while self.numerator >= self.denominator {
            self.numerator.subtract(&self.denominator);
            digit += 1;
        }
        digit
    }

    fn next(&mut self) {
        self.numerator.multiply(10);
        self.margin.multiply(10);
    }

    /// The rest, compared with half of the last digit.
    fn cmp_half(&self) -> Ordering {
        self.numerator.add(&self.numerator).cmp(&self.denominator)
    }
}

impl LongDigits {
    /// The fewest digits that tell `significand * 2^exponent` from its neighbours, the nearest of
    /// those. The neighbour below is half as far away as the one above if `is_uneven`. A tie
    /// between neighbours belongs to the number whose significand is even. The number is not zero.
    pub(super) fn shortest(significand: u128, exponent: i32, is_uneven: bool) -> Self {
        let mut rest = Fraction::new(significand, exponent, is_uneven);
        let owns_ties = significand.is_multiple_of(2);
        let mut digits = Vec::new();
        loop {
            let digit = rest.digit();
            digits.push(digit);
            let below = rest.numerator.cmp(&rest.margin);
            let mut above = rest.numerator.add(&rest.margin);
            if rest.is_uneven {
                above = above.add(&rest.margin);
            }
            let above = rest.denominator.cmp(&above);
            // Whether these digits, or those with the next last digit, identify the number.
            let low = below.is_lt() || owns_ties && below.is_eq();
            let high = above.is_lt() || owns_ties && above.is_eq();
            if low || high {
                let is_up = match (low, high) {
                    (true, false) => false,
                    (false, true) => true,
                    _ => rest.cmp_half().then((digit % 2).cmp(&0)).then(Ordering::Less).is_gt(),
                };
                return Self { digits, exponent: rest.exponent }.rounded(is_up).trimmed();
            }
            rest.next();
        }
    }

    /// `count` digits of `significand * 2^exponent`, rounded, ties to the even digit. The number is
    /// not zero.
    pub(super) fn of_count(significand: u128, exponent: i32, count: usize) -> Self {
        let mut rest = Fraction::new(significand, exponent, false);
        let mut digits = Vec::new();
        for _ in 0..count {
            if !digits.is_empty() {
                rest.next();
            }
            digits.push(rest.digit());
        }
        let half = match digits.last() {
            Some(digit) => rest.cmp_half().then((digit % 2).cmp(&0)).then(Ordering::Less),
            // The digit before the first is 0: the number is compared with 5 at its first place.
            None => {
                let mut five = rest.denominator.clone();
                five.multiply(5);
                rest.numerator.cmp(&five)
            }
        };
        Self { digits, exponent: rest.exponent }.rounded(half.is_gt())
    }

    /// The digits up to `decimals` places after the point, rounded, ties to the even digit; none
    /// where that is 0.
    pub(super) fn of_decimals(significand: u128, exponent: i32, decimals: usize) -> Self {
        let first = Fraction::new(significand, exponent, false).exponent;
        let count = i64::from(first) + 1 + decimals as i64;
        match usize::try_from(count) {
            Ok(count) => Self::of_count(significand, exponent, count),
            Err(_) => Self { digits: Vec::new(), exponent: first },
        }
    }

    /// Adds 1 to the last digit, or to the place before the first.
    fn rounded(mut self, is_up: bool) -> Self {
        if is_up {
            let nines = self.digits.iter().rev().take_while(|&&digit| digit == 9).count();
            let kept = self.digits.len() - nines;
            self.digits[kept..].fill(0);
            match kept.checked_sub(1) {
                Some(last) => self.digits[last] += 1,
                None => {
                    // A carry through all digits, of which there are as many as before.
                    self.digits.insert(0, 1);
                    self.digits.truncate(nines.max(1));
                    self.exponent += 1;
                }
            }
        }
        self
    }

    fn trimmed(mut self) -> Self {
        while self.digits.len() > 1 && self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        self
    }

    /// As text.
    pub(super) fn text(&self) -> String {
        self.digits.iter().map(|digit| char::from(b'0' + digit)).collect()
    }
}

/// `significand * 2^exponent`, rounded to so many digits after the point, ties to even: `1.25` and
/// the exponent of ten.
pub(super) fn rounded(significand: u128, exponent: i32, precision: usize) -> (String, i32) {
    if significand == 0 {
        return (format!("{:.precision$}", 0.0), 0);
    }
    let found = LongDigits::of_count(significand, exponent, precision.saturating_add(1));
    let text = found.text();
    let (first, rest) = text.split_at(1);
    (format!("{first}.{rest}"), found.exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::digits::{self, Real};
    use crate::element::{ScalarKind, long_double};

    /// `digits * 10^tens` compared with `significand * 2^exponent`.
    fn compare(digits: u128, tens: i32, significand: u128, exponent: i32) -> Ordering {
        let mut decimal = BigNatural::shifted(digits, exponent.min(0).unsigned_abs());
        let mut binary = BigNatural::shifted(significand, exponent.max(0).unsigned_abs());
        if tens < 0 { &mut binary } else { &mut decimal }.multiply_by_tens(tens.unsigned_abs());
        decimal.cmp(&binary)
    }

    /// Whether a decimal is read as the number, by the limits halfway to its neighbours.
    fn leads_back(digits: u128, tens: i32, significand: u128, exponent: i32, is_uneven: bool) -> bool {
        let below = (4 * significand - if is_uneven { 1 } else { 2 }, exponent - 2);
        let above = (4 * significand + 2, exponent - 2);
        let is_even = significand.is_multiple_of(2);
        let (low, high) = (compare(digits, tens, below.0, below.1), compare(digits, tens, above.0, above.1));
        (low.is_gt() || is_even && low.is_eq()) && (high.is_lt() || is_even && high.is_eq())
    }

    #[test]
    fn long_doubles_of_x86_have_the_digits_that_numpy_writes() {
        for line in include_str!("long_digits.txt").lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let significand = u128::from_str_radix(words[0], 16).unwrap();
            let field = i32::from_str_radix(words[1], 16).unwrap();
            let exponent = field.max(1) - 16_383 - 63;
            let found = LongDigits::shortest(significand, exponent, significand == 1 << 63 && field > 1);
            let (mantissa, power) = words[2].split_once('e').unwrap();
            let expected = (mantissa.replace('.', ""), power.parse().unwrap());
            assert_eq!((found.text(), found.exponent), expected, "{line}");
            if long_double::NATIVE.precision() == 64 {
                let raw = (significand | (field as u128) << 64).to_le_bytes();
                assert_eq!(digits::float(Real::Long(raw), ScalarKind::LongDouble), words[3], "{line}");
            }
        }
    }

    #[test]
    fn the_digits_are_the_fewest_that_lead_back_in_either_format() {
        let mut rng = fastrand::Rng::with_seed(5);
        for case in 0..600 {
            let precision = if case % 2 == 0 { 64 } else { 113 };
            let top = 1_u128 << (precision - 1);
            let lowest = 1 - 16_383 - (precision - 1);
            let (significand, exponent) = match case % 5 {
                0 => (rng.u128(1..=u128::from(u64::MAX)) >> rng.u32(1..60), lowest),
                1 => (top, rng.i32(lowest + 1..16_384 - precision)),
                2 => (top | rng.u128(..top), rng.i32(-precision - 60..60 - precision)),
                _ => (top | rng.u128(..top), rng.i32(lowest..16_384 - precision)),
            };
            let significand = significand.max(1);
            let is_uneven = significand == top && exponent > lowest;
            let found = LongDigits::shortest(significand, exponent, is_uneven);
            let number: u128 = found.text().parse().unwrap();
            let tens = found.exponent - found.digits.len() as i32 + 1;
            let context = format!("{significand:#x} * 2^{exponent}: {number}e{tens}");
            assert!(leads_back(number, tens, significand, exponent, is_uneven), "{context}");
            // Neither neighbour of one digit fewer.
            for shorter in [number / 10, number / 10 + 1].into_iter().filter(|_| number > 9) {
                assert!(!leads_back(shorter, tens + 1, significand, exponent, is_uneven), "{context}");
            }
        }
    }

    #[test]
    fn rounded_digits_are_those_of_the_standard_library() {
        let mut rng = fastrand::Rng::with_seed(6);
        for case in 0..2000 {
            let value = match case % 4 {
                0 => f64::from_bits(rng.u64(1..0x7ff0_0000_0000_0000)),
                1 => rng.f64() * 10_f64.powi(rng.i32(-6..8)),
                2 => f64::from(rng.i32(1..4000)) / 16.0,
                _ => 10_f64.powi(rng.i32(0..10)) - f64::from(rng.u8(0..2)) / 8.0,
            };
            let field = (value.to_bits() >> 52) as i32;
            let fraction = u128::from(value.to_bits() & ((1 << 52) - 1));
            let significand = fraction | if field == 0 { 0 } else { 1 << 52 };
            if significand == 0 {
                continue;
            }
            let (exponent, precision) = (field.max(1) - 1075, rng.usize(..25));
            let (digits, tens) = rounded(significand, exponent, precision);
            let text = format!("{}e{tens}", digits.trim_end_matches('.'));
            assert_eq!(text, format!("{value:.precision$e}"));
            let raw = long_double::NATIVE.encode_f64(value);
            let text = Real::Long(raw).fixed(precision);
            assert_eq!(text.trim_end_matches('.'), format!("{value:.precision$}"));
        }
    }
}
