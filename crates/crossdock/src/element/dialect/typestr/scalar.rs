//! Type strings: byte order, letter, width, and the unit of a date.

use crate::element::dialect::typestr::error::{malformed, shorten};
use crate::element::{ByteOrder, DType, Scalar, ScalarKind, TimeBase, TimeUnit};
use crate::error::{Error, Kind, Result};

/// The kinds with their own name, by which they are displayed.
pub(crate) const NAMED: [ScalarKind; 30] = [
    ScalarKind::Bool,
    ScalarKind::Int8,
    ScalarKind::Int16,
    ScalarKind::Int32,
    ScalarKind::Int64,
    ScalarKind::UInt8,
    ScalarKind::UInt16,
    ScalarKind::UInt32,
    ScalarKind::UInt64,
    ScalarKind::Float16,
    ScalarKind::Float32,
    ScalarKind::Float64,
    ScalarKind::BFloat16,
    ScalarKind::LongDouble,
    ScalarKind::Float8E3M4,
    ScalarKind::Float8E4M3,
    ScalarKind::Float8E4M3B11Fnuz,
    ScalarKind::Float8E4M3Fn,
    ScalarKind::Float8E4M3Fnuz,
    ScalarKind::Float8E5M2,
    ScalarKind::Float8E5M2Fnuz,
    ScalarKind::Float8E8M0Fnu,
    ScalarKind::Float6E2M3Fn,
    ScalarKind::Float6E3M2Fn,
    ScalarKind::Float4E2M1Fn,
    ScalarKind::Complex32,
    ScalarKind::Complex64,
    ScalarKind::Complex128,
    ScalarKind::ComplexLongDouble,
    ScalarKind::Pointer,
];

/// The scalar that a text such as `bfloat16` or `>int16` names, if it names one.
pub(crate) fn named(text: &str) -> Option<Result<DType>> {
    let (order, name) = match text.chars().next() {
        Some('<') => (ByteOrder::Little, &text[1..]),
        Some('>') => (ByteOrder::Big, &text[1..]),
        Some('=' | '|') => (ByteOrder::NATIVE, &text[1..]),
        _ => (ByteOrder::NATIVE, text),
    };
    let kind = NAMED.iter().find(|kind| kind.name() == Some(name))?;
    Some(DType::scalar(*kind, order))
}

pub(super) fn parse(text: &str) -> Result<DType> {
    let bad = |why: &str| malformed(format!("the type string {:?} {why}", shorten(text)));
    let (order, rest) = match text.chars().next() {
        Some('<') => (ByteOrder::Little, &text[1..]),
        Some('>') => (ByteOrder::Big, &text[1..]),
        Some('=' | '|') => (ByteOrder::NATIVE, &text[1..]),
        Some(_) => (ByteOrder::NATIVE, text),
        None => return Err(bad("is empty")),
    };
    let Some(letter) = rest.chars().next() else {
        return Err(bad("names no type"));
    };
    let size = &rest[letter.len_utf8()..];
    if letter == 'O' {
        return Err(Error::new(
            Kind::Unsupported,
            "Python objects (type string 'O') are stored as a pickle, which is never executed; save the \
            array with a dtype of fixed width",
        ));
    }
    if letter == 'T' && size.is_empty() || letter == 't' {
        return Err(Error::new(
            Kind::Unsupported,
            format!(
                "the type string {:?} (strings of variable width, bit fields) is not supported",
                shorten(text)
            ),
        ));
    }
    // NumPy displays truth values this way in records.
    if letter == '?' && size.is_empty() {
        return DType::scalar(ScalarKind::Bool, order);
    }
    if letter == 'M' || letter == 'm' {
        let unit = match size.strip_prefix('8') {
            Some(unit) => parse_unit(unit)
                .map_err(|error| error.within(format_args!("type string {:?}", shorten(text))))?,
            None if size.is_empty() => TimeUnit::GENERIC,
            None => return Err(bad("is a date or duration that is not 8 bytes wide")),
        };
        let kind = if letter == 'M' { ScalarKind::DateTime(unit) } else { ScalarKind::TimeDelta(unit) };
        return DType::scalar(kind, order);
    }
    if !size.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(bad("has a size that is not a number"));
    }
    let size: u32 =
        if size.is_empty() { 0 } else { size.parse().map_err(|_| bad("has a size that is too large"))? };
    let kind = match (letter, size) {
        ('S', len) => ScalarKind::Bytes(len),
        ('U', len) => ScalarKind::Text(len),
        ('V', len) => ScalarKind::Void(len),
        _ => match FIXED.iter().find(|(symbol, width, _)| (*symbol, *width) == (letter, size)) {
            Some((.., kind)) => *kind,
            None => return Err(bad("is not a type of NumPy")),
        },
    };
    DType::scalar(kind, order)
}

