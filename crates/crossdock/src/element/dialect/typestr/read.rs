//! Reads a Python literal as a dtype.

use crate::element::dialect::literal::Literal;
use crate::element::dialect::typestr::error::{malformed, shorten};
use crate::element::dialect::typestr::scalar;
use crate::element::{DType, Field, MAX_DEPTH, Scalar, ScalarKind};
use crate::error::{Error, Kind, Result};
use std::collections::HashMap;

/// `depth` counts records and bases around this one: a text cannot make this recurse deeper than a
/// dtype may be.
pub(super) fn read(literal: &Literal, depth: usize) -> Result<DType> {
    if depth > MAX_DEPTH {
        return Err(Error::new(
            Kind::Unsupported,
            format!("the dtype is nested more than {MAX_DEPTH} levels deep"),
        ));
    }
    match literal {
        Literal::Str(text) => scalar::named(text).unwrap_or_else(|| scalar::parse(text)),
        Literal::List(fields) => read_list(fields, depth),
        Literal::Dict(pairs) => read_dict(pairs, depth),
        Literal::Tuple(pair) => match pair.as_slice() {
            [base, shape] => DType::subarray(&read_shape(shape)?, read(base, depth + 1)?),
            _ => Err(malformed(format!(
                "a tuple of {} is not a dtype; a sub-array is a pair (base, shape)",
                pair.len()
            ))),
        },
        other => Err(malformed(format!("{} is not a dtype", other.describe()))),
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
                        "field {index} is a tuple of {}, not (name, type) or (name, type, shape)",
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
                    return Err(malformed(format!("field {index}: the title and the name must be strings")));
                }
            },
            other => {
                return Err(malformed(format!(
                    "the name of field {index} is {}, not a string",
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
                        "field {index} of {} bytes at offset {end} exceeds the address space",
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
                return Err(malformed(format!("the record has an unknown entry {:?}", shorten(key))));
            }
            other => return Err(malformed(format!("the record has {} as a key", other.describe()))),
        }
    }
    let list = |key: &str| match entries.get(key) {
        None => Ok(None),
        Some(Literal::List(items) | Literal::Tuple(items)) => Ok(Some(items)),
        Some(other) => Err(malformed(format!("the record's {key:?} is {}, not a list", other.describe()))),
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
        // `align` would set the offsets, but they are explicit here.
        Some(Literal::Bool(true)) if offsets.is_some() && entries.contains_key("itemsize") => {}
        Some(Literal::Bool(true)) => {
            return Err(Error::new(
                Kind::Unsupported,
                "an aligned record without 'offsets' and 'itemsize' is not supported; give both",
            ));
        }
        Some(other) => {
            return Err(malformed(format!("the record's 'aligned' is {}, not a boolean", other.describe())));
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
            Error::new(Kind::Overflow, format!("field {index} at offset {offset} exceeds the address space"))
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
