//! One element whose type is known only at run time.

pub(crate) mod digits;
mod equal;
pub(crate) mod member;
mod read;
mod saturate;
mod show;
mod write;

use crate::element::{TimeUnit, long_double};

pub(crate) use self::member::Member;
pub(crate) use self::member::RegisterKind;

/// One element outside its array: its bytes, interpreted by a [`DType`](crate::element::DType).
///
/// [`Value::read`] makes one from bytes, [`Value::write`] writes it to bytes.
/// [`Display`](std::fmt::Display) writes it as NumPy does. Two values are equal when they are the
/// same variant with equal contents, so `Int(1)` is not `UInt(1)`, and a NaN is unequal to itself.
///
/// ```
/// use crossdock::element::{DType, Value};
///
/// let pair = DType::packed_record([("id", DType::U8), ("x", DType::F32)])?;
/// let mut bytes = [0; 5];
/// let value = Value::Record(vec![("id".into(), 7u8.into()), ("x".into(), 0.5.into())]);
/// value.write(&pair, &mut bytes)?;
/// let read = Value::read(&pair, &bytes)?;
/// assert_eq!(read, value);
/// assert_eq!(read.to_string(), "(7, 0.5)");
/// assert!(Value::from(300).write(&DType::U8, &mut bytes[..1]).unwrap_err().is_value());
/// # Ok::<(), crossdock::Error>(())
/// ```
// The tag is a whole word: with a narrower one, a move would copy it together with the bytes after
// it, and the CPU cannot forward several stores to one load.
#[derive(Clone, Debug, PartialEq)]
#[repr(u64)]
#[non_exhaustive]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// The value of a signed integer.
    Int(i64),
    /// The value of an unsigned integer.
    UInt(u64),
    /// The value of a float of at most 64 bits.
    Float(f64),
    /// The value of a complex number of at most two doubles.
    Complex {
        /// The real part.
        re: f64,
        /// The imaginary part.
        im: f64,
    },
    /// Bytes, without the NULs that pad an element.
    Bytes(Vec<u8>),
    /// Text, without the NULs that pad an element.
    Text(String),
    /// A moment: a count of a unit since 1970-01-01T00:00, or [`NAT`](crate::element::NAT).
    DateTime {
        /// The number of units.
        count: i64,
        /// The unit.
        unit: TimeUnit,
    },
    /// A duration: a count of a unit, or [`NAT`](crate::element::NAT).
    TimeDelta {
        /// The number of units.
        count: i64,
        /// The unit.
        unit: TimeUnit,
    },
    /// The bytes of a `long double`, the least significant first, padding included.
    LongDouble([u8; 16]),
    /// The bytes of the real and of the imaginary part, each the least significant first.
    /// (Boxed: so rare that it must not make every value larger.)
    ComplexLongDouble(Box<[[u8; 16]; 2]>),
    /// An address that has a meaning only for its producer.
    Pointer(u64),
    /// Opaque bytes.
    Void(Vec<u8>),
    /// The elements of a sub-array, along its first axis if it has several.
    Array(Vec<Value>),
    /// The fields of a record with their names.
    Record(Vec<(String, Value)>),
}

impl Value {
    /// The truth value, if it is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer, if it is one and not above `i64::MAX`.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::UInt(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The integer, if it is one and not negative.
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(value) => u64::try_from(*value).ok(),
            Self::UInt(value) => Some(*value),
            _ => None,
        }
    }

    /// The real number, if it is one, as the nearest double: integers beyond 2⁵³ and long doubles
    /// are rounded.
    #[inline]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::UInt(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::LongDouble(raw) => Some(long_double::NATIVE.to_f64(raw)),
            _ => None,
        }
    }

    /// The real and imaginary part of a number, as the nearest doubles.
    pub fn as_complex(&self) -> Option<(f64, f64)> {
        match self {
            Self::Complex { re, im } => Some((*re, *im)),
            Self::ComplexLongDouble(parts) => {
                let [re, im] = parts.map(|part| long_double::NATIVE.to_f64(&part));
                Some((re, im))
            }
            real => Some((real.as_f64()?, 0.0)),
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, of fixed bytes or of an opaque element.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) | Self::Void(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The elements of a sub-array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The field of this name, if it is a record that has one.
    pub fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Record(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, value)| value),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($ty:ty => $variant:ident),* $(,)?) => {
        $(
            impl From<$ty> for Value {
                fn from(value: $ty) -> Self {
                    Self::$variant(value.into())
                }
            }
        )*
    };
}

from! {
    bool => Bool,
    i8 => Int, i16 => Int, i32 => Int, i64 => Int,
    u8 => UInt, u16 => UInt, u32 => UInt, u64 => UInt,
    f32 => Float, f64 => Float,
    &str => Text, String => Text,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_four_words_and_so_is_its_result() {
        if usize::BITS == 64 {
            assert_eq!(size_of::<Value>(), 4 * size_of::<usize>());
        }
        assert_eq!(size_of::<crate::Result<Value>>(), size_of::<Value>());
    }

    #[test]
    fn numbers_are_asked_for_as_what_they_fit() {
        assert_eq!(Value::from(7u8).as_i64(), Some(7));
        assert_eq!(Value::from(u64::MAX).as_i64(), None);
        assert_eq!(Value::from(-1).as_u64(), None);
        assert_eq!(Value::from(-1).as_f64(), Some(-1.0));
        assert_eq!(Value::from(2.5f32).as_f64(), Some(2.5));
        assert_eq!(Value::from(2.5).as_i64(), None);
        assert_eq!(Value::from(true).as_f64(), None);
        assert_eq!(Value::LongDouble(long_double::NATIVE.encode_f64(2.5)).as_f64(), Some(2.5));
        assert_eq!(Value::from(2).as_complex(), Some((2.0, 0.0)));
    }
}