/// Letter, width in bytes, kind. The table for both directions.
const FIXED: [(char, u32, ScalarKind); 16] = [
    ('b', 1, ScalarKind::Bool),
    ('i', 1, ScalarKind::Int8),
    ('i', 2, ScalarKind::Int16),
    ('i', 4, ScalarKind::Int32),
    ('i', 8, ScalarKind::Int64),
    ('u', 1, ScalarKind::UInt8),
    ('u', 2, ScalarKind::UInt16),
    ('u', 4, ScalarKind::UInt32),
    ('u', 8, ScalarKind::UInt64),
    ('f', 2, ScalarKind::Float16),
    ('f', 4, ScalarKind::Float32),
    ('f', 8, ScalarKind::Float64),
    ('f', 16, ScalarKind::LongDouble),
    ('c', 8, ScalarKind::Complex64),
    ('c', 16, ScalarKind::Complex128),
    ('c', 32, ScalarKind::ComplexLongDouble),
];

/// `[25us]`, or nothing for no unit.
fn parse_unit(text: &str) -> Result<TimeUnit> {
    if text.is_empty() {
        return Ok(TimeUnit::GENERIC);
    }
    let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
        return Err(malformed("a unit must be in square brackets, as in [ns]".into()));
    };
    if inside.contains('/') {
        return Err(Error::new(
            Kind::Unsupported,
            "a unit with a divisor is not supported; write it as a multiple of a smaller one",
        ));
    }
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    let (multiple, symbol) = inside.split_at(digits);
    let multiple = if digits == 0 {
        1
    } else {
        multiple.parse().map_err(|_| malformed("the multiple of the unit is too large".into()))?
    };
    match TimeBase::from_symbol(symbol) {
        Some(base) => TimeUnit::new(base, multiple).map_err(|error| malformed(error.to_string())),
        None => Err(malformed(format!("{:?} is not a unit of time", shorten(symbol)))),
    }
}

pub(super) fn print(scalar: Scalar) -> Result<String> {
    let kind = scalar.kind();
    let mark = scalar.byte_order().map_or('|', ByteOrder::symbol);
    let unit = |letter: char, unit: TimeUnit| match unit.base() {
        TimeBase::Generic => format!("{mark}{letter}8"),
        _ => format!("{mark}{letter}8[{unit}]"),
    };
    Ok(match kind {
        ScalarKind::Bytes(len) => format!("|S{len}"),
        ScalarKind::Text(len) => format!("{mark}U{len}"),
        ScalarKind::Void(len) => format!("|V{len}"),
        ScalarKind::DateTime(of) => unit('M', of),
        ScalarKind::TimeDelta(of) => unit('m', of),
        _ => match FIXED.iter().find(|(.., fixed)| *fixed == kind) {
            Some((letter, width, _)) => format!("{mark}{letter}{width}"),
            None => {
                return Err(Error::new(Kind::Unsupported, format!("NumPy has no type string for {kind}")));
            }
        },
    })
}
