//! Whether two elements are equal.

use crate::element::{NAT, Value, long_double};

impl Value {
    /// Whether two values of one dtype are equal as elements, by NumPy's rules: NaN and NaT are
    /// unequal to everything, both zeros are equal, and the padding of a long double is ignored.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::DateTime { count, .. } | Self::TimeDelta { count, .. }, _) if *count == NAT => false,
            (Self::LongDouble(left), Self::LongDouble(right)) => long_double::NATIVE.are_equal(left, right),
            (Self::ComplexLongDouble(left), Self::ComplexLongDouble(right)) => {
                left.iter().zip(right.iter()).all(|(left, right)| long_double::NATIVE.are_equal(left, right))
            }
            (Self::Array(left), Self::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.equals(right))
            }
            (Self::Record(left), Self::Record(right)) => {
                let same = |(left, right): (&(String, Self), &(String, Self))| {
                    left.0 == right.0 && left.1.equals(&right.1)
                };
                left.len() == right.len() && left.iter().zip(right).all(same)
            }
            (left, right) => left == right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{TimeUnit, long_double};

    #[test]
    fn zeros_are_equal_and_what_is_no_number_is_not() {
        let long = |value: f64| Value::LongDouble(long_double::NATIVE.encode_f64(value));
        assert!(long(0.0).equals(&long(-0.0)) && long(1.5).equals(&long(1.5)));
        assert!(!long(1.5).equals(&long(-1.5)) && !long(f64::NAN).equals(&long(f64::NAN)));
        assert!(long(f64::INFINITY).equals(&long(f64::INFINITY)));
        let mut padded = long_double::NATIVE.encode_f64(1.5);
        padded[12] ^= 7;
        // Only the format of x86 has padding.
        let is_padding = long_double::NATIVE.precision() == 64;
        assert_eq!(Value::LongDouble(padded).equals(&long(1.5)), is_padding);
        let date = |count| Value::DateTime { count, unit: TimeUnit::DAY };
        assert!(date(1).equals(&date(1)) && !date(1).equals(&date(2)) && !date(NAT).equals(&date(NAT)));
        let pair = |value: f64| Value::Record(vec![("a".into(), Value::Array(vec![value.into()]))]);
        assert!(pair(0.0).equals(&pair(-0.0)) && !pair(f64::NAN).equals(&pair(f64::NAN)));
    }
}
