//! Text and bytes of a column, in place, under a Read lease.

use std::fmt;
use std::ops::Range;
use std::slice;

use crate::error::Result;
use crate::memory::LeaseKind;
use crate::table::column::Column;
use crate::table::column_type::Storage;
use crate::table::constant_offsets::ConstantOffsets;
use crate::table::full::Validity;
use crate::table::lease::TableLease;
use crate::table::text::TextBytes;
use crate::table::utf8::{TEXT_BLOCK, not_text};

/// The text or bytes of a column, in place, under a Read lease of all its memory.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::table::{Checks, Column, ColumnParts, ColumnType};
///
/// let buffers = vec![Buffer::from_vec(vec![0i32, 5, 8])?, Buffer::from_static("hello€".as_bytes())?];
/// let column = Column::new(ColumnType::utf8(), ColumnParts { len: 2, buffers, ..Default::default() }, Checks::Shape)?;
/// let text = column.text()?;
/// assert_eq!((text.get(0)?, text.get(1)?), (Some("hello"), Some("€")));
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. If `is_checked`, each valid element is UTF-8, for as long as the lease is held.
pub struct TextRead {
    column: Column,
    bytes: TextBytes,
    validity: Validity,
    is_checked: bool,
    _lease: TableLease,
}

impl Column {
    /// The text or bytes of the column, in place, under a Read lease. O(buffers); nothing is read
    /// yet.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for other types; `is_conflict` while a Share or Write lease is held, or
    /// where another party may write the memory (a mapped file): use [`Column::value`], or
    /// [`Column::compact`] first; `is_fault` if a guarded file shrank; `is_place` on a device.
    pub fn text(&self) -> Result<TextRead> {
        let lease = self.or_fault(self.lease(LeaseKind::Read))?;
        // The lease above excludes writers, so those of `TextBytes` are Read leases, too.
        let bytes = TextBytes::of(self)?;
        let is_text = matches!(self.column_type().storage(), Storage::Bytes(_, true) | Storage::Views(true));
        // TextRead 1: by Column 3 the elements met `Checks::Full`, in memory that is constant.
        let is_checked = is_text && self.is_checked();
        let validity = Validity::of(self)?;
        Ok(TextRead { bytes, validity, is_checked, column: self.clone(), _lease: lease })
    }
}

impl TextRead {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.column.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.column.is_empty()
    }

    /// One element as text; `None` if it is null. O(bytes): it checks them; O(1) after a
    /// [`check`](Column::check) with [`Checks::Full`](crate::table::Checks::Full) in constant
    /// memory.
    ///
    /// # Errors
    ///
    /// `is_malformed` if it is not UTF-8; as [`TextRead::bytes`].
    pub fn get(&self, index: usize) -> Result<Option<&str>> {
        let Some(bytes) = self.bytes(index)? else { return Ok(None) };
        if self.is_checked {
            // SAFETY: TextRead 1: the element is valid, since its bytes were returned, and UTF-8.
            return Ok(Some(unsafe { std::str::from_utf8_unchecked(bytes) }));
        }
        simdutf8::basic::from_utf8(bytes).map(Some).map_err(|_| not_text(bytes, index))
    }

    /// One element as bytes; `None` if it is null. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` for an index beyond the column, and an offset or view beyond its buffer.
    pub fn bytes(&self, index: usize) -> Result<Option<&[u8]>> {
        if index < self.len() && !self.validity.is_valid(index)? {
            return Ok(None);
        }
        self.bytes.in_place(index)
    }

    /// The elements as text. As [`TextRead::get`] for each; offsets and bytes are checked many at a
    /// time.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Option<&str>>> {
        TextIter {
            text: self,
            has_nulls: self.column.validity().is_some(),
            left: 0..self.len(),
            single: 0..0,
            block_end: 0,
            narrow: [].iter(),
            wide: [].iter(),
            start: 0,
            bytes: &[],
        }
    }
}

