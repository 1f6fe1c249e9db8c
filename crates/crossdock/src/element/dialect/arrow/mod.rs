//! Arrow's spelling: the format strings of its C Data interface, and the metadata of tensors.
//!
//! Elements are in the machine's byte order. Dates and durations are counts of 64 bits in both. The
//! least count, an ordinary moment in Arrow, is "not a time" here ([`NAT`](crate::element::NAT)).
//! Arrow's truth values are bits; those of a byte each use the extension type `arrow.bool8`.
//! Source: the specification of the C Data interface and of the canonical extension types, as of
//! Arrow 26.

mod json;
mod tensor;

use std::borrow::Cow;

use crate::element::{ByteOrder, DType, DTypeKind, ScalarKind, TimeUnit};
use crate::error::{Advice, Error, Kind, Result};

pub use tensor::TensorShape;

/// The extension type of truth values of a byte each, whose storage is `c`.
pub const BOOL8: &str = "arrow.bool8";
/// The extension type of tensors of one shape, whose storage is `+w:N`; its metadata are a
/// [`TensorShape`].
pub const FIXED_SHAPE_TENSOR: &str = "arrow.fixed_shape_tensor";

/// The table for both directions. Of two rows for one kind, the first is written.
const TABLE: [(&str, ScalarKind); 20] = [
    ("c", ScalarKind::Int8),
    ("C", ScalarKind::UInt8),
    ("s", ScalarKind::Int16),
    ("S", ScalarKind::UInt16),
    ("i", ScalarKind::Int32),
    ("I", ScalarKind::UInt32),
    ("l", ScalarKind::Int64),
    ("L", ScalarKind::UInt64),
    ("e", ScalarKind::Float16),
    ("f", ScalarKind::Float32),
    ("g", ScalarKind::Float64),
    ("tss:", ScalarKind::DateTime(TimeUnit::SECOND)),
    ("tsm:", ScalarKind::DateTime(TimeUnit::MILLISECOND)),
    ("tsu:", ScalarKind::DateTime(TimeUnit::MICROSECOND)),
    ("tsn:", ScalarKind::DateTime(TimeUnit::NANOSECOND)),
    ("tdm", ScalarKind::DateTime(TimeUnit::MILLISECOND)),
    ("tDs", ScalarKind::TimeDelta(TimeUnit::SECOND)),
    ("tDm", ScalarKind::TimeDelta(TimeUnit::MILLISECOND)),
    ("tDu", ScalarKind::TimeDelta(TimeUnit::MICROSECOND)),
    ("tDn", ScalarKind::TimeDelta(TimeUnit::NANOSECOND)),
];

/// The meaning of a format string for elements of a fixed width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrowFormat {
    /// One buffer of elements.
    Scalar(DType),
    /// A fixed number of elements of the one child (`+w:N`).
    List(usize),
    /// One element of every child (`+s`).
    Struct,
}

impl ArrowFormat {
    /// Reads a format string.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for a type without a dtype, with a suggestion; `is_value` if elements have
    /// a meaning that other protocols would drop (timestamps with a time zone, times of day,
    /// intervals, decimals); `is_malformed` for a width that is not a number; `is_overflow` for a
    /// width beyond the limit of an element.
    ///
    /// ```
    /// use crossdock::bindings::dialect::arrow::ArrowFormat;
    /// use crossdock::element::DType;
    ///
    /// assert_eq!(ArrowFormat::parse("g")?, ArrowFormat::Scalar(DType::F64));
    /// assert_eq!(ArrowFormat::parse("w:16")?, ArrowFormat::Scalar(DType::void(16)?));
    /// assert_eq!(ArrowFormat::parse("+w:3")?, ArrowFormat::List(3));
    /// assert!(ArrowFormat::parse("b").unwrap_err().to_string().contains("booleans are bits"));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn parse(format: &str) -> Result<Self> {
        if let Some((_, kind)) = TABLE.iter().find(|(known, _)| *known == format) {
            return Ok(Self::Scalar(DType::scalar(*kind, ByteOrder::NATIVE)?));
        }
        match format.split_once(':') {
            Some(("w", width)) => Ok(Self::Scalar(DType::void(number(format, width)?)?)),
            Some(("+w", len)) => Ok(Self::List(number(format, len)?)),
            _ if format == "+s" => Ok(Self::Struct),
            _ if means_more(format) => Err(Error::new(Kind::Value, why_not(format))),
            _ => Err(Error::new(Kind::Unsupported, why_not(format))),
        }
    }
}

