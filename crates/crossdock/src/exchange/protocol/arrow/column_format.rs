//! The types of columns as format strings. Source: the specification of the C Data interface, as of
//! Arrow 26.

use std::borrow::Cow;
use std::sync::Arc;

use crate::element::dialect::arrow::{ArrowFormat, BOOL8, to_format};
use crate::element::{DType, TimeUnit};
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::field::malformed;
use crate::table::{ColumnType, Field, IntervalUnit, OffsetWidth, UnionMode};

/// The types that one string without parameters names.
fn plain(format: &str) -> Option<ColumnType> {
    Some(match format {
        "n" => ColumnType::Null,
        "b" => ColumnType::Boolean,
        "z" => ColumnType::Binary(OffsetWidth::I32),
        "Z" => ColumnType::Binary(OffsetWidth::I64),
        "u" => ColumnType::Utf8(OffsetWidth::I32),
        "U" => ColumnType::Utf8(OffsetWidth::I64),
        "vz" => ColumnType::BinaryView,
        "vu" => ColumnType::Utf8View,
        "tdD" => ColumnType::Date32,
        "tdm" => ColumnType::Date64,
        "tiM" => ColumnType::Interval(IntervalUnit::YearMonth),
        "tiD" => ColumnType::Interval(IntervalUnit::DayTime),
        "tin" => ColumnType::Interval(IntervalUnit::MonthDayNano),
        "c" | "C" | "s" | "S" | "i" | "I" | "l" | "L" | "e" | "f" | "g" => {
            let Ok(ArrowFormat::Scalar(dtype)) = ArrowFormat::parse(format) else { return None };
            ColumnType::Fixed(dtype)
        }
        _ => return None,
    })
}

const UNITS: [(&str, TimeUnit); 4] = [
    ("s", TimeUnit::SECOND),
    ("m", TimeUnit::MILLISECOND),
    ("u", TimeUnit::MICROSECOND),
    ("n", TimeUnit::NANOSECOND),
];

fn unit(letter: &str) -> Option<TimeUnit> {
    UNITS.iter().find(|(known, _)| *known == letter).map(|&(_, unit)| unit)
}

fn letter(unit: TimeUnit) -> &'static str {
    UNITS.iter().find(|(_, known)| *known == unit).map_or("?", |(letter, _)| letter)
}

/// The type that a format string and the fields of the children describe; `extension` is the name
/// of the extension type, if there is one.
///
/// # Errors
///
/// `is_unsupported` for unknown formats; `is_malformed` for parameters that are no numbers and a
/// wrong number of children; `is_value` as [`Field::new`].
pub(super) fn parse(
    format: &str,
    children: Vec<Field>,
    keys_sorted: bool,
    extension: Option<&str>,
) -> Result<ColumnType> {
    let found = children.len();
    if format.starts_with('+') {
        return nested(format, children, keys_sorted);
    }
    if found != 0 {
        return Err(malformed(format!("its schema has {found} children, but its format requires 0")));
    }
    if format == "c" && extension == Some(BOOL8) {
        return Ok(ColumnType::Fixed(DType::BOOL));
    }
    let timed = match (format.get(..2), format.get(2..3).and_then(unit), format.get(3..)) {
        (Some("tt"), Some(unit), Some("")) => Some(ColumnType::Time(unit)),
        (Some("tD"), Some(unit), Some("")) => Some(ColumnType::Duration(unit)),
        (Some("ts"), Some(unit), Some(zone)) if zone.starts_with(':') => {
            let zone = (zone.len() > 1).then(|| zone[1..].into());
            Some(ColumnType::Timestamp { unit, zone })
        }
        _ => None,
    };
    if let Some(ty) = timed.or_else(|| plain(format)) {
        return Ok(ty);
    }
    match format.split_once(':') {
        Some(("w", width)) => Ok(ColumnType::FixedBinary(number(format, width)?)),
        Some(("d", numbers)) => decimal(format, numbers),
        _ => Err(unknown(format)),
    }
}

