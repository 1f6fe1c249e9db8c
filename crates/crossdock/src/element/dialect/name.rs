//! Dtypes as users type them: `float32`, `>int16`, `datetime64[ns]`, or any of NumPy's spellings.

use std::str::FromStr;

use crate::element::dialect::typestr;
use crate::element::{ByteOrder, DType};
use crate::error::{Error, Kind, Result, short};

impl FromStr for DType {
    type Err = Error;

    /// Reads the name of a scalar as it is displayed (`float32`, `>int16`, `datetime64[ns]`,
    /// `bfloat16`), or what [`typestr::parse`] reads (`<f4`, `S10`, `[('x', '<f4')]`). Without a
    /// byte order mark, the order is native.
    ///
    /// ```
    /// use crossdock::element::DType;
    ///
    /// assert_eq!("float32".parse::<DType>()?, DType::F32);
    /// assert_eq!("<u2".parse::<DType>()?.to_string().trim_start_matches('<'), "uint16");
    /// assert!("flaot32".parse::<DType>().unwrap_err().is_malformed());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let (order, name) = match text.chars().next() {
            Some('<') => (ByteOrder::Little, &text[1..]),
            Some('>') => (ByteOrder::Big, &text[1..]),
            Some('=' | '|') => (ByteOrder::NATIVE, &text[1..]),
            _ => (ByteOrder::NATIVE, text),
        };
        if let Some(dtype) = typestr::named(text) {
            return dtype;
        }
        for (word, letter) in [("datetime64", 'M'), ("timedelta64", 'm')] {
            if let Some(unit) = name.strip_prefix(word) {
                return typestr::parse(&format!("{}{letter}8{unit}", order.symbol()));
            }
        }
        typestr::parse(text).map_err(|error| {
            if !error.is_malformed() {
                return error;
            }
            // Type strings have a digit after their letter, so this is a misspelt name.
            let is_name = name.chars().nth(1).is_some_and(char::is_alphabetic)
                && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
            let what = if is_name { format!("{} is not a dtype", short(text)) } else { error.to_string() };
            let text = format!("{what}; write a name such as float32, or a type string such as <f4");
            Error::caused(Kind::Malformed, text, error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{ScalarKind, TimeBase, TimeUnit};

    #[test]
    fn every_name_that_is_displayed_is_read_in_both_byte_orders() {
        let unit = TimeUnit::new(TimeBase::Microsecond, 25).unwrap();
        let more = [
            ScalarKind::Bytes(7),
            ScalarKind::Text(3),
            ScalarKind::Void(9),
            ScalarKind::DateTime(unit),
            ScalarKind::DateTime(TimeUnit::DAY),
            ScalarKind::TimeDelta(TimeUnit::NANOSECOND),
        ];
        for kind in typestr::NAMED.into_iter().chain(more) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let dtype = DType::scalar(kind, order).unwrap();
                assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype, "{dtype}");
            }
        }
    }

    #[test]
    fn the_spellings_of_numpy_are_read_too() {
        for (text, dtype) in [
            (" <f4 ", DType::scalar(ScalarKind::Float32, ByteOrder::Little).unwrap()),
            (">i2", DType::scalar(ScalarKind::Int16, ByteOrder::Big).unwrap()),
            ("|u1", DType::U8),
            ("=f8", DType::F64),
            ("=uint16", DType::U16),
            ("S10", DType::bytes(10).unwrap()),
            ("datetime64", DType::datetime(TimeUnit::GENERIC)),
            ("[('a', '|u1')]", DType::packed_record([("a", DType::U8)]).unwrap()),
        ] {
            assert_eq!(text.parse::<DType>().unwrap(), dtype, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_dtype_is_refused() {
        for text in ["", "<", "float", "float33", "datetime64[parsec]", "datetime64x", "[('a',)]"] {
            assert!(text.parse::<DType>().unwrap_err().is_malformed(), "{text:?}");
        }
        assert!("O".parse::<DType>().unwrap_err().is_unsupported());
        assert!("object".parse::<DType>().is_err());
    }
}
