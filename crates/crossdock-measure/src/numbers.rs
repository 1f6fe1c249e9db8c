//! Small numbers that every element type can represent. They give a naive answer to every
//! conversion: the bytes of the same number in the other type.

use crossdock::element::{ByteOrder, DType, ScalarKind};

use crate::Result;

/// All numbers, the non-negative ones first.
const NUMBERS: [i8; 17] = [0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8];
/// The number of non-negative ones.
const UNSIGNED: usize = 9;

/// The bytes of the numbers in one dtype.
pub(crate) struct Numbers {
    width: usize,
    bytes: Vec<[u8; 8]>,
}

impl Numbers {
    /// The numbers that an integer or float can hold.
    pub(crate) fn of(dtype: &DType) -> Result<Self> {
        let scalar = dtype.as_scalar().ok_or_else(|| format!("{dtype} is no number"))?;
        let width = dtype.itemsize();
        let (signed, float) = match scalar.kind() {
            ScalarKind::UInt8 | ScalarKind::UInt16 | ScalarKind::UInt32 | ScalarKind::UInt64 => (false, None),
            ScalarKind::Int8 | ScalarKind::Int16 | ScalarKind::Int32 | ScalarKind::Int64 => (true, None),
            ScalarKind::Float64 => (true, Some((11, 52))),
            ScalarKind::Float32 => (true, Some((8, 23))),
            ScalarKind::Float16 => (true, Some((5, 10))),
            ScalarKind::BFloat16 => (true, Some((8, 7))),
            ScalarKind::Float8E4M3Fn => (true, Some((4, 3))),
            ScalarKind::Float8E5M2 => (true, Some((5, 2))),
            kind => return Err(format!("no number of {kind:?} is known here").into()),
        };
        let many = if signed { NUMBERS.len() } else { UNSIGNED };
        let big = dtype.byte_order() == Some(ByteOrder::Big);
        let bytes = NUMBERS[..many].iter().map(|&number| {
            let bits = match float {
                Some((exponent, mantissa)) => float_bits(number, exponent, mantissa),
                None => i64::from(number).cast_unsigned(),
            };
            let mut bytes = bits.to_le_bytes();
            if big {
                bytes[..width].reverse();
            }
            bytes
        });
        Ok(Self { width, bytes: bytes.collect() })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The `number`-th number.
    pub(crate) fn get(&self, number: usize) -> &[u8] {
        &self.bytes[number][..self.width]
    }

    /// The index of the number with these bytes.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        (0..self.len()).find(|&number| self.get(number) == bytes)
    }
}

/// A number as a float with these bits of exponent and mantissa, and the usual bias, which
/// represents it exactly.
fn float_bits(number: i8, exponent: u32, mantissa: u32) -> u64 {
    let sign = u64::from(number < 0) << (exponent + mantissa);
    let magnitude = u64::from(number.unsigned_abs());
    match magnitude.checked_ilog2() {
        None => sign,
        Some(power) => {
            let bias = (1u64 << (exponent - 1)) - 1;
            let fraction = ((magnitude << mantissa) >> power) & ((1 << mantissa) - 1);
            sign | ((bias + u64::from(power)) << mantissa) | fraction
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_those_of_the_machine() {
        for number in NUMBERS {
            assert_eq!(float_bits(number, 8, 23), u64::from(f32::from(number).to_bits()), "{number}");
            assert_eq!(float_bits(number, 11, 52), f64::from(number).to_bits(), "{number}");
        }
    }

    #[test]
    fn narrow_floats_are_read_as_the_same_numbers() {
        for dtype in [
            DType::F16,
            DType::BF16,
            DType::native(ScalarKind::Float8E4M3Fn),
            DType::native(ScalarKind::Float8E5M2),
            DType::I16.swapped(),
        ] {
            let numbers = Numbers::of(&dtype).unwrap();
            for (place, number) in NUMBERS.into_iter().enumerate() {
                let value = crossdock::element::Value::read(&dtype, numbers.get(place));
                assert_eq!(value.unwrap().as_f64(), Some(number.into()), "{dtype}");
                assert_eq!(numbers.find(numbers.get(place)), Some(place));
            }
        }
    }

    #[test]
    fn unsigned_integers_have_no_negative_ones() {
        assert_eq!(Numbers::of(&DType::U8).unwrap().len(), UNSIGNED);
        assert!(Numbers::of(&DType::BOOL).is_err());
    }
}
