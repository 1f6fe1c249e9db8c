//! Whether two elements are equal.

use crate::element::{NAT, Value};

impl Value {
    /// Whether two values of one dtype are equal as elements, by NumPy's rules: NaN and NaT are
    /// unequal to everything, both zeros are equal, and the padding of a long double is ignored.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::DateTime { count, .. } | Self::TimeDelta { count, .. }, _) if *count == NAT => false,
            (Self::LongDouble(left), Self::LongDouble(right)) => same_extended(left, right),
            (Self::ComplexLongDouble(left), Self::ComplexLongDouble(right)) => {
                left.iter().zip(right.iter()).all(|(left, right)| same_extended(left, right))
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

/// Two 80-bit floats: 64 bits of significand with its leading one, 15 of exponent, a sign, 6 bytes
/// of padding.
fn same_extended(left: &[u8; 16], right: &[u8; 16]) -> bool {
    let parts = |raw: &[u8; 16]| {
        let mut significand = [0; 8];
        significand.copy_from_slice(&raw[..8]);
        (u64::from_le_bytes(significand), u16::from_le_bytes([raw[8], raw[9]]))
    };
    let ((left, left_top), (right, right_top)) = (parts(left), parts(right));
    let is_nan = |significand: u64, top: u16| top & 0x7fff == 0x7fff && significand << 1 != 0;
    let zeros = left | right == 0 && (left_top | right_top) & 0x7fff == 0;
    !is_nan(left, left_top) && !is_nan(right, right_top) && (zeros || (left, left_top) == (right, right_top))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{TimeUnit, extended};

    #[test]
    fn zeros_are_equal_and_what_is_no_number_is_not() {
        let long = |value: f64| Value::LongDouble(extended::from_f64(value));
        assert!(long(0.0).equals(&long(-0.0)) && long(1.5).equals(&long(1.5)));
        assert!(!long(1.5).equals(&long(-1.5)) && !long(f64::NAN).equals(&long(f64::NAN)));
        assert!(long(f64::INFINITY).equals(&long(f64::INFINITY)));
        let mut padded = extended::from_f64(1.5);
        padded[12] = 7;
        assert!(Value::LongDouble(padded).equals(&long(1.5)));
        let date = |count| Value::DateTime { count, unit: TimeUnit::DAY };
        assert!(date(1).equals(&date(1)) && !date(1).equals(&date(2)) && !date(NAT).equals(&date(NAT)));
        let pair = |value: f64| Value::Record(vec![("a".into(), Value::Array(vec![value.into()]))]);
        assert!(pair(0.0).equals(&pair(-0.0)) && !pair(f64::NAN).equals(&pair(f64::NAN)));
    }
}
