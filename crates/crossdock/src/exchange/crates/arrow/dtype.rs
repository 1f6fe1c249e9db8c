//! Converts Arrow's data types to dtypes and back, by the format strings that both have
//! ([`dialect::arrow`](crate::element::dialect::arrow)). A type that the target cannot express is
//! refused by name; nothing is approximated.

use arrow_schema::{DataType, TimeUnit as Unit};

use crate::element::dialect::arrow::{ArrowFormat, to_format};
use crate::element::{DType, ScalarKind};
use crate::error::{Advice, Error, Kind, Result};

/// The types without parameters, and their format strings.
static TABLE: [(DataType, &str); 20] = [
    (DataType::Int8, "c"),
    (DataType::Int16, "s"),
    (DataType::Int32, "i"),
    (DataType::Int64, "l"),
    (DataType::UInt8, "C"),
    (DataType::UInt16, "S"),
    (DataType::UInt32, "I"),
    (DataType::UInt64, "L"),
    (DataType::Float16, "e"),
    (DataType::Float32, "f"),
    (DataType::Float64, "g"),
    (DataType::Timestamp(Unit::Second, None), "tss:"),
    (DataType::Timestamp(Unit::Millisecond, None), "tsm:"),
    (DataType::Timestamp(Unit::Microsecond, None), "tsu:"),
    (DataType::Timestamp(Unit::Nanosecond, None), "tsn:"),
    (DataType::Date64, "tdm"),
    (DataType::Duration(Unit::Second), "tDs"),
    (DataType::Duration(Unit::Millisecond), "tDm"),
    (DataType::Duration(Unit::Microsecond), "tDu"),
    (DataType::Duration(Unit::Nanosecond), "tDn"),
];

/// The dtype of a column that is not a list.
///
/// # Errors
///
/// `is_malformed` for a negative width; `is_unsupported` for a type without a dtype, with the
/// alternative.
pub(super) fn from_arrow(theirs: &DataType) -> Result<DType> {
    if let DataType::FixedSizeBinary(width) = theirs {
        let negative = |_| Error::new(Kind::Malformed, format!("an element cannot have {width} bytes"));
        return DType::void(usize::try_from(*width).map_err(negative)?);
    }
    let format =
        TABLE.iter().find(|(known, _)| known == theirs).map(|&(_, format)| ArrowFormat::parse(format));
    match format.transpose()? {
        Some(ArrowFormat::Scalar(dtype)) => Ok(dtype),
        _ => {
            let advice = matches!(theirs, DataType::Struct(_)).then_some(Advice::TakeChildren);
            Err(Error::new(Kind::Unsupported, why_not(theirs)).advising(advice))
        }
    }
}

fn why_not(theirs: &DataType) -> String {
    use DataType::*;
    match theirs {
        Boolean => {
            "Arrow booleans are bits, and an element has at least one byte; cast the column to UInt8".into()
        }
        Struct(fields) => format!("the {} columns of a struct are separate in memory", fields.len()),
        Timestamp(_, Some(zone)) => format!(
            "no dtype has a time zone, and these timestamps have {zone}; remove it (the values are UTC)"
        ),
        Date32 | Time32(_) => {
            format!(
                "{theirs} has 32 bits, but dates and durations of a dtype have 64; cast it, or view it as \
                Int32"
            )
        }
        Time64(_) => {
            format!(
                "{theirs} is a time of day, which no dtype expresses; cast it to a Duration since midnight"
            )
        }
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => {
            format!(
                "{theirs} is a decimal, which no dtype expresses; cast it to Float64, or view it as \
                integers of the same width"
            )
        }
        Interval(_) => format!("{theirs} is an interval of several units, which no dtype expresses"),
        _ => {
            // The text of a nested type can have any length.
            let name = theirs.to_string();
            let name = name.split('(').next().unwrap_or_default();
            format!("elements of the Arrow type {name} have no fixed width, so strides cannot describe them")
        }
    }
}

/// Arrow's type for a dtype without parts.
///
/// # Errors
///
/// `is_unsupported`, naming what Arrow cannot express.
pub(super) fn to_arrow(ours: &DType) -> Result<DataType> {
    let format = to_format(ours)?;
    // Scalar 1: the width is at most 2³¹-1.
    if let Some(ScalarKind::Void(width)) = ours.as_scalar().map(|scalar| scalar.kind()) {
        return Ok(DataType::FixedSizeBinary(width as i32));
    }
    match TABLE.iter().find(|(_, known)| *known == format) {
        Some((theirs, _)) => Ok(theirs.clone()),
        None => Err(Error::new(Kind::Unsupported, format!("Arrow's crates have no type for {format:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{Field, Fields, IntervalUnit};
    use std::sync::Arc;

    #[test]
    fn every_row_goes_either_way() {
        for (theirs, _) in &TABLE {
            let ours = from_arrow(theirs).unwrap();
            assert_eq!(theirs.primitive_width(), Some(ours.itemsize()), "{theirs}");
            let back = to_arrow(&ours).unwrap();
            let first = DataType::Timestamp(Unit::Millisecond, None);
            assert!(
                back == *theirs || *theirs == DataType::Date64 && back == first,
                "{theirs} became {back}"
            );
        }
        for width in [0, 1, i32::MAX] {
            let ours = from_arrow(&DataType::FixedSizeBinary(width)).unwrap();
            assert_eq!(
                (ours.itemsize(), to_arrow(&ours).unwrap()),
                (width as usize, DataType::FixedSizeBinary(width))
            );
        }
    }

    #[test]
    fn what_no_dtype_says_is_refused_by_name() {
        let list = Arc::new(Field::new_list_field(DataType::Int8, true));
        for (theirs, says) in [
            (DataType::Boolean, "booleans are bits"),
            (DataType::Struct(Fields::from(vec![Field::new("a", DataType::Int8, true)])), "the 1 columns"),
            (DataType::Timestamp(Unit::Second, Some("+01:00".into())), "+01:00"),
            (DataType::Date32, "Date32 has 32 bits"),
            (DataType::Time32(Unit::Second), "32 bits"),
            (DataType::Time64(Unit::Nanosecond), "time of day"),
            (DataType::Decimal32(9, 2), "Decimal32(9, 2)"),
            (DataType::Decimal64(18, 2), "Decimal64(18, 2)"),
            (DataType::Decimal128(38, 2), "Decimal128(38, 2)"),
            (DataType::Decimal256(76, 2), "Decimal256(76, 2)"),
            (DataType::Interval(IntervalUnit::DayTime), "several units"),
            (DataType::Null, "type Null"),
            (DataType::Utf8, "type Utf8"),
            (DataType::BinaryView, "type BinaryView"),
            (DataType::List(list), "type List have no fixed width"),
            (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), "type Dictionary"),
        ] {
            let error = from_arrow(&theirs).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains(says), "{error}");
        }
        let error = from_arrow(&DataType::FixedSizeBinary(-3)).unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains("-3"), "{error}");
    }

    #[test]
    fn what_arrow_does_not_say_is_refused_by_name() {
        let other_order = DType::I32.swapped();
        let says_order = other_order.to_string();
        for (ours, says) in
            [(DType::C64, "complex64"), (other_order, &says_order), (DType::BOOL, "view them as uint8")]
        {
            let error = to_arrow(&ours).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains(says), "{error}");
        }
    }
}
