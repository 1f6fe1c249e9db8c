//! The elements as lines of text, a chunk at a time.

use std::io::{self, Write};

use crossdock::DArray;
use crossdock::element::{DType, Value};
use crossdock::view::Request;

use crate::cat::columns::{Column, columns};
use crate::failure::{Failure, Result};
use crate::terminal::shown;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As NumPy shows elements, separated by spaces.
    Text,
    /// As RFC 4180 has it, but with lines that end in LF.
    Csv {
        /// Whether fields are named first.
        has_header: bool,
        /// Whether a terminal shows it, which must not act on text.
        is_shown: bool,
    },
}

/// Why the lines end early.
#[derive(Debug)]
pub(super) enum Stop {
    Failed(Failure),
    Unwritten(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Unwritten(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<crossdock::Error> for Stop {
    fn from(error: crossdock::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Writes all elements. A record is a line, and so is a row of scalars along the last axis of an
/// array of two axes or more. Calls `check` for each chunk, before its elements are written.
pub(super) fn write(
    array: &DArray,
    style: Style,
    out: &mut impl Write,
    check: impl Fn() -> Result<()>,
) -> Result<(), Stop> {
    let lines = Lines::new(array, style)?;
    lines.header(out)?;
    let itemsize = array.dtype().itemsize();
    let mut count = 0;
    if itemsize == 0 {
        return (0..array.len()).try_for_each(|position| lines.element(&[], position, out));
    }
    let view = array.export(&Request::pin()).map_err(crossdock::Error::from)?;
    let mut chunks = view.chunks()?;
    while let Some(bytes) = chunks.next_chunk() {
        check()?;
        for element in bytes.chunks_exact(itemsize) {
            lines.element(element, count, out)?;
            count += 1;
        }
    }
    Ok(())
}

struct Lines {
    columns: Vec<Column>,
    style: Style,
    has_fields: bool,
    /// The elements of a line, and of a block that ends with an empty line.
    per_line: usize,
    per_block: Option<usize>,
    len: usize,
}

impl Lines {
    fn new(array: &DArray, style: Style) -> Result<Self> {
        let has_fields = array.dtype().as_scalar().is_none();
        let per_line = match array.shape() {
            [.., _, columns] if !has_fields => *columns,
            _ => 1,
        };
        let per_block = match array.shape() {
            [.., _, rows, _] if !has_fields && style == Style::Text => Some(rows * per_line),
            _ => None,
        };
        let columns = columns(array.dtype())?;
        Ok(Self { columns, style, has_fields, per_line, per_block, len: array.len() })
    }

    fn header(&self, out: &mut impl Write) -> Result<(), Stop> {
        let Style::Csv { has_header: true, is_shown } = self.style else { return Ok(()) };
        if !self.has_fields {
            return Ok(());
        }
        for (at, column) in self.columns.iter().enumerate() {
            out.write_all(if at > 0 { b"," } else { b"" })?;
            csv(&column.name, is_shown, out)?;
        }
        Ok(out.write_all(b"\n")?)
    }

    /// Writes one element, and what follows it.
    fn element(&self, element: &[u8], position: usize, out: &mut impl Write) -> Result<(), Stop> {
        let separator: &[u8] = if self.style == Style::Text { b" " } else { b"," };
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                out.write_all(separator)?;
            }
            let value = Value::read(&column.dtype, column.of(element))?;
            self.value(&value, &column.dtype, out)?;
        }
        let next = position + 1;
        let ends = |count: usize| next.is_multiple_of(count);
        if !ends(self.per_line) {
            return Ok(out.write_all(separator)?);
        }
        out.write_all(b"\n")?;
        if self.per_block.is_some_and(ends) && next < self.len {
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn value(&self, value: &Value, dtype: &DType, out: &mut impl Write) -> io::Result<()> {
        let Style::Csv { is_shown, .. } = self.style else { return write!(out, "{}", value.display(dtype)) };
        match value {
            Value::Text(text) => csv(text, is_shown, out),
            Value::Bytes(bytes) => csv_bytes(bytes, is_shown, out),
            other => write!(out, "{}", other.display(dtype)),
        }
    }
}

/// Writes bytes as text. Control characters, backslashes and invalid UTF-8 become escapes such as
/// `\x00`.
pub(super) fn csv_bytes(bytes: &[u8], is_shown: bool, out: &mut impl Write) -> io::Result<()> {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\0'..='\x1f' | '\x7f' | '\\' => text += &format!("\\x{:02x}", u32::from(letter)),
                _ => text.push(letter),
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    csv(&text, is_shown, out)
}

/// A text, in quotes if it has characters with a meaning in CSV, or spaces at its ends.
pub(super) fn csv(text: &str, is_shown: bool, out: &mut impl Write) -> io::Result<()> {
    let text = &*if is_shown { shown(text).into() } else { std::borrow::Cow::from(text) };
    let is_plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text && !text.is_empty();
    if is_plain { out.write_all(text.as_bytes()) } else { write!(out, "\"{}\"", text.replace('"', "\"\"")) }
}
