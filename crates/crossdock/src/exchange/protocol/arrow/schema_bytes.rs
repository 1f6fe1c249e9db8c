//! Fields as bytes, for pickles: the parts of Arrow's schema, each after its length.
//!
//! ```text
//!   format, name   text
//!   flags          u8, as in Arrow's schema; 8 if the only child is a dictionary
//!   metadata       u32, then so many keys and values
//!   children       u32, then so many fields
//! ```
//!
//! Text, keys and values are a u32 and so many bytes. Numbers are little-endian.

use std::borrow::Cow;

use crate::element::{DType, MAX_DEPTH};
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::column_format::print;
use crate::exchange::protocol::arrow::field::malformed;
use crate::exchange::protocol::arrow::table_schema::{field_of, flags};
use crate::table::{ColumnType, Field, MAX_COLUMNS, Metadata};

/// In the flags: the only child is a dictionary.
const DICTIONARY: u8 = 8;
/// In front of the name of a dtype that Arrow does not have.
const DTYPE: &str = "dtype:";

/// A field as bytes.
///
/// # Errors
///
/// `is_unsupported` for dtypes that neither Arrow nor a name describes; `is_overflow` for text
/// beyond 32 bits.
pub fn field_to_bytes(field: &Field) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    append(field, &mut bytes)?;
    Ok(bytes)
}

fn append(field: &Field, bytes: &mut Vec<u8>) -> Result<()> {
    let ty = field.column_type();
    append_text(format_of(ty)?.as_bytes(), bytes)?;
    append_text(field.name().as_bytes(), bytes)?;
    let is_dictionary = matches!(ty, ColumnType::Dictionary { .. });
    bytes.push(flags(field) as u8 | if is_dictionary { DICTIONARY } else { 0 });
    append_count(field.metadata().iter().len(), bytes)?;
    for (key, value) in field.metadata().iter() {
        append_text(key, bytes)?;
        append_text(value, bytes)?;
    }
    append_count(ty.fields().count(), bytes)?;
    ty.fields().try_for_each(|child| append(child, bytes))
}

/// The format of a type; the name of a dtype where Arrow has none without an extension type.
fn format_of(ty: &ColumnType) -> Result<Cow<'static, str>> {
    match (ty, print(ty)) {
        (ColumnType::Fixed(dtype), refused) if refused.is_err() || *dtype == DType::BOOL => {
            let name = dtype.to_string();
            match name.parse::<DType>() {
                Ok(same) if same == *dtype => Ok(format!("{DTYPE}{name}").into()),
                _ => refused,
            }
        }
        (_, format) => format,
    }
}

fn append_text(text: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
    append_count(text.len(), bytes)?;
    bytes.extend(text);
    Ok(())
}

fn append_count(count: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let count = u32::try_from(count).map_err(|_| {
        Error::new(Kind::Overflow, format!("{count} bytes or parts of a schema exceed 32 bits"))
    })?;
    bytes.extend(count.to_le_bytes());
    Ok(())
}

/// The field of such bytes, which may be of any content.
///
/// # Errors
///
/// `is_malformed` for bytes that [`field_to_bytes`] does not write; as
/// [`import_field`](super::import_field).
pub fn field_from_bytes(bytes: &[u8]) -> Result<Field> {
    let mut reader = FieldReader { rest: bytes, columns: 0 };
    let field = reader.field(0)?;
    match reader.rest.len() {
        0 => Ok(field),
        more => Err(malformed(format!("{more} bytes follow the schema"))),
    }
}

/// Reads fields, and counts them.
struct FieldReader<'a> {
    rest: &'a [u8],
    columns: usize,
}

impl<'a> FieldReader<'a> {
    fn field(&mut self, depth: usize) -> Result<Field> {
        self.columns += 1;
        if depth >= MAX_DEPTH || self.columns > MAX_COLUMNS {
            return Err(malformed(format!(
                "it has more than {MAX_COLUMNS} columns, or columns nested more than {MAX_DEPTH} levels deep"
            )));
        }
        let (format, name) = (self.text()?, self.text()?);
        let flags = self.take(1)?[0];
        let mut pairs = Vec::new();
        for _ in 0..self.count()? {
            pairs.push((self.bytes()?, self.bytes()?));
        }
        let metadata = Metadata::new(pairs);
        let mut children = Vec::new();
        for _ in 0..self.count()? {
            children.push(self.field(depth + 1)?);
        }
        if let Some(name_of_dtype) = format.strip_prefix(DTYPE) {
            if !children.is_empty() {
                return Err(malformed(format!("its format {format:?} has no children")));
            }
            let field = Field::new(name, ColumnType::Fixed(name_of_dtype.parse()?))?;
            return Ok(field.with_nullable(flags & 2 != 0).with_metadata(metadata));
        }
        let dictionary = match flags & DICTIONARY {
            0 => None,
            _ => Some(children.pop().ok_or_else(|| malformed("it has no dictionary"))?),
        };
        field_of(name, format, (flags & !DICTIONARY).into(), metadata, children, dictionary)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| {
            malformed(format!(
                "its schema ends after {} bytes, and {len} more were announced",
                self.rest.len()
            ))
        })?;
        self.rest = rest;
        Ok(taken)
    }

    fn count(&mut self) -> Result<usize> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.count()?;
        self.take(len)
    }

    fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| malformed("its schema has text that is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_from_their_bytes_and_damaged_ones_refused() {
        let name = Metadata::new([("ARROW:extension:name", "x"), ("", "\0")]);
        let item = Field::new("item", ColumnType::Fixed(DType::BOOL)).unwrap();
        let values = Field::new("", ColumnType::list(item)).unwrap().with_nullable(false).with_metadata(name);
        let ty = ColumnType::Dictionary { index: DType::I8, values: values.into(), ordered: true };
        let moment = Field::new("M", ColumnType::Fixed("datetime64[h]".parse().unwrap())).unwrap();
        let field =
            Field::new("né", ColumnType::Struct([moment, Field::new("d", ty).unwrap()].into())).unwrap();
        let bytes = field_to_bytes(&field).unwrap();
        assert_eq!(field_from_bytes(&bytes).unwrap(), field);
        for len in 0..bytes.len() {
            assert!(field_from_bytes(&bytes[..len]).is_err(), "{len}");
        }
        for index in 0..bytes.len() {
            for value in [0, 1, 8, 9, 127, 255] {
                let mut damaged = bytes.clone();
                damaged[index] = value;
                // No panic, and no endless loop.
                let _ = field_from_bytes(&damaged);
            }
        }
    }
}