fn decimal(format: &str, numbers: &str) -> Result<ColumnType> {
    let mut numbers = numbers.split(',');
    let (precision, scale, bits, more) = (numbers.next(), numbers.next(), numbers.next(), numbers.next());
    let parsed = (
        precision.and_then(|number| number.parse().ok()),
        scale.and_then(|number| number.parse().ok()),
        bits.map_or(Some(128), |number| number.parse().ok()),
    );
    match (parsed, more) {
        ((Some(precision), Some(scale), Some(bits)), None) => {
            Ok(ColumnType::Decimal { bits, precision, scale })
        }
        _ => Err(malformed(format!("format {} is no decimal", shown(format)))),
    }
}

fn nested(format: &str, children: Vec<Field>, keys_sorted: bool) -> Result<ColumnType> {
    let found = children.len();
    let wrong = |wanted: usize| {
        malformed(format!("its schema has {found} children, but its format requires {wanted}"))
    };
    let one = |children: Vec<Field>| {
        <[Field; 1]>::try_from(children).map(|[item]| Arc::new(item)).map_err(|_| wrong(1))
    };
    let (narrow, wide) = (OffsetWidth::I32, OffsetWidth::I64);
    let (name, numbers) = format.split_once(':').unwrap_or((format, ""));
    Ok(match name {
        "+s" if format == name => ColumnType::Struct(children.into()),
        "+l" if format == name => ColumnType::List { item: one(children)?, offsets: narrow },
        "+L" if format == name => ColumnType::List { item: one(children)?, offsets: wide },
        "+vl" if format == name => ColumnType::ListView { item: one(children)?, offsets: narrow },
        "+vL" if format == name => ColumnType::ListView { item: one(children)?, offsets: wide },
        "+m" if format == name => ColumnType::Map { entries: one(children)?, keys_sorted },
        "+r" if format == name => {
            let [run_ends, values] = <[Field; 2]>::try_from(children).map_err(|_| wrong(2))?;
            ColumnType::RunEndEncoded { run_ends: run_ends.into(), values: values.into() }
        }
        "+w" => ColumnType::FixedList { item: one(children)?, len: number(format, numbers)? },
        "+ud" | "+us" => {
            let mode = if name == "+ud" { UnionMode::Dense } else { UnionMode::Sparse };
            let id = |id: &str| {
                id.parse().map_err(|_| malformed(format!("format {} has no numbers", shown(format))))
            };
            let ids = match numbers {
                "" => vec![],
                _ => numbers.split(',').map(id).collect::<Result<Vec<i8>>>()?,
            };
            ColumnType::Union { mode, fields: children.into(), ids: ids.into() }
        }
        _ => return Err(unknown(format)),
    })
}

fn number(format: &str, digits: &str) -> Result<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number = if is_number { digits.parse().ok() } else { None };
    number.ok_or_else(|| malformed(format!("format {} has no number after the colon", shown(format))))
}

/// An untrusted format of any length, shortened for an error.
fn shown(format: &str) -> String {
    format!("{:?}", format.chars().take(40).collect::<String>())
}

#[cold]
fn unknown(format: &str) -> Error {
    let of_polars = match format.starts_with("_pl") {
        true => ": integers of 128 bits are Polars' own; cast the column to decimals or int64 there",
        false => "",
    };
    Error::new(Kind::Unsupported, format!("the Arrow format {} is unknown{of_polars}", shown(format)))
}

