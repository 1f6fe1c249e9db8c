//! Text and bytes of a column, in place, under a Read lease.

use std::fmt;

use crate::error::Result;
use crate::memory::LeaseKind;
use crate::table::column::Column;
use crate::table::lease::TableLease;
use crate::table::shape::malformed;
use crate::table::text::TextBytes;

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
pub struct TextRead {
    column: Column,
    bytes: TextBytes,
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
    /// [`Column::compact`] first; `is_place` on a device.
    pub fn text(&self) -> Result<TextRead> {
        let lease = self.lease(LeaseKind::Read)?;
        // The lease above excludes writers, so those of `TextBytes` are Read leases, too.
        Ok(TextRead { bytes: TextBytes::of(self)?, column: self.clone(), _lease: lease })
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

    /// One element as text; `None` if it is null. O(bytes): it checks them.
    ///
    /// # Errors
    ///
    /// `is_malformed` if it is not UTF-8; as [`TextRead::bytes`].
    pub fn get(&self, index: usize) -> Result<Option<&str>> {
        let Some(bytes) = self.bytes(index)? else { return Ok(None) };
        std::str::from_utf8(bytes).map(Some).map_err(|error| {
            malformed(format!("byte {} of element {index} is not valid UTF-8", error.valid_up_to()))
        })
    }

    /// One element as bytes; `None` if it is null. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` for an index beyond the column, and an offset or view beyond its buffer.
    pub fn bytes(&self, index: usize) -> Result<Option<&[u8]>> {
        match self.column.validity() {
            Some(validity) if !validity.get(index)? => Ok(None),
            _ => self.bytes.in_place(index),
        }
    }

    /// The elements as text. As [`TextRead::get`] for each.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Option<&str>>> {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl fmt::Debug for TextRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextRead({:?})", self.column)
    }
}