/// Parses a width or a length, which has only digits.
fn number(format: &str, digits: &str) -> Result<usize> {
    if digits.is_empty() || digits.bytes().any(|digit| !digit.is_ascii_digit()) {
        return Err(Error::new(
            Kind::Malformed,
            format!("format {} has no number after the colon", show(format)),
        ));
    }
    digits.parse().map_err(|_| {
        Error::new(
            Kind::Overflow,
            format!("the number in format {} is greater than {}", show(format), usize::MAX),
        )
    })
}

/// An untrusted format of any length, shortened for an error.
fn show(format: &str) -> String {
    const MOST: usize = 40;
    match format.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", &format[..end]),
        None => format!("{format:?}"),
    }
}

/// Whether elements mean more than their numbers: other protocols would export them without that
/// meaning, or rounded.
fn means_more(format: &str) -> bool {
    time_zone(format).is_some() || ["tt", "ti", "d:"].iter().any(|start| format.starts_with(start))
}

/// The time zone of timestamps, if they have one.
fn time_zone(format: &str) -> Option<&str> {
    let (unit, zone) = format.strip_prefix("ts")?.split_once(':')?;
    (unit.len() == 1 && !zone.is_empty()).then_some(zone)
}

fn why_not(format: &str) -> String {
    let shown = show(format);
    if let Some(zone) = time_zone(format) {
        return format!(
            "no dtype has a time zone, and these timestamps have {}; remove it (the values are UTC)",
            show(zone)
        );
    }
    match format {
        "b" => {
            "Arrow booleans are bits, and an element has at least one byte; cast the column to uint8".into()
        }
        "tdD" | "tts" | "ttm" => {
            format!(
                "{shown} has 32 bits, but dates and durations of a dtype have 64; cast it, or view it as \
                int32"
            )
        }
        "ttu" | "ttn" => {
            format!(
                "{shown} is a time of day, which no dtype expresses; cast it to a duration since midnight"
            )
        }
        "tiM" | "tiD" | "tin" => format!("{shown} is an interval of several units, which no dtype expresses"),
        "n" => "a column of type null has no elements".into(),
        _ if format.starts_with("d:") => {
            format!(
                "{shown} is a decimal, which no dtype expresses; cast it to float64, or view it as integers \
                of the same width"
            )
        }
        "z" | "Z" | "u" | "U" | "vz" | "vu" | "+l" | "+L" | "+vl" | "+vL" | "+m" | "+r" => {
            not_strided(&shown)
        }
        _ if format.starts_with("+ud:") || format.starts_with("+us:") => not_strided(&shown),
        _ => format!("the Arrow format {shown} is unknown"),
    }
}

fn not_strided(shown: &str) -> String {
    format!("elements of format {shown} have no fixed width, so strides cannot describe them")
}

