//! NumPy's spelling: `<f8` for a scalar, a Python literal for everything else.
//!
//! [`parse`] takes both. A literal is a list of fields, `[('a', '<i4'), ('b', '<f8', (2, 3))]`, where a field without a
//! name, `('', '|V4')`, is padding and `(('title', 'name'), '<i4')` has a title; a dictionary, `{'names': […],
//! 'formats': […], 'offsets': […], 'titles': […], 'itemsize': n}`, which can say where each field lies; or a pair of
//! a base and a shape, `('<f8', (2, 3))`.
//!
//! [`print`](fn@print) writes what `numpy.dtype(ast.literal_eval(text))` turns into the equal dtype (a scalar bare,
//! without quotes). [`print_descr`] writes what the header of an `.npy` file and `__array_interface__` want, who know
//! padding as fields without a name but no dictionaries.

use crate::element::dialect::literal::{self, Literal};
use crate::element::{
    ByteOrder, DType, DTypeKind, Field, MAX_DEPTH, Record, Scalar, ScalarKind, TimeBase, TimeUnit,
};
use crate::error::{Error, Kind, Result};
use std::collections::HashMap;
use std::fmt::Write;

/// Reads a typestr (`<f8`) or the Python literal of a dtype.
///
/// The order `=`, `|` or none at all means the machine's own. Records made from lists are packed, and their padding
/// entries become gaps.
///
/// # Errors
///
/// A malformed error for what breaks the rules; an unsupported error for object references (a pickle, which is never
/// executed) and for types of NumPy that have no fixed width.
///
/// ```
/// use crossdock::element::{DType, dialect::typestr};
///
/// assert_eq!(typestr::parse("|u1")?, DType::U8);
/// let dtype = typestr::parse("[('a', '<i4'), ('', '|V4'), ('b', '<f8', (2,))]")?;
/// assert_eq!(dtype.field("b").unwrap().offset(), 8);
/// assert!(typestr::parse("|O").unwrap_err().is_unsupported());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn parse(text: &str) -> Result<DType> {
    if text.trim_start().starts_with(['[', '(', '{', '\'', '"']) {
        from_literal(&literal::parse(text)?)
    } else {
        parse_scalar(text)
    }
}

/// Writes a dtype so that `numpy.dtype` makes the equal one of it: a typestr for a scalar, otherwise a Python literal.
///
/// # Errors
///
/// An unsupported error that names the part which NumPy has no spelling for, as `bfloat16`.
///
/// ```
/// use crossdock::element::{ByteOrder, DType, Field, ScalarKind, dialect::typestr};
///
/// let price = DType::scalar(ScalarKind::Float64, ByteOrder::Big)?;
/// assert_eq!(typestr::print(&price)?, ">f8");
/// let padded = DType::record([Field::new("kind", 0, DType::U8), Field::new("price", 8, price)], 16)?;
/// assert_eq!(
///     typestr::print(&padded)?,
///     "{'names': ['kind', 'price'], 'formats': ['|u1', '>f8'], 'offsets': [0, 8], 'itemsize': 16}"
/// );
/// assert_eq!(typestr::print_descr(&padded)?, "[('kind', '|u1'), ('', '|V7'), ('price', '>f8')]");
/// assert!(typestr::print(&DType::BF16).unwrap_err().to_string().contains("bfloat16"));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn print(dtype: &DType) -> Result<String> {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => print_scalar(scalar),
        _ => Printer { dictionaries: true }.dtype(dtype),
    }
}

/// Writes a dtype as `descr`, the way the header of an `.npy` file has it: a quoted typestr for a scalar, a list with
/// padding entries for a record.
///
/// # Errors
///
/// An unsupported error that names the part which NumPy has no spelling for, or which a list cannot say: fields that
/// overlap or are not in the order of their offsets.
pub fn print_descr(dtype: &DType) -> Result<String> {
    Printer { dictionaries: false }.dtype(dtype)
}

/// The dtype that a literal stands for. See [`parse`].
pub(crate) fn from_literal(literal: &Literal) -> Result<DType> {
    read(literal, 0)
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}

// ===== scalars =====