/// The elements of a column of text, in order.
///
/// # Invariants
///
/// 1. `narrow` or `wide` are the ends of the elements before `block_end`, which obey the rules of
///    offsets, and of which the valid ones are UTF-8 in `bytes`. The first begins at `start`.
struct TextIter<'a> {
    text: &'a TextRead,
    has_nulls: bool,
    /// The elements that are in no block so far.
    left: Range<usize>,
    /// The elements of a block that was incorrect: each is checked for itself.
    single: Range<usize>,
    block_end: usize,
    narrow: slice::Iter<'a, [u8; 4]>,
    wide: slice::Iter<'a, [u8; 8]>,
    start: usize,
    bytes: &'a [u8],
}

impl<'a> TextIter<'a> {
    /// The element that ends at byte `end`. Its index is not computed unless it is needed, and the
    /// result is made in its final form: taken out of another one, it would go through memory.
    #[inline(always)]
    fn element(&mut self, end: usize) -> Option<Result<Option<&'a str>>> {
        let start = std::mem::replace(&mut self.start, end);
        if self.has_nulls {
            return self.nullable(start, end);
        }
        match self.bytes.get(start..end) {
            // SAFETY: TextIter 1: these are the bytes of a valid element, which are UTF-8 and,
            // under the Read lease of `text`, stay so.
            Some(bytes) => Some(Ok(Some(unsafe { std::str::from_utf8_unchecked(bytes) }))),
            None => self.one(self.index()),
        }
    }

    #[inline]
    fn nullable(&self, start: usize, end: usize) -> Option<Result<Option<&'a str>>> {
        match (self.text.validity.is_valid(self.index()), self.bytes.get(start..end)) {
            (Ok(false), _) => Some(Ok(None)),
            // SAFETY: TextIter 1: these are the bytes of a valid element, which are UTF-8 and,
            // under the Read lease of `text`, stay so.
            (Ok(true), Some(bytes)) => Some(Ok(Some(unsafe { std::str::from_utf8_unchecked(bytes) }))),
            _ => self.one(self.index()),
        }
    }

    /// One element, checked for itself.
    #[cold]
    #[inline(never)]
    fn one(&self, index: usize) -> Option<Result<Option<&'a str>>> {
        Some(self.text.get(index))
    }

    /// The index of the element whose end was taken last.
    fn index(&self) -> usize {
        self.block_end - self.narrow.len() - self.wide.len() - 1
    }

    /// An element with a wide offset, or the first one of the next block.
    #[inline(never)]
    fn next_other(&mut self) -> Option<Result<Option<&'a str>>> {
        match self.wide.next() {
            Some(&end) => self.element(i64::from_ne_bytes(end) as usize),
            None => self.next_block(),
        }
    }

    /// The first element of the next block, which is checked at once.
    #[cold]
    fn next_block(&mut self) -> Option<Result<Option<&'a str>>> {
        if let Some(index) = self.single.next() {
            return self.one(index);
        }
        let (read, start) = (self.text, self.left.start);
        let most = if read.is_checked { read.len() } else { start + TEXT_BLOCK };
        let block = start..most.min(self.left.end);
        if block.is_empty() {
            return None;
        }
        self.left.start = block.end;
        let is_correct = read.bytes.is_block_correct(block.clone(), !read.is_checked);
        match read.bytes.in_memory(block.clone()).filter(|_| is_correct) {
            Some((offsets, bytes)) => {
                // TextIter 1: compared above; text by TextRead 1, if not above.
                (self.start, _) = offsets.ends()?;
                match offsets {
                    ConstantOffsets::Narrow(all) => self.narrow = all[1..].iter(),
                    ConstantOffsets::Wide(all) => self.wide = all[1..].iter(),
                }
                (self.bytes, self.block_end) = (bytes, block.end);
            }
            None => self.single = block,
        }
        self.next()
    }
}

impl<'a> Iterator for TextIter<'a> {
    type Item = Result<Option<&'a str>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.narrow.next() {
            Some(&end) => self.element(i32::from_ne_bytes(end) as usize),
            None => self.next_other(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left.len() + self.single.len() + self.narrow.len() + self.wide.len();
        (left, Some(left))
    }
}

impl ExactSizeIterator for TextIter<'_> {}

impl fmt::Debug for TextRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextRead({:?})", self.column)
    }
}
