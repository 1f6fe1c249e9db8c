//! Offsets, integers, text and bytes copied to new memory.

use std::ops::Range;

use crate::buffer::{Buffer, MutableBuffer, ReadOrPinLease};
use crate::error::{Error, Kind, Result};
use crate::memory::count_copied;
use crate::table::column::Column;
use crate::table::column_type::OffsetWidth;
use crate::table::full::Validity;
use crate::table::integers::{IntegerKind, Integers};
use crate::table::shape::VIEW;
use crate::table::text::{BytesView, TextBytes};

/// How many bytes one buffer of views has at most, since their offsets have 31 bits.
const MOST: usize = i32::MAX as usize;

/// Integers of one kind, in a new buffer.
pub(crate) struct NewIntegers {
    kind: IntegerKind,
    bytes: MutableBuffer,
    last: i64,
}

impl NewIntegers {
    pub(crate) fn new(kind: IntegerKind) -> Result<Self> {
        Ok(Self { kind, bytes: MutableBuffer::new()?, last: 0 })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.nbytes() / self.kind.nbytes
    }

    /// Appends an integer.
    ///
    /// # Errors
    ///
    /// `is_overflow` if the kind does not have it.
    pub(crate) fn push(&mut self, value: i64) -> Result<()> {
        let bytes = self.kind.bytes_of(value).ok_or_else(|| {
            let bits = 8 * self.kind.nbytes;
            let text =
                format!("{value} exceeds integers of {bits} bits; join fewer columns, or use a wider type");
            Error::new(Kind::Overflow, text)
        })?;
        self.last = value;
        self.bytes.extend_from_slice(&bytes[..self.kind.nbytes])
    }

    /// Appends the ends of a column's lists, after those so far. Returns the range that the
    /// column's own offsets cover, which is within `extent`.
    ///
    /// # Errors
    ///
    /// `is_bounds` for offsets that decrease or exceed `extent`; `is_overflow`.
    pub(crate) fn push_offsets(
        &mut self,
        column: &Column,
        width: OffsetWidth,
        extent: usize,
    ) -> Result<Range<usize>> {
        if column.is_empty() {
            return Ok(0..0);
        }
        let (base, start, end) = (self.last, column.offset(), column.offset() + column.len() + 1);
        let (mut first, mut before) = (None, 0);
        Integers::at(&column.buffers()[0], width)?.for_each(start..end, |at, offset| {
            if offset < before || usize::try_from(offset).is_ok_and(|offset| offset > extent) {
                let text = format!("offset {offset} at index {at} is not within {before}..={extent}");
                return Err(Error::new(Kind::Bounds, text));
            }
            before = offset;
            match first {
                None => first = Some(offset),
                Some(first) => self.push(base.saturating_add(offset - first))?,
            }
            Ok(())
        })?;
        Ok(first.unwrap_or_default() as usize..before as usize)
    }

    pub(crate) fn finish(self) -> Buffer {
        count_copied(self.bytes.nbytes());
        self.bytes.freeze()
    }
}

/// The offsets and the bytes of all columns.
pub(crate) fn concat_bytes(columns: &[Column], width: OffsetWidth) -> Result<Vec<Buffer>> {
    let mut offsets = NewIntegers::new(IntegerKind::from(width))?;
    let mut bytes = MutableBuffer::new()?;
    offsets.push(0)?;
    for column in columns {
        let data = &column.buffers()[1];
        let range = offsets.push_offsets(column, width, data.nbytes())?;
        let old = bytes.nbytes();
        bytes.resize(old + range.len())?;
        ReadOrPinLease::at(data)?.copy_out(range.start, &mut bytes[old..])?;
        data.check_fault()?;
    }
    count_copied(bytes.nbytes());
    Ok(vec![offsets.finish(), bytes.freeze()])
}

/// The views of all columns, and new buffers with the bytes of those that are long.
pub(crate) fn concat_views(columns: &[Column], len: usize) -> Result<Vec<Buffer>> {
    let mut views = MutableBuffer::with_capacity(len.saturating_mul(VIEW))?;
    let (mut data, mut full) = (MutableBuffer::new()?, Vec::new());
    for column in columns {
        let (bytes, validity, mut room) = (TextBytes::of(column)?, Validity::of(column)?, Vec::new());
        for index in 0..column.len() {
            if !validity.is_valid(index)? {
                views.extend_from_slice(&[0u8; VIEW])?;
                continue;
            }
            match bytes.view(index)? {
                BytesView::Inline { len, bytes } => {
                    views.extend_from_slice(&(len as i32).to_ne_bytes())?;
                    views.extend_from_slice(&bytes)?;
                }
                view @ BytesView::Elsewhere { .. } => {
                    let text = bytes.of_view(view, &mut room)?;
                    if data.nbytes() + text.len() > MOST {
                        full.push(std::mem::replace(&mut data, MutableBuffer::new()?).freeze());
                    }
                    let (buffer, offset) = (full.len() as i32, data.nbytes() as i32);
                    views.extend_from_slice(&(text.len() as i32).to_ne_bytes())?;
                    views.extend_from_slice(&text[..4])?;
                    views.extend_from_slice(&buffer.to_ne_bytes())?;
                    views.extend_from_slice(&offset.to_ne_bytes())?;
                    data.extend_from_slice(text)?;
                }
            }
        }
    }
    if data.nbytes() > 0 {
        full.push(data.freeze());
    }
    let mut buffers = vec![views.freeze()];
    buffers.extend(full);
    count_copied(buffers.iter().map(Buffer::nbytes).sum());
    Ok(buffers)
}