fn parse_scalar(text: &str) -> Result<DType> {
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
            "object references (type string 'O') are a pickle: it is never executed; save the array with a dtype of fixed width",
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
    if letter == 'M' || letter == 'm' {
        let unit = match size.strip_prefix('8') {
            Some(unit) => parse_unit(unit)
                .map_err(|error| error.within(format_args!("type string {:?}", shorten(text))))?,
            None if size.is_empty() => TimeUnit::GENERIC,
            None => return Err(bad("is a date or duration of other than 8 bytes")),
        };
        let kind = if letter == 'M' { ScalarKind::DateTime(unit) } else { ScalarKind::TimeDelta(unit) };
        return DType::scalar(kind, order);
    }
    if !size.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(bad("has no plain number for its size"));
    }
    let size: u32 =
        if size.is_empty() { 0 } else { size.parse().map_err(|_| bad("has a size beyond all bounds"))? };
    let kind = match (letter, size) {
        ('S', len) => ScalarKind::Bytes(len),
        ('U', len) => ScalarKind::Text(len),
        ('V', len) => ScalarKind::Void(len),
        _ => match FIXED.iter().find(|(symbol, width, _)| (*symbol, *width) == (letter, size)) {
            Some((.., kind)) => *kind,
            None => return Err(bad("is none of NumPy's types")),
        },
    };
    DType::scalar(kind, order)
}

/// Letter, width in bytes, kind.
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
        return Err(malformed("a unit stands in square brackets, as [ns]".into()));
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
        multiple.parse().map_err(|_| malformed("the multiple of the unit is beyond all bounds".into()))?
    };
    match TimeBase::from_symbol(symbol) {
        Some(base) => TimeUnit::new(base, multiple).map_err(|error| malformed(error.to_string())),
        None => Err(malformed(format!("{:?} is no unit of time", shorten(symbol)))),
    }
}

