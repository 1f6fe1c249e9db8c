//! Ranges of bytes, and the number of elements that bytes hold.

use std::ops::{Bound, Range, RangeBounds};
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::Pod;

/// A range as two numbers, if it lies within `nbytes` bytes.
#[inline]
pub(crate) fn resolve(range: &impl RangeBounds<usize>, nbytes: usize) -> Result<Range<usize>> {
    resolve_in(range, nbytes, ["bytes", "a buffer of", "bytes"])
}

/// As [`resolve`], of `len` units of a whole: the error is "`rows` 3..6 are out of bounds for `a
/// batch of` 5 `rows`".
#[inline]
pub(crate) fn resolve_in(
    range: &impl RangeBounds<usize>,
    len: usize,
    words: [&str; 3],
) -> Result<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok(start..end),
        _ => Err(bad_range(start, end, len, words)),
    }
}

#[cold]
fn bad_range(start: Option<usize>, end: Option<usize>, len: usize, [units, whole, unit]: [&str; 3]) -> Error {
    let show = |bound: Option<usize>| bound.map_or("beyond the last address".to_owned(), |at| at.to_string());
    Error::new(
        Kind::Bounds,
        format!("{units} {}..{} are out of bounds for {whole} {len} {unit}", show(start), show(end)),
    )
}

/// The number of `T` that the bytes hold, if they are aligned for it and hold a whole number.
pub(crate) fn count_of<T: Pod>(ptr: NonNull<u8>, nbytes: usize) -> Result<usize> {
    let (size, align) = (size_of::<T>(), align_of::<T>());
    if size == 0 || !nbytes.is_multiple_of(size) {
        return Err(Error::new(
            Kind::Bounds,
            format!("{nbytes} bytes are not a multiple of the element size, {size} bytes"),
        ));
    }
    let address = ptr.addr().get();
    if !address.is_multiple_of(align) && nbytes != 0 {
        return Err(Error::new(
            Kind::Alignment,
            format!("address {address:#x} is not a multiple of {align}, the alignment of the element type"),
        ));
    }
    Ok(nbytes / size)
}

/// The start of the elements that [`count_of`] counted. Without elements it is dangling, but
/// aligned.
pub(crate) fn start_of<T: Pod>(ptr: NonNull<u8>, count: usize) -> NonNull<T> {
    if count == 0 { NonNull::dangling() } else { ptr.cast() }
}