/// The format of a dtype without parts. Truth values have none: see [`BOOL8`].
///
/// # Errors
///
/// `is_unsupported`, naming the part that Arrow cannot express: text, complex numbers, small
/// floats, pointers, long doubles, units of time other than seconds, milli-, micro- and
/// nanoseconds, and non-native byte order. Sub-arrays are lists, and records are structs: their
/// parts have formats.
///
/// ```
/// use crossdock::bindings::dialect::arrow;
/// use crossdock::element::{DType, TimeUnit};
///
/// assert_eq!(arrow::to_format(&DType::datetime(TimeUnit::NANOSECOND))?, "tsn:");
/// assert!(arrow::to_format(&DType::C64).unwrap_err().to_string().contains("complex64"));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn to_format(dtype: &DType) -> Result<Cow<'static, str>> {
    let unsupported = |what: &str, advice: Option<Advice>| {
        let text = format!("Arrow has no {what}: {}", dtype.brief());
        Err(Error::new(Kind::Unsupported, text).advising(advice))
    };
    let scalar = match dtype.kind() {
        DTypeKind::Scalar(scalar) => scalar,
        DTypeKind::Record(_) => {
            return unsupported("records, only separate columns", Some(Advice::OneField));
        }
        DTypeKind::SubArray(_) => return unsupported("nested sub-arrays", None),
    };
    if !scalar.is_native() {
        return unsupported("elements in non-native byte order", Some(Advice::ConvertByteOrder));
    }
    match scalar.kind() {
        ScalarKind::Void(width) => Ok(format!("w:{width}").into()),
        ScalarKind::Bool => unsupported("one-byte booleans, only bits", Some(Advice::ViewAsUint8)),
        ScalarKind::Bytes(_) | ScalarKind::Text(_) => unsupported("NUL-padded text", None),
        kind => match TABLE.iter().find(|(_, known)| *known == kind) {
            Some((format, _)) => Ok((*format).into()),
            None => unsupported("such dtype", None),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_goes_either_way() {
        for (format, kind) in TABLE {
            let ArrowFormat::Scalar(dtype) = ArrowFormat::parse(format).unwrap() else { panic!("{format}") };
            assert_eq!(dtype.as_scalar().unwrap().kind(), kind);
            let back = to_format(&dtype).unwrap();
            assert!(back == format || (format, &*back) == ("tdm", "tsm:"), "{format} became {back}");
        }
        for width in [0, 1, i32::MAX as usize] {
            let format = format!("w:{width}");
            let dtype = DType::void(width).unwrap();
            assert_eq!(ArrowFormat::parse(&format).unwrap(), ArrowFormat::Scalar(dtype.clone()));
            assert_eq!(to_format(&dtype).unwrap(), format);
            assert_eq!(ArrowFormat::parse(&format!("+{format}")).unwrap(), ArrowFormat::List(width));
        }
        assert_eq!(ArrowFormat::parse("+s").unwrap(), ArrowFormat::Struct);
    }

    #[test]
    fn what_no_dtype_says_is_refused_by_name() {
        for (format, says) in [
            ("b", "booleans are bits"),
            ("tss:+01:00", "+01:00"),
            ("tdD", "32 bits"),
            ("tts", "32 bits"),
            ("ttm", "32 bits"),
            ("ttu", "time of day"),
            ("ttn", "time of day"),
            ("tiD", "several units"),
            ("d:9,2", "decimal"),
            ("n", "type null"),
            ("u", "\"u\" have no fixed width"),
            ("+l", "\"+l\" have no fixed width"),
            ("+us:0,1", "no fixed width"),
            ("", "is unknown"),
            ("gg", "is unknown"),
            ("+w", "is unknown"),
            ("tsx", "is unknown"),
            ("\u{e9}", "is unknown"),
        ] {
            let error = ArrowFormat::parse(format).unwrap_err();
            assert!(error.to_string().contains(says), "{format}: {error}");
            // The memory holds plain numbers; reading them as such would lose what they mean.
            let is_more = ["time zone", "32 bits", "time of day", "several units", "decimal"];
            let is_more = format != "tdD" && is_more.iter().any(|&words| error.to_string().contains(words));
            assert_eq!((error.is_value(), error.is_unsupported()), (is_more, !is_more), "{format}: {error}");
        }
        let long = ArrowFormat::parse(&"x".repeat(100_000)).unwrap_err();
        assert!(long.to_string().len() < 200, "{long}");
    }

    #[test]
    fn widths_that_are_none_are_refused() {
        for format in ["w:", "w:-1", "w:+1", "w: 1", "+w:", "+w:x", "w:1:2"] {
            assert!(ArrowFormat::parse(format).unwrap_err().is_malformed(), "{format}");
        }
        for format in ["w:2147483648", "w:99999999999999999999", "+w:99999999999999999999"] {
            assert!(ArrowFormat::parse(format).unwrap_err().is_overflow(), "{format}");
        }
    }

    #[test]
    fn what_arrow_does_not_say_is_refused_by_name() {
        let other_order = DType::I32.swapped().to_string();
        for (ours, says) in [
            (DType::BOOL, "bool"),
            (DType::C64, "complex64"),
            (DType::BF16, "bfloat16"),
            (DType::I32.swapped(), &other_order),
            (DType::bytes(3).unwrap(), "S3"),
            (DType::text(3).unwrap(), "U3"),
            (DType::datetime(TimeUnit::DAY), "datetime64[D]"),
            (DType::subarray(&[2], DType::U8).unwrap(), "sub-arrays"),
            (DType::packed_record([("a", DType::U8)]).unwrap(), "one field at a time"),
        ] {
            let error = to_format(&ours).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains(says), "{error}");
        }
    }
}
