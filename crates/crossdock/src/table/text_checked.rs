//! Text of a column that was checked as a whole: an iterator without an error for each element.

use std::slice;

use crate::buffer::ReadOrPinLease;
use crate::error::{Error, Kind, Result};
use crate::table::constant_offsets::ConstantOffsets;
use crate::table::shape::VIEW;
use crate::table::text::INLINE;
use crate::table::text_read::{TextRead, changing};

impl TextRead {
    /// The elements as text, after a check of all of them; null elements are `None`. As fast as a
    /// loop over offsets. O(bytes) before the first element; O(buffers) after a
    /// [`check`](crate::table::Column::check) with [`Checks::Full`](crate::table::Checks::Full) in
    /// constant memory.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::table::{Checks, Column, ColumnParts, ColumnType};
    ///
    /// let buffers = vec![Buffer::from_vec(vec![0i32, 5, 8])?, Buffer::from_static("hello€".as_bytes())?];
    /// let parts = ColumnParts { len: 2, buffers, ..ColumnParts::default() };
    /// let text = Column::new(ColumnType::utf8(), parts, Checks::Shape)?.text()?;
    /// let characters: usize = text.values()?.flatten().map(|element| element.chars().count()).sum();
    /// assert_eq!(characters, 6);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_unsupported` for a column of bytes; as [`Column::check`](crate::table::Column::check).
    pub fn values(&self) -> Result<impl ExactSizeIterator<Item = Option<&str>>> {
        let ty = self.column().column_type();
        if !ty.is_utf8() {
            return Err(Error::new(Kind::Unsupported, format!("elements of type {ty} are no text")));
        }
        if self.is_empty() {
            return Ok(CheckedText { ends: Ends::Views([].iter(), Vec::new()), valid: None });
        }
        // CheckedText 1: under the Read lease of `self`, no party writes the memory.
        self.check()?;
        // CheckedText 2: all cursors begin at element 0.
        let valid = self.valid_bits()?;
        if let Some((offsets, bytes)) = self.bytes_of_all().in_memory(0..self.len()) {
            let (start, _) = offsets.ends().unwrap_or_default();
            let ends = match offsets {
                ConstantOffsets::Narrow(all) => Ends::Narrow(all[1..].iter(), start, bytes),
                ConstantOffsets::Wide(all) => Ends::Wide(all[1..].iter(), start, bytes),
            };
            return Ok(CheckedText { ends, valid });
        }
        let (views, data) = self.bytes_of_all().views().ok_or_else(changing)?;
        let constant = data.iter().map(|lease| match lease {
            ReadOrPinLease::Constant(bytes) => Ok(&**bytes),
            ReadOrPinLease::Changing(_) => Err(changing()),
        });
        let data = constant.collect::<Result<_>>()?;
        Ok(CheckedText { ends: Ends::Views(views.iter(), data), valid })
    }
}

/// The elements of a column of text, in order.
///
/// # Invariants
///
/// 1. They met `Checks::Full` under the Read lease that is held for `'a`: each valid element is
///    UTF-8.
/// 2. The cursors of `ends` (the iterator, and the start) and the bit of `valid` are at the same
///    element.
struct CheckedText<'a> {
    /// Invariants 1 and 2.
    ends: Ends<'a>,
    /// Bytes of validity, and the bit of the next element: invariant 2.
    valid: Option<(&'a [u8], usize)>,
}

/// Where the elements are that follow.
enum Ends<'a> {
    /// The end of each, the start of the first, and all bytes.
    Narrow(slice::Iter<'a, [u8; 4]>, usize, &'a [u8]),
    Wide(slice::Iter<'a, [u8; 8]>, usize, &'a [u8]),
    /// The view of each, and all buffers of bytes.
    Views(slice::Iter<'a, [u8; VIEW]>, Vec<&'a [u8]>),
}

impl<'a> CheckedText<'a> {
    /// The text of an element, unless it is null. Steps over its validity.
    ///
    /// # Safety
    ///
    /// 1. `bytes` is the element of a column as in CheckedText 1 whose validity bit is next.
    #[inline(always)]
    unsafe fn text(valid: &mut Option<(&[u8], usize)>, bytes: &'a [u8]) -> Option<&'a str> {
        // SAFETY: the element is valid, so its bytes, which are `bytes` (clause 1 of `# Safety`),
        // are UTF-8 (CheckedText 1).
        next_is_valid(valid).then(|| unsafe { str::from_utf8_unchecked(bytes) })
    }
}

impl<'a> Iterator for CheckedText<'a> {
    type Item = Option<&'a str>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = match &mut self.ends {
            Ends::Narrow(ends, start, bytes) => up_to(bytes, start, narrow(ends.next()?)),
            Ends::Wide(ends, start, bytes) => up_to(bytes, start, wide(ends.next()?)),
            Ends::Views(views, data) => of_view(views.next()?, data),
        };
        // SAFETY: clause 1 of `text`: the bytes were found by the cursors of `ends`, which were at
        // the element of the validity bit (CheckedText 2). Now both step over it.
        Some(unsafe { Self::text(&mut self.valid, bytes) })
    }

    // A loop for each kind of offsets.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, first: B, mut each: F) -> B {
        let Self { ends, mut valid } = self;
        let mut each = |sum, bytes| {
            // SAFETY: clause 1 of `text`: the loops below pass the bytes of each element once, in
            // order, from the element of the validity bit on (CheckedText 2).
            each(sum, unsafe { Self::text(&mut valid, bytes) })
        };
        match ends {
            Ends::Narrow(ends, mut start, bytes) => {
                ends.fold(first, |sum, end| each(sum, up_to(bytes, &mut start, narrow(end))))
            }
            Ends::Wide(ends, mut start, bytes) => {
                ends.fold(first, |sum, end| each(sum, up_to(bytes, &mut start, wide(end))))
            }
            Ends::Views(views, data) => views.fold(first, |sum, view| each(sum, of_view(view, &data))),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.ends {
            Ends::Narrow(ends, ..) => ends.size_hint(),
            Ends::Wide(ends, ..) => ends.size_hint(),
            Ends::Views(views, _) => views.size_hint(),
        }
    }
}

impl ExactSizeIterator for CheckedText<'_> {}

fn narrow(end: &[u8; 4]) -> usize {
    i32::from_ne_bytes(*end) as usize
}

fn wide(end: &[u8; 8]) -> usize {
    i64::from_ne_bytes(*end) as usize
}

/// The bytes up to the end of an element, and steps over them.
#[inline(always)]
fn up_to<'a>(bytes: &'a [u8], start: &mut usize, end: usize) -> &'a [u8] {
    &bytes[std::mem::replace(start, end)..end]
}

/// Whether the next element is valid, and steps over it.
#[inline(always)]
fn next_is_valid(valid: &mut Option<(&[u8], usize)>) -> bool {
    let Some((bits, bit)) = valid else { return true };
    let at = std::mem::replace(bit, *bit + 1);
    bits[at / 8] >> (at % 8) & 1 != 0
}

/// The bytes of a view that was checked.
#[inline(always)]
fn of_view<'a>(view: &'a [u8; VIEW], data: &[&'a [u8]]) -> &'a [u8] {
    let number =
        |at: usize| i32::from_ne_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
    let (len, start) = (number(0), number(12));
    if len <= INLINE {
        return &view[VIEW - INLINE..][..len];
    }
    // The view of a null element may be any.
    let bytes = data.get(number(8)).and_then(|bytes| bytes.get(start..start.wrapping_add(len)));
    bytes.unwrap_or_default()
}
