//! The bytes of elements of any length: by offsets, or by views.

use std::ops::Range;

use crate::buffer::ReadOrPinLease;
use crate::error::{Error, Kind, Result};
use crate::table::column::Column;
use crate::table::column_type::Storage;
use crate::table::constant_offsets::ConstantOffsets;
use crate::table::integers::Integers;
use crate::table::shape::VIEW;

/// The longest value that a view itself holds, in bytes.
pub(crate) const INLINE: usize = 12;

/// A view of bytes, loaded once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BytesView {
    /// So many bytes, in the view.
    Inline { len: usize, bytes: [u8; INLINE] },
    /// Bytes of another buffer, and a copy of the first four.
    Elsewhere { buffer: usize, range: (usize, usize), prefix: [u8; 4] },
}

/// The bytes of a column of text or bytes, under a lease of each buffer.
///
/// Each offset and view is checked when it is used, since another party may write the memory.
pub(crate) struct TextBytes {
    first: usize,
    len: usize,
    data: Vec<ReadOrPinLease>,
    sizes: Vec<usize>,
    index: Index,
}

enum Index {
    Offsets(Integers),
    Views(ReadOrPinLease),
}

impl TextBytes {
    /// The bytes of a column of text or bytes. O(buffers).
    ///
    /// # Errors
    ///
    /// `is_unsupported` for other types; as [`Buffer::pin`](crate::buffer::Buffer::pin).
    pub(crate) fn of(column: &Column) -> Result<Self> {
        let buffers = column.buffers();
        let (index, data) = match column.column_type().storage() {
            Storage::Bytes(width, _) => (Index::Offsets(Integers::at(&buffers[0], width)?), &buffers[1..]),
            Storage::Views(_) => (Index::Views(ReadOrPinLease::at(&buffers[0])?), &buffers[1..]),
            _ => {
                let text = format!("elements of type {} are neither text nor bytes", column.column_type());
                return Err(Error::new(Kind::Unsupported, text));
            }
        };
        Ok(Self {
            first: column.offset(),
            len: column.len(),
            sizes: data.iter().map(|buffer| buffer.nbytes()).collect(),
            data: data.iter().map(ReadOrPinLease::at).collect::<Result<_>>()?,
            index,
        })
    }

