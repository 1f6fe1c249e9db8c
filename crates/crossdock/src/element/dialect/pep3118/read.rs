//! Reads a format as a dtype, in one pass over the bytes.

use crate::element::dialect::pep3118::letters::{self, Mode};
use crate::element::{ByteOrder, DType, Field, MAX_DEPTH, Scalar, ScalarKind};
use crate::error::{Error, Kind, Result};
use std::collections::HashSet;

/// The maximum size of an item.
const MOST: usize = isize::MAX as usize;

pub(super) struct FormatReader<'a> {
    format: &'a [u8],
    at: usize,
    /// Applies until the next mark; the end of a record does not reset it.
    mode: Mode,
}

/// The items of a record, or of the whole format.
pub(super) struct FormatItems<'a> {
    fields: Vec<Item<'a>>,
    /// The end of the last item.
    end: usize,
    /// The strictest alignment of items after `@`.
    alignment: usize,
    /// Whether `@` applied at the end.
    aligned: bool,
}

struct Item<'a> {
    name: Option<&'a str>,
    offset: usize,
    dtype: DType,
}

/// The meaning of a letter.
enum Code {
    /// Bytes that are not read, unless they have a name.
    Padding,
    /// One element of as many bytes or code points as the count.
    Counted(fn(u32) -> ScalarKind, ByteOrder),
    /// As many elements as the count.
    Element(DType),
}

impl<'a> FormatReader<'a> {
    pub(super) fn new(format: &'a [u8]) -> Self {
        Self { format, at: 0, mode: Mode::Aligned }
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    #[cold]
    fn error(&self, kind: Kind, at: usize, why: impl std::fmt::Display) -> Error {
        Error::new(kind, format!("byte {at} of the format: {why}"))
    }

    fn malformed(&self, why: impl std::fmt::Display) -> Error {
        self.error(Kind::Malformed, self.at, why)
    }

    /// All items up to the end, or to the brace that closes the record opened at `opened`.
    pub(super) fn items(&mut self, opened: Option<usize>, depth: usize) -> Result<FormatItems<'a>> {
        if depth > MAX_DEPTH {
            let why = format!("records are nested more than {MAX_DEPTH} levels deep");
            return Err(self.error(Kind::Unsupported, self.at, why));
        }
        let mut items = FormatItems { fields: Vec::new(), end: 0, alignment: 1, aligned: false };
        loop {
            match (self.peek(), opened) {
                (Some(b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r'), _) => self.at += 1,
                (Some(b'}'), Some(_)) => {
                    self.at += 1;
                    break;
                }
                (None, Some(at)) => return Err(self.error(Kind::Malformed, at, "the record is not closed")),
                (None, None) => break,
                _ => self.item(&mut items, depth)?,
            }
        }
        items.aligned = self.mode == Mode::Aligned;
        Ok(items)
    }

    fn item(&mut self, items: &mut FormatItems<'a>, depth: usize) -> Result<()> {
        let start = self.at;
        self.marks();
        let shape = self.shape()?;
        self.marks();
        let count = self.count();
        let (code, alignment) = self.code(depth)?;
        let name = self.name()?;
        let within = |error: Error| error.within(format_args!("byte {start} of the format"));
        let (dtype, nbytes) = match (code, name) {
            (Code::Padding, None) => {
                let factors = shape.iter().copied().chain(count);
                (None, factors.fold(1, usize::saturating_mul))
            }
            (code, _) => {
                let dtype = element(code, count, &shape).map_err(within)?;
                let nbytes = dtype.itemsize();
                (Some(dtype), nbytes)
            }
        };
        let offset = if self.mode == Mode::Aligned {
            items.alignment = items.alignment.max(alignment);
            items.end.next_multiple_of(alignment)
        } else {
            items.end
        };
        items.end = offset.checked_add(nbytes).filter(|&end| end <= MOST).ok_or_else(|| {
            let why = format!("an item of {nbytes} bytes at offset {offset} exceeds the address space");
            self.error(Kind::Overflow, start, why)
        })?;
        items.fields.extend(dtype.map(|dtype| Item { name, offset, dtype }));
        Ok(())
    }

    fn marks(&mut self) {
        while let Some(mode) = self.peek().and_then(Mode::of_mark) {
            self.mode = mode;
            self.at += 1;
        }
    }

    /// `(2,3)`, or nothing.
    fn shape(&mut self) -> Result<Vec<usize>> {
        let mut shape = Vec::new();
        if self.peek() != Some(b'(') {
            return Ok(shape);
        }
        loop {
            self.at += 1;
            shape.push(
                self.count().ok_or_else(|| self.malformed("a shape must be numbers separated by commas"))?,
            );
            match self.peek() {
                Some(b',') => {}
                Some(b')') => break,
                _ => {
                    return Err(
                        self.malformed("a shape must be numbers separated by commas and end with ')'")
                    );
                }
            }
        }
        self.at += 1;
        Ok(shape)
    }

    /// Digits, if any; saturates on overflow.
    fn count(&mut self) -> Option<usize> {
        let mut count = None;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let before: usize = count.unwrap_or(0);
            count = Some(before.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
            self.at += 1;
        }
        count
    }

    /// A letter or a whole record, and its alignment in C.
    fn code(&mut self, depth: usize) -> Result<(Code, usize)> {
        let at = self.at;
        let Some(letter) = self.peek() else {
            return Err(self.malformed("expected an item, found the end"));
        };
        self.at += 1;
        let (next, order) = (self.peek(), self.mode.byte_order());
        let kind = match letter {
            b'x' => return Ok((Code::Padding, 1)),
            b's' => return Ok((Code::Counted(ScalarKind::Bytes, order), 1)),
            // A length-prefixed string, which dtypes cannot describe.
            b'p' => return Ok((Code::Counted(ScalarKind::Void, order), 1)),
            b'w' => return Ok((Code::Counted(ScalarKind::Text, order), 4)),
            b'T' if next == Some(b'{') => {
                self.at += 1;
                let items = self.items(Some(at), depth + 1)?;
                let alignment = items.alignment;
                let record = items
                    .into_record()
                    .map_err(|error| error.within(format_args!("byte {at} of the format")))?;
                return Ok((Code::Element(record), alignment));
            }
            b'Z' if next.is_some_and(|next| letters::complex(next).is_some()) => {
                self.at += 1;
                next.and_then(letters::complex)
            }
            letter => letters::number(letter, self.mode),
        };
        let Some(kind) = kind else {
            return Err(match letters::refused(letter) {
                Some(why) => self.error(Kind::Unsupported, at, why),
                None => {
                    let letter = letter.escape_ascii();
                    let why = format!("'{letter}' is not an item of PEP 3118");
                    self.error(Kind::Malformed, at, why)
                }
            });
        };
        let scalar = letters::named(Scalar::new(kind, order)?, letter, self.mode);
        Ok((Code::Element(scalar.into()), scalar.alignment()))
    }

    /// `:name:`, if there is one.
    fn name(&mut self) -> Result<Option<&'a str>> {
        if self.peek() != Some(b':') {
            return Ok(None);
        }
        let at = self.at;
        let rest = &self.format[at + 1..];
        let Some(len) = rest.iter().position(|&byte| byte == b':') else {
            return Err(self.malformed("the name is not followed by ':'"));
        };
        let name = std::str::from_utf8(&rest[..len])
            .map_err(|_| self.error(Kind::Malformed, at, "the name is not UTF-8"))?;
        self.at += len + 2;
        Ok(Some(name))
    }
}

/// The element of an item.
fn element(code: Code, count: Option<usize>, shape: &[usize]) -> Result<DType> {
    let base = match code {
        Code::Padding => counted(ScalarKind::Void, ByteOrder::NATIVE, count)?,
        Code::Counted(kind, order) => counted(kind, order, count)?,
        Code::Element(dtype) => match count {
            None | Some(1) => dtype,
            Some(count) => DType::subarray(&[count], dtype)?,
        },
    };
    DType::subarray(shape, base)
}

fn counted(kind: fn(u32) -> ScalarKind, order: ByteOrder, count: Option<usize>) -> Result<DType> {
    let len = count.unwrap_or(1);
    // The width of a scalar is bounded far below, and that check has its own error.
    DType::scalar(kind(u32::try_from(len).unwrap_or(u32::MAX)), order)
}

impl FormatItems<'_> {
    /// The end of the items, without and with the trailing padding of a C struct.
    pub(super) fn sizes(&self) -> (usize, usize) {
        let padded = if self.aligned { self.end.next_multiple_of(self.alignment) } else { self.end };
        (self.end, padded)
    }