/// The format string of a type. For a dictionary, that of its indices.
///
/// # Errors
///
/// `is_unsupported` for dtypes that Arrow does not have.
pub(super) fn print(ty: &ColumnType) -> Result<Cow<'static, str>> {
    let wide = |width: &OffsetWidth| *width == OffsetWidth::I64;
    Ok(match ty {
        ColumnType::Null => "n".into(),
        ColumnType::Boolean => "b".into(),
        ColumnType::Fixed(dtype) if *dtype == DType::BOOL => "c".into(),
        ColumnType::Fixed(dtype) | ColumnType::Dictionary { index: dtype, .. } => to_format(dtype)?,
        ColumnType::Date32 => "tdD".into(),
        ColumnType::Date64 => "tdm".into(),
        ColumnType::Time(unit) => format!("tt{}", letter(*unit)).into(),
        ColumnType::Timestamp { unit, zone } => {
            format!("ts{}:{}", letter(*unit), zone.as_deref().unwrap_or_default()).into()
        }
        ColumnType::Duration(unit) => format!("tD{}", letter(*unit)).into(),
        ColumnType::Interval(IntervalUnit::YearMonth) => "tiM".into(),
        ColumnType::Interval(IntervalUnit::DayTime) => "tiD".into(),
        ColumnType::Interval(IntervalUnit::MonthDayNano) => "tin".into(),
        ColumnType::Decimal { bits: 128, precision, scale } => format!("d:{precision},{scale}").into(),
        ColumnType::Decimal { bits, precision, scale } => format!("d:{precision},{scale},{bits}").into(),
        ColumnType::FixedBinary(nbytes) => format!("w:{nbytes}").into(),
        ColumnType::Binary(width) => if wide(width) { "Z" } else { "z" }.into(),
        ColumnType::Utf8(width) => if wide(width) { "U" } else { "u" }.into(),
        ColumnType::BinaryView => "vz".into(),
        ColumnType::Utf8View => "vu".into(),
        ColumnType::List { offsets, .. } => if wide(offsets) { "+L" } else { "+l" }.into(),
        ColumnType::ListView { offsets, .. } => if wide(offsets) { "+vL" } else { "+vl" }.into(),
        ColumnType::FixedList { len, .. } => format!("+w:{len}").into(),
        ColumnType::Struct(_) => "+s".into(),
        ColumnType::Map { .. } => "+m".into(),
        ColumnType::RunEndEncoded { .. } => "+r".into(),
        ColumnType::Union { mode, ids, .. } => {
            let ids: Vec<String> = ids.iter().map(i8::to_string).collect();
            let letter = if *mode == UnionMode::Dense { 'd' } else { 's' };
            format!("+u{letter}:{}", ids.join(",")).into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_goes_either_way() {
        let fields = |count: usize| -> Vec<Field> {
            (0..count).map(|k| Field::new(k.to_string(), ColumnType::Fixed(DType::I32)).unwrap()).collect()
        };
        let leaves = "n b c C s S i I l L e f g z Z u U vz vu d:9,2 d:76,-4,256 d:9,0,32 d:18,1,64 w:0 w:42 tdD \
            tdm tts ttm ttu ttn tss: tsm:UTC tsu:Europe/Berlin tsn:+01:00 tDs tDm tDu tDn tiM tiD tin";
        let nested = [("+s", 0), ("+s", 3), ("+l", 1), ("+L", 1), ("+vl", 1), ("+vL", 1), ("+w:7", 1)];
        let unions = [("+us:5,7", 2), ("+ud:0", 1), ("+us:", 0), ("+r", 2)];
        let all = leaves.split_whitespace().map(|format| (format, 0)).chain(nested).chain(unions);
        for (format, children) in all {
            let ty = parse(format, fields(children), false, None).unwrap();
            assert_eq!(print(&ty).unwrap(), format);
            assert!(
                children == 0
                    || format == "+s"
                    || parse(format, fields(5), false, None).is_err()
                    || format.starts_with("+u")
            );
        }
        assert_eq!(parse("c", vec![], false, Some(BOOL8)).unwrap(), ColumnType::Fixed(DType::BOOL));
    }

    #[test]
    fn what_is_no_format_is_refused_by_name() {
        for format in
            ["", "x", "tsx:", "tss", "tt", "ttsx", "+", "+x", "+s:1", "\u{e9}\u{e9}", "ts\u{e9}", "+l:2"]
        {
            assert!(parse(format, vec![], false, None).unwrap_err().is_unsupported(), "{format}");
        }
        for format in
            ["w:", "w:-1", "w:99999999999999999999", "d:", "d:1", "d:1,2,3,4", "d:x,1", "+w:", "+ud:x"]
        {
            let child = if format.starts_with("+w") {
                vec![Field::new("x", ColumnType::Null).unwrap()]
            } else {
                vec![]
            };
            assert!(parse(format, child, false, None).unwrap_err().is_malformed(), "{format}");
        }
        assert!(print(&ColumnType::Fixed(DType::C64)).unwrap_err().is_unsupported());
    }
}