    /// The bytes of one element: in place if no party can write them, otherwise copied to `room`.
    ///
    /// # Errors
    ///
    /// `is_bounds` for an index beyond the column, and offsets or views beyond their buffers.
    pub(crate) fn get<'a>(&'a self, index: usize, room: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match &self.index {
            Index::Offsets(_) => {
                let range = self.range(index)?;
                self.bytes(0, range, room)
            }
            Index::Views(_) => self.of_view(self.view(index)?, room),
        }
    }

    /// The bytes of a view of this column. As [`TextBytes::get`].
    pub(crate) fn of_view<'a>(&'a self, view: BytesView, room: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match view {
            BytesView::Inline { len, bytes } => {
                room.clear();
                room.extend_from_slice(&bytes[..len]);
                Ok(room)
            }
            BytesView::Elsewhere { buffer, range, .. } => self.bytes(buffer, range.0..range.1, room),
        }
    }

    /// The bytes of one element, in place; `None` if another party may write them.
    ///
    /// # Errors
    ///
    /// As [`TextBytes::get`].
    pub(crate) fn in_place(&self, index: usize) -> Result<Option<&[u8]>> {
        let (lease, range) = match &self.index {
            Index::Offsets(_) => (&self.data[0], self.range(index)?),
            Index::Views(views) => match self.view(index)? {
                BytesView::Inline { len, .. } => {
                    let start = (self.first + index) * VIEW + VIEW - INLINE;
                    (views, start..start + len)
                }
                BytesView::Elsewhere { buffer, range, .. } => (&self.data[buffer], range.0..range.1),
            },
        };
        Ok(match lease {
            ReadOrPinLease::Constant(guard) => Some(&guard[range]),
            ReadOrPinLease::Changing(_) => None,
        })
    }

    /// The offsets of some elements and all bytes, in place; `None` for views, indices beyond the
    /// column, and memory that another party may write.
    pub(crate) fn in_memory(&self, elements: Range<usize>) -> Option<(ConstantOffsets<'_>, &[u8])> {
        let (Index::Offsets(offsets), [ReadOrPinLease::Constant(bytes), ..]) = (&self.index, &self.data[..])
        else {
            return None;
        };
        let range = self.first + elements.start..self.first + elements.end + 1;
        offsets.in_memory(range).filter(|_| elements.end <= self.len).map(|offsets| (offsets, &**bytes))
    }

    /// The views of all elements, and the buffers to which they refer; `None` for offsets, and
    /// views that another party may write.
    pub(crate) fn views(&self) -> Option<(&[[u8; VIEW]], &[ReadOrPinLease])> {
        let Index::Views(ReadOrPinLease::Constant(views)) = &self.index else { return None };
        let views = views.as_chunks().0.get(self.first..self.first + self.len)?;
        Some((views, &self.data))
    }

    fn bytes<'a>(&'a self, buffer: usize, range: Range<usize>, room: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        if let ReadOrPinLease::Changing(_) = &self.data[buffer] {
            room.clear();
            room.try_reserve(range.len()).map_err(|_| Error::out_of_memory(range.len(), 1))?;
            room.resize(range.len(), 0);
        }
        self.data[buffer].bytes(range, room)
    }

    fn check(&self, index: usize) -> Result<()> {
        if index < self.len {
            return Ok(());
        }
        let text = format!("element {index} is out of bounds for a column of {} elements", self.len);
        Err(Error::new(Kind::Bounds, text))
    }

    /// The range of one element in the buffer of bytes.
    fn range(&self, index: usize) -> Result<Range<usize>> {
        self.check(index)?;
        let Index::Offsets(offsets) = &self.index else { return Ok(0..0) };
        let at = self.first + index;
        let (start, end) = (offsets.get(at)?, offsets.get(at + 1)?);
        let nbytes = self.sizes[0];
        match (usize::try_from(start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if start <= end && end <= nbytes => Ok(start..end),
            _ => Err(Error::new(
                Kind::Bounds,
                format!("offsets {start}..{end} of element {index} are out of bounds for {nbytes} bytes"),
            )),
        }
    }

    /// One view.
    ///
    /// # Errors
    ///
    /// `is_bounds` for an index beyond the column, and a view beyond its buffer.
    pub(crate) fn view(&self, index: usize) -> Result<BytesView> {
        self.check(index)?;
        let mut bytes = [0; VIEW];
        if let Index::Views(views) = &self.index {
            views.copy_out((self.first + index) * VIEW, &mut bytes)?;
        }
        let number = |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (len, buffer, offset) = (number(0), number(8), number(12));
        if let Ok(len @ 0..=INLINE) = usize::try_from(len) {
            let mut short = [0; INLINE];
            short.copy_from_slice(&bytes[VIEW - INLINE..]);
            return Ok(BytesView::Inline { len, bytes: short });
        }
        let nbytes = usize::try_from(buffer).ok().and_then(|buffer| self.sizes.get(buffer).copied());
        let range = usize::try_from(len).ok().zip(usize::try_from(offset).ok());
        match (range, nbytes) {
            (Some((len, offset)), Some(nbytes)) if offset + len <= nbytes => Ok(BytesView::Elsewhere {
                buffer: buffer as usize,
                range: (offset, offset + len),
                prefix: [bytes[4], bytes[5], bytes[6], bytes[7]],
            }),
            _ => Err(Error::new(
                Kind::Bounds,
                format!(
                    "view {index} has {len} bytes from byte {offset} of buffer {buffer} on, out of bounds for \
                    {} buffers of {:?} bytes",
                    self.sizes.len(),
                    nbytes.unwrap_or_default()
                ),
            )),
        }
    }
}