    /// Whether there are no items and no padding.
    pub(super) fn is_nothing(&self) -> bool {
        self.fields.is_empty() && self.end == 0
    }

    /// The record between two braces.
    fn into_record(self) -> Result<DType> {
        let (_, itemsize) = self.sizes();
        self.into_sized_record(itemsize)
    }

    /// The dtype of a whole format of `itemsize` bytes: that of the only item, if it is unnamed and
    /// covers all; opaque bytes for padding alone; otherwise a record.
    pub(super) fn into_dtype(mut self, itemsize: usize) -> Result<DType> {
        match self.fields.as_mut_slice() {
            [] => DType::void(itemsize),
            [Item { name: None, offset: 0, dtype }] if dtype.itemsize() == itemsize => Ok(dtype.clone()),
            _ => self.into_sized_record(itemsize),
        }
    }

    /// Fields without a name are `f0`, `f1`, … with numbers that avoid other names, as in NumPy.
    fn into_sized_record(self, itemsize: usize) -> Result<DType> {
        let taken: HashSet<&str> = match self.fields.iter().all(|item| item.name.is_some()) {
            true => HashSet::new(),
            false => self.fields.iter().filter_map(|item| item.name).collect(),
        };
        let mut fresh =
            (0..).map(|number| format!("f{number}")).filter(|name| !taken.contains(name.as_str()));
        let fields = self.fields.into_iter().map(|Item { name, offset, dtype }| match name {
            Some(name) => Field::new(name, offset, dtype),
            // There are more numbers than fields.
            None => Field::new(fresh.next().unwrap_or_default(), offset, dtype),
        });
        DType::record(fields.collect::<Vec<_>>(), itemsize)
    }
}