fn print_scalar(scalar: Scalar) -> Result<String> {
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

fn shorten(text: &str) -> String {
    let mut letters = text.chars();
    let mut short: String = letters.by_ref().take(40).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

// ===== literals: reading =====

/// `depth` counts records and bases around this one: a text cannot make this recurse deeper than a dtype may be.
fn read(literal: &Literal, depth: usize) -> Result<DType> {
    if depth > MAX_DEPTH {
        return Err(Error::new(
            Kind::Unsupported,
            format!("a dtype nested more than the {MAX_DEPTH} levels deep that are supported"),
        ));
    }
    match literal {
        Literal::Str(text) => parse_scalar(text),
        Literal::List(fields) => read_list(fields, depth),
        Literal::Dict(pairs) => read_dict(pairs, depth),
        Literal::Tuple(pair) => match pair.as_slice() {
            [base, shape] => DType::subarray(&read_shape(shape)?, read(base, depth + 1)?),
            _ => Err(malformed(format!(
                "a tuple of {} is no dtype: a sub-array is a pair of base and shape",
                pair.len()
            ))),
        },
        other => Err(malformed(format!("{} is no dtype", other.describe()))),
    }
}

fn read_list(entries: &[Literal], depth: usize) -> Result<DType> {
    let (mut fields, mut end) = (Vec::with_capacity(entries.len()), 0_usize);
    for (index, entry) in entries.iter().enumerate() {
        let (label, base, shape) = match entry {
            Literal::Tuple(parts) => match parts.as_slice() {
                [label, base] => (label, base, None),
                [label, base, shape] => (label, base, Some(shape)),
                _ => {
                    return Err(malformed(format!(
                        "field {index} is a tuple of {}: a name, a type, and perhaps a shape were expected",
                        parts.len()
                    )));
                }
            },
            other => return Err(malformed(format!("field {index} is {}, not a tuple", other.describe()))),
        };
        let (title, name) = match label {
            Literal::Str(name) => (None, name.as_str()),
            Literal::Tuple(pair) => match pair.as_slice() {
                [Literal::Str(title), Literal::Str(name)] => (Some(title), name.as_str()),
                _ => {
                    return Err(malformed(format!(
                        "field {index}: a title and a name, both strings, were expected"
                    )));
                }
            },
            other => {
                return Err(malformed(format!(
                    "field {index} is named by {}, not a string",
                    other.describe()
                )));
            }
        };
        let within = |error: Error| error.within(format_args!("field {index} ({:?})", shorten(name)));
        let base = read(base, depth + 1).map_err(within)?;
        let dtype = match shape {
            Some(shape) => {
                read_shape(shape).and_then(|shape| DType::subarray(&shape, base)).map_err(within)?
            }
            None => base,
        };
        let next = end.checked_add(dtype.itemsize()).filter(|&next| next <= isize::MAX as usize).ok_or_else(
            || {
                Error::new(
                    Kind::Overflow,
                    format!(
                        "field {index} of {} bytes at offset {end} ends outside of the address space",
                        dtype.itemsize()
                    ),
                )
            },
        )?;
        let padding = name.is_empty()
            && title.is_none()
            && matches!(dtype.as_scalar().map(Scalar::kind), Some(ScalarKind::Void(_)));
        if !padding {
            let field = Field::new(name, end, dtype);
            fields.push(match title {
                Some(title) => field.with_title(title),
                None => field,
            });
        }
        end = next;
    }
    DType::record(fields, end)
}

fn read_dict(pairs: &[(Literal, Literal)], depth: usize) -> Result<DType> {
    let mut entries = HashMap::new();
    for (key, value) in pairs {
        match key {
            Literal::Str(key)
                if ["names", "formats", "offsets", "titles", "itemsize", "aligned"]
                    .contains(&key.as_str()) =>
            {
                if entries.insert(key.as_str(), value).is_some() {
                    return Err(malformed(format!("the record has {key:?} twice")));
                }
            }
            Literal::Str(key) => {
                return Err(malformed(format!(
                    "the record has an entry {:?}, which means nothing",
                    shorten(key)
                )));
            }
            other => return Err(malformed(format!("the record has {} for a key", other.describe()))),
        }
    }
    let list = |key: &str| match entries.get(key) {
        None => Ok(None),
        Some(Literal::List(items) | Literal::Tuple(items)) => Ok(Some(items)),
        Some(other) => Err(malformed(format!("{key:?} of the record is {}, not a list", other.describe()))),
    };
    let required = |key: &str| list(key)?.ok_or_else(|| malformed(format!("the record has no {key:?}")));
    let (names, formats) = (required("names")?, required("formats")?);
    let (offsets, titles) = (list("offsets")?, list("titles")?);
    let lengths = [("formats", Some(formats)), ("offsets", offsets), ("titles", titles)];
    for (key, items) in lengths.into_iter().filter_map(|(key, items)| Some((key, items?))) {
        if items.len() != names.len() {
            return Err(malformed(format!("the record has {} names but {} {key}", names.len(), items.len())));
        }
    }
    match entries.get("aligned") {
        None | Some(Literal::Bool(false)) => {}
        // It would decide where fields lie, had they not been placed.
        Some(Literal::Bool(true)) if offsets.is_some() && entries.contains_key("itemsize") => {}
        Some(Literal::Bool(true)) => {
            return Err(Error::new(
                Kind::Unsupported,
                "an aligned record without offsets and itemsize is not supported; give both",
            ));
        }
        Some(other) => {
            return Err(malformed(format!("'aligned' of the record is {}, not a boolean", other.describe())));
        }
    }

    let (mut fields, mut end, mut last) = (Vec::with_capacity(names.len()), 0_usize, 0_usize);
    for (index, (name, format)) in names.iter().zip(formats).enumerate() {
        let Literal::Str(name) = name else {
            return Err(malformed(format!(
                "name {index} of the record is {}, not a string",
                name.describe()
            )));
        };
        let within = |error: Error| error.within(format_args!("field {index} ({:?})", shorten(name)));
        let dtype = read(format, depth + 1).map_err(within)?;
        let offset = match offsets {
            Some(offsets) => read_size(&offsets[index], "offset").map_err(within)?,
            None => last,
        };
        last = offset.checked_add(dtype.itemsize()).ok_or_else(|| {
            Error::new(
                Kind::Overflow,
                format!("field {index} at offset {offset} ends outside of the address space"),
            )
        })?;
        end = end.max(last);
        let field = Field::new(name, offset, dtype);
        fields.push(match titles.map(|titles| &titles[index]) {
            None | Some(Literal::None) => field,
            Some(Literal::Str(title)) => field.with_title(title),
            Some(other) => {
                return Err(malformed(format!(
                    "title {index} of the record is {}, not a string",
                    other.describe()
                )));
            }
        });
    }
    let itemsize = match entries.get("itemsize") {
        Some(size) => read_size(size, "itemsize")?,
        None => end,
    };
    DType::record(fields, itemsize)
}

/// An extent, or a list or tuple of them.
fn read_shape(literal: &Literal) -> Result<Vec<usize>> {
    match literal {
        Literal::Int(_) => Ok(vec![read_size(literal, "extent")?]),
        Literal::Tuple(extents) | Literal::List(extents) => {
            extents.iter().map(|extent| read_size(extent, "extent")).collect()
        }
        other => Err(malformed(format!(
            "the shape of a sub-array is {}, not a tuple of integers",
            other.describe()
        ))),
    }
}

fn read_size(literal: &Literal, what: &str) -> Result<usize> {
    match literal {
        Literal::Int(size) => {
            usize::try_from(*size).map_err(|_| malformed(format!("the {what} {size} is out of range")))
        }
        other => Err(malformed(format!("the {what} is {}, not an integer", other.describe()))),
    }
}

// ===== literals: writing =====

struct Printer {
    /// Whether a record that a list cannot describe may be written as a dictionary.
    dictionaries: bool,
}

impl Printer {
    /// Recurses as deep as the dtype is, which is bounded.
    fn dtype(&self, dtype: &DType) -> Result<String> {
        match dtype.kind() {
            DTypeKind::Scalar(scalar) => Ok(literal::quote(&print_scalar(scalar)?)),
            DTypeKind::SubArray(subarray) => {
                Ok(format!("({}, {})", self.dtype(subarray.base())?, tuple(subarray.shape())))
            }
            DTypeKind::Record(record) if record.is_packed() => self.list(record),
            DTypeKind::Record(record) if self.dictionaries => self.dict(record),
            DTypeKind::Record(record) => self.list(record),
        }
    }

    fn list(&self, record: &Record) -> Result<String> {
        let (mut text, mut end) = (String::from("["), 0);
        let mut separator = "";
        let mut entry = |entry: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{entry}");
            separator = ", ";
        };
        for field in record.fields() {
            let Some(gap) = field.offset().checked_sub(end) else {
                return Err(Error::new(
                    Kind::Unsupported,
                    format!(
                        "a list of fields cannot say that field {:?} begins at byte {} although the one before it ends at {end}",
                        field.name(),
                        field.offset()
                    ),
                ));
            };
            if gap > 0 {
                entry(format_args!("('', '|V{gap}')"));
            }
            end = field.end();
            let name = literal::quote(field.name());
            let label = match field.title() {
                Some(title) => format!("({}, {name})", literal::quote(title)),
                None => name,
            };
            let within = |error: Error| error.within(format_args!("field {:?}", field.name()));
            match field.dtype().as_subarray() {
                Some(subarray) => {
                    let base = self.dtype(subarray.base()).map_err(within)?;
                    entry(format_args!("({label}, {base}, {})", tuple(subarray.shape())));
                }
                None => entry(format_args!("({label}, {})", self.dtype(field.dtype()).map_err(within)?)),
            }
        }
        let gap = record.itemsize() - end;
        if gap > 0 {
            entry(format_args!("('', '|V{gap}')"));
        }
        text.push(']');
        Ok(text)
    }

    fn dict(&self, record: &Record) -> Result<String> {
        let fields = record.fields();
        let list = |item: &dyn Fn(&Field) -> Result<String>| {
            Ok::<_, Error>(fields.iter().map(item).collect::<Result<Vec<_>>>()?.join(", "))
        };
        let names = list(&|field| Ok(literal::quote(field.name())))?;
        let formats = list(&|field| {
            self.dtype(field.dtype()).map_err(|error| error.within(format_args!("field {:?}", field.name())))
        })?;
        let offsets = list(&|field| Ok(field.offset().to_string()))?;
        let mut text = format!("{{'names': [{names}], 'formats': [{formats}], 'offsets': [{offsets}]");
        if fields.iter().any(|field| field.title().is_some()) {
            let titles = list(&|field| Ok(field.title().map_or("None".into(), literal::quote)))?;
            text.push_str(&format!(", 'titles': [{titles}]"));
        }
        text.push_str(&format!(", 'itemsize': {}}}", record.itemsize()));
        Ok(text)
    }
}

fn tuple(shape: &[usize]) -> String {
    let extents: Vec<_> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("({}{comma})", extents.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(fields: &[(&str, DType)]) -> DType {
        DType::packed_record(fields.iter().cloned()).unwrap()
    }

    fn little(kind: ScalarKind) -> DType {
        DType::scalar(kind, ByteOrder::Little).unwrap()
    }

    fn big(kind: ScalarKind) -> DType {
        DType::scalar(kind, ByteOrder::Big).unwrap()
    }

    #[test]
    fn scalars_are_read_and_written() {
        let unit = TimeUnit::new(TimeBase::Microsecond, 25).unwrap();
        for (text, dtype) in [
            ("|b1", DType::BOOL),
            ("|i1", DType::I8),
            ("|u1", DType::U8),
            ("<i2", little(ScalarKind::Int16)),
            (">u8", big(ScalarKind::UInt64)),
            ("<f2", little(ScalarKind::Float16)),
            (">f4", big(ScalarKind::Float32)),
            ("<f8", little(ScalarKind::Float64)),
            ("<f16", little(ScalarKind::LongDouble)),
            (">c8", big(ScalarKind::Complex64)),
            ("<c16", little(ScalarKind::Complex128)),
            (">c32", big(ScalarKind::ComplexLongDouble)),
            ("|S0", DType::bytes(0).unwrap()),
            ("|S17", DType::bytes(17).unwrap()),
            (">U5", big(ScalarKind::Text(5))),
            ("|V8", DType::void(8).unwrap()),
            ("<M8[25us]", little(ScalarKind::DateTime(unit))),
            (">M8", big(ScalarKind::DateTime(TimeUnit::GENERIC))),
            ("<m8[as]", little(ScalarKind::TimeDelta(TimeUnit::one(TimeBase::Attosecond)))),
        ] {
            assert_eq!(parse(text).unwrap(), dtype, "{text}");
            assert_eq!(print(&dtype).unwrap(), text);
            assert_eq!(parse(&print_descr(&dtype).unwrap()).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn other_spellings_of_the_same_scalar_are_read() {
        for (text, dtype) in [
            ("f8", DType::F64),
            ("=f8", DType::F64),
            ("|f8", DType::F64),
            (">i1", DType::I8),
            ("<S3", DType::bytes(3).unwrap()),
            ("S", DType::bytes(0).unwrap()),
            ("M8[1ns]", DType::datetime(TimeUnit::NANOSECOND)),
            ("m8[generic]", DType::timedelta(TimeUnit::GENERIC)),
            ("'i4'", DType::I32),
        ] {
            assert_eq!(parse(text).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn type_strings_that_mean_nothing_are_refused() {
        for text in [
            "",
            "<",
            "<<f8",
            "f",
            "<f3",
            "<f12",
            "<i16",
            "<i",
            "b4",
            "<x8",
            " <f8",
            "<f8 ",
            "<f+8",
            "<f8,<f8",
            "S-1",
            "é",
            "<é8",
            "S99999999999",
            "M4",
            "<M8[]",
            "<M8[us",
            "<M8us",
            "<M8[0us]",
            "<M8[-1us]",
            "<M8[2]",
            "<M8[2generic]",
            "<M8[ us]",
            "<M8[9999999999us]",
            "float64",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.is_malformed(), "{text:?}: {error}");
        }
        for text in ["S2147483648", "U536870912", "U4294967295"] {
            assert!(parse(text).unwrap_err().is_overflow(), "{text}");
        }
        for text in ["T", "<t4", "M8[7D/3]"] {
            assert!(parse(text).unwrap_err().is_unsupported(), "{text}");
        }
    }

    #[test]
    fn objects_are_refused_as_pickles_wherever_they_stand() {
        for text in [
            "O",
            "|O",
            "|O8",
            "'|O'",
            "[('a', '<i4'), ('b', 'O')]",
            "[('a', [('b', '|O', (2,))])]",
            "('O', (2,))",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains("pickle"), "{text}: {error}");
        }
    }

    #[test]
    fn records_are_read_and_written() {
        let inner = packed(&[("x", little(ScalarKind::Float32)), ("y", DType::U8)]);
        let pairs = DType::subarray(&[2, 3], inner.clone()).unwrap();
        let gap =
            DType::record([Field::new("a", 0, DType::U8), Field::new("b", 8, big(ScalarKind::Float64))], 24);
        let union =
            DType::record([Field::new("a", 0, DType::void(4).unwrap()), Field::new("b", 2, DType::U8)], 4);
        let titled =
            DType::record([Field::new("a", 0, DType::U8).with_title("t'"), Field::new("b", 1, DType::U8)], 2)
                .unwrap();
        let titled_gap =
            DType::record([Field::new("a", 0, DType::U8).with_title("t"), Field::new("b", 1, DType::U8)], 4)
                .unwrap();
        for (dtype, text) in [
            (packed(&[]), "[]"),
            (inner.clone(), "[('x', '<f4'), ('y', '|u1')]"),
            (packed(&[("p", pairs.clone())]), "[('p', [('x', '<f4'), ('y', '|u1')], (2, 3))]"),
            (pairs, "([('x', '<f4'), ('y', '|u1')], (2, 3))"),
            (DType::subarray(&[3], DType::U8).unwrap(), "('|u1', (3,))"),
            (packed(&[("n", inner)]), "[('n', [('x', '<f4'), ('y', '|u1')])]"),
            (titled, "[(('t\\'', 'a'), '|u1'), ('b', '|u1')]"),
            (
                gap.unwrap(),
                "{'names': ['a', 'b'], 'formats': ['|u1', '>f8'], 'offsets': [0, 8], 'itemsize': 24}",
            ),
            (
                packed(&[("u", union.unwrap())]),
                "[('u', {'names': ['a', 'b'], 'formats': ['|V4', '|u1'], 'offsets': [0, 2], 'itemsize': 4})]",
            ),
            (
                titled_gap,
                "{'names': ['a', 'b'], 'formats': ['|u1', '|u1'], 'offsets': [0, 1], 'titles': ['t', None], 'itemsize': 4}",
            ),
            (
                packed(&[("it's\n", DType::U8), ("größe", DType::U8)]),
                "[('it\\'s\\n', '|u1'), ('größe', '|u1')]",
            ),
        ] {
            assert_eq!(print(&dtype).unwrap(), text);
            assert_eq!(parse(text).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn a_list_with_padding_says_where_fields_lie() {
        let dtype =
            DType::record([Field::new("a", 2, DType::U8), Field::new("b", 8, DType::I8)], 12).unwrap();
        let text = "[('', '|V2'), ('a', '|u1'), ('', '|V5'), ('b', '|i1'), ('', '|V3')]";
        assert_eq!(print_descr(&dtype).unwrap(), text);
        assert_eq!(parse(text).unwrap(), dtype);
        let turned =
            DType::record([Field::new("a", 8, DType::U8), Field::new("b", 0, DType::I8)], 12).unwrap();
        let error = print_descr(&turned).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("\"b\""), "{error}");
        // Inside of a record too.
        let nested = packed(&[("n", turned)]);
        assert!(print_descr(&nested).unwrap_err().to_string().contains("\"n\""));
    }

    #[test]
    fn other_spellings_of_the_same_record_are_read() {
        let dtype = packed(&[("a", DType::subarray(&[3], DType::U8).unwrap()), ("b", DType::I8)]);
        for text in [
            "[('a', 'u1', 3), ('b', 'i1', ())]",
            "[('a', ('u1', 3)), ('b', 'i1')]",
            "[('a', 'u1', [3]), ('b', 'i1')]",
            "{'names': ('a', 'b'), 'formats': (('u1', (3,)), 'i1')}",
            "{'formats': [('u1', 3L), 'i1'], 'names': ['a', 'b'], 'titles': [None, None], 'aligned': False}",
            "{'names': ['a', 'b'], 'formats': [('u1', 3), 'i1'], 'offsets': [0, 3], 'itemsize': 4, 'aligned': True}",
        ] {
            assert_eq!(parse(text).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn records_that_lie_are_refused() {
        for text in [
            "[('a',)]",
            "[('a', 'u1', 2, 3)]",
            "['a']",
            "[(1, 'u1')]",
            "[(('t', 'n', 'x'), 'u1')]",
            "[('a', 'u1', -1)]",
            "[('a', 'u1', (2, None))]",
            "[('a', 'u1', 'x')]",
            "[('a', 'q9')]",
            "[('a', None)]",
            "('u1', (2,), 3)",
            "('u1',)",
            "{'names': ['a']}",
            "{'names': ['a'], 'formats': []}",
            "{'names': ['a'], 'formats': ['u1'], 'offsets': [0, 1]}",
            "{'names': ['a'], 'formats': ['u1'], 'offsets': [-1]}",
            "{'names': ['a'], 'formats': ['u1'], 'names': ['b']}",
            "{'names': ['a'], 'formats': ['u1'], 'colour': 1}",
            "{'names': 'a', 'formats': ['u1']}",
            "{'names': [1], 'formats': ['u1']}",
            "{'names': ['a'], 'formats': ['u1'], 'itemsize': 'x'}",
            "{'names': ['a'], 'formats': ['u1'], 'titles': [1]}",
            "{'a': ('u1', 0)}",
            "{1: 2}",
            "[('a', 'u1')",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.is_malformed(), "{text}: {error}");
        }
        for text in [
            "[('a', 'u1'), ('a', 'u1')]",
            "[('', 'u1')]",
            "[(('', 'a'), 'u1')]",
            "{'names': ['a'], 'formats': ['<i4'], 'itemsize': 2}",
            "{'names': ['a'], 'formats': ['<i4'], 'offsets': [1], 'itemsize': 4}",
        ] {
            assert!(parse(text).unwrap_err().is_dtype(), "{text}");
        }
        for text in [
            "[('a', 'u1', (4294967296, 4294967296))]",
            "[('a', 'u1', 9223372036854775807), ('b', 'u1')]",
            "{'names': ['a'], 'formats': ['u1'], 'offsets': [18446744073709551615]}",
            "{'names': [], 'formats': [], 'itemsize': 9223372036854775808}",
        ] {
            assert!(parse(text).unwrap_err().is_overflow(), "{text}");
        }
        assert!(parse("{'names': ['a'], 'formats': ['u1'], 'aligned': True}").unwrap_err().is_unsupported());
    }

    #[test]
    fn deep_and_wide_records_are_bounded() {
        let nested = |depth: usize| "[('a', ".repeat(depth) + "'u1'" + &")]".repeat(depth);
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(parse(&nested(MAX_DEPTH + 1)).unwrap_err().is_unsupported());
        assert!(parse(&nested(100_000)).is_err());
        let pairs = |depth: usize| "(".repeat(depth) + "'u1'" + &", 1)".repeat(depth);
        assert!(parse(&pairs(MAX_DEPTH)).is_ok());
        assert!(parse(&pairs(MAX_DEPTH + 1)).unwrap_err().is_unsupported());
        assert!(parse(&format!("('u1', ({}))", "1,".repeat(100_000))).unwrap_err().is_unsupported());
        let wide: String = (0..100_000).map(|index| format!("('f{index}', 'u1'), ")).collect();
        assert_eq!(parse(&format!("[{wide}]")).unwrap().itemsize(), 100_000);
    }

    #[test]
    fn what_numpy_cannot_say_is_named() {
        for dtype in [DType::BF16, DType::C32, DType::POINTER, DType::F8_E4M3FN, DType::F4_E2M1FN] {
            let error = print(&dtype).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains(&dtype.to_string()), "{error}");
        }
        let error = print(&packed(&[("deep", packed(&[("er", DType::BF16)]))])).unwrap_err().to_string();
        assert!(
            error.contains("\"deep\"") && error.contains("\"er\"") && error.contains("bfloat16"),
            "{error}"
        );
    }
}
