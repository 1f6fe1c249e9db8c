//! Text and bytes of a column, in place, under a Read lease.

use std::fmt;
use std::ops::Range;
use std::slice;

use crate::error::{Error, Kind, Result};
use crate::memory::LeaseKind;
use crate::table::checks::Checks;
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
    pub(super) fn column(&self) -> &Column {
        &self.column
    }

    /// The bytes of all elements, in place.
    pub(super) fn bytes_of_all(&self) -> &TextBytes {
        &self.bytes
    }

    /// The bytes of validity, and the bit of the first element; `None` if no element is null.
    pub(super) fn valid_bits(&self) -> Result<Option<(&[u8], usize)>> {
        match self.column.validity() {
            Some(_) => self.validity.in_memory().ok_or_else(changing).map(Some),
            None => Ok(None),
        }
    }

    /// Compares all elements with the rules of text, unless they were compared before.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_checked { Ok(()) } else { self.column.check(Checks::Full) }
    }

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
    /// time. An element that is not text is an error, and those after it follow;
    /// [`TextRead::values`] checks all first, and is faster.
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

/// The Read lease of a column of text covers all its buffers.
#[cold]
pub(super) fn changing() -> Error {
    Error::new(Kind::Conflict, "another party may write the text; copy the column first")
}

/// The elements of a column of text, in order.
///
/// # Invariants
///
/// 1. `narrow` or `wide` are the ends of the elements before `block_end`, which obey the rules of
///    offsets, and of which the valid ones are UTF-8 in `bytes`. The first begins at `start`.
#[derive(Clone)]
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
    /// The element that ends at byte `end`.
    #[inline(always)]
    fn element(&mut self, end: usize) -> Option<Result<Option<&'a str>>> {
        let start = std::mem::replace(&mut self.start, end);
        if self.has_nulls {
            match self.text.validity.is_valid(self.index()) {
                Ok(true) => {}
                Ok(false) => return Some(Ok(None)),
                Err(error) => return Some(Err(error)),
            }
        }
        // SAFETY: TextIter 1: these are the bytes of a valid element, which are UTF-8 and stay so
        // under the Read lease of `text`.
        Some(Ok(Some(unsafe { std::str::from_utf8_unchecked(&self.bytes[start..end]) })))
    }

    /// The index of the element whose end was taken last.
    fn index(&self) -> usize {
        self.block_end - self.narrow.len() - self.wide.len() - 1
    }

    /// Checks the next block at once. False after the last.
    #[cold]
    #[inline(never)]
    fn next_block(&mut self) -> bool {
        let (read, start) = (self.text, self.left.start);
        let most = if read.is_checked { read.len() } else { start + TEXT_BLOCK };
        let block = start..most.min(self.left.end);
        if block.is_empty() {
            return false;
        }
        self.left.start = block.end;
        let is_correct = read.is_checked || read.bytes.is_block_correct(block.clone(), true);
        let found = read.bytes.in_memory(block.clone()).filter(|_| is_correct);
        // TextIter 1: compared above, if not by TextRead 1.
        match found.and_then(|(offsets, bytes)| Some((offsets, offsets.ends()?.0, bytes))) {
            Some((offsets, start, bytes)) => {
                match offsets {
                    ConstantOffsets::Narrow(all) => self.narrow = all[1..].iter(),
                    ConstantOffsets::Wide(all) => self.wide = all[1..].iter(),
                }
                (self.start, self.bytes, self.block_end) = (start, bytes, block.end);
            }
            None => self.single = block,
        }
        true
    }
}

/// One element, checked for itself.
#[cold]
#[inline(never)]
fn one(text: &TextRead, index: usize) -> Result<Option<&str>> {
    text.get(index)
}

impl<'a> Iterator for TextIter<'a> {
    type Item = Result<Option<&'a str>>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(&end) = self.narrow.next() {
                return self.element(i32::from_ne_bytes(end) as usize);
            }
            if let Some(&end) = self.wide.next() {
                return self.element(i64::from_ne_bytes(end) as usize);
            }
            if let Some(index) = self.single.next() {
                return Some(one(self.text, index));
            }
            // On a copy: the fields of `self` stay in registers, since no call has its address.
            let mut rest = self.clone();
            let has_more = rest.next_block();
            *self = rest;
            if !has_more {
                return None;
            }
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
