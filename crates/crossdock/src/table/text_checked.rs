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
            return Ok(CheckedText { ends: Ends::Views([].iter(), &[]), valid: None });
        }
        // CheckedText 1: under the Read lease of `self`, no party writes the memory.
        self.check()?;
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
        Ok(CheckedText { ends: Ends::Views(views.iter(), data), valid })
    }
}

/// The elements of a column of text, in order.
///
/// # Invariants
///
/// 1. They met `Checks::Full` under the Read lease that is held for `'a`: each valid element is
///    UTF-8.
struct CheckedText<'a> {
    ends: Ends<'a>,
    /// Bytes of validity, and the bit of the next element.
    valid: Option<(&'a [u8], usize)>,
}

/// Where the elements are that follow.
enum Ends<'a> {
    /// The end of each, the start of the first, and all bytes.
    Narrow(slice::Iter<'a, [u8; 4]>, usize, &'a [u8]),
    Wide(slice::Iter<'a, [u8; 8]>, usize, &'a [u8]),
    Views(slice::Iter<'a, [u8; VIEW]>, &'a [ReadOrPinLease]),
}

impl<'a> CheckedText<'a> {
    /// The text of an element, unless it is null.
    #[inline(always)]
    fn text(valid: &mut Option<(&[u8], usize)>, bytes: &'a [u8]) -> Option<&'a str> {
        // SAFETY: CheckedText 1: a valid element is UTF-8.
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
        Some(Self::text(&mut self.valid, bytes))
    }

    // A loop for each kind of offsets.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, first: B, mut each: F) -> B {
        let Self { ends, mut valid } = self;
        match ends {
            Ends::Narrow(ends, mut start, bytes) => ends.fold(first, |sum, end| {
                each(sum, Self::text(&mut valid, up_to(bytes, &mut start, narrow(end))))
            }),
            Ends::Wide(ends, mut start, bytes) => ends.fold(first, |sum, end| {
                each(sum, Self::text(&mut valid, up_to(bytes, &mut start, wide(end))))
            }),
            Ends::Views(views, data) => {
                views.fold(first, |sum, view| each(sum, Self::text(&mut valid, of_view(view, data))))
            }
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
fn of_view<'a>(view: &'a [u8; VIEW], data: &'a [ReadOrPinLease]) -> &'a [u8] {
    let number =
        |at: usize| i32::from_ne_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
    let (len, start) = (number(0), number(12));
    if len <= INLINE {
        return &view[VIEW - INLINE..][..len];
    }
    match data.get(number(8)) {
        // The view of a null element may be any.
        Some(ReadOrPinLease::Constant(bytes)) => {
            bytes.get(start..start.wrapping_add(len)).unwrap_or_default()
        }
        // Another party may write only what a Read lease does not cover.
        _ => &[],
    }
}
