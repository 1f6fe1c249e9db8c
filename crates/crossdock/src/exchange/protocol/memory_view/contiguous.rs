//! The questions about contiguity, and the strides of contiguous arrays, with C's pointers.

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::View;
use crate::layout::Order;

/// One axis of a view.
struct Axis {
    len: isize,
    stride: Option<isize>,
}

impl View {
    /// Whether the items lie in row-major order without gaps: as NumPy has it, axes of length 1 do not matter, and a view without items is
    /// contiguous in both orders. Null strides are row-major. An indirect view is not contiguous, and neither is one that contradicts
    /// itself. O(rank).
    ///
    /// # Safety
    ///
    /// Shape, strides and suboffsets point to `ndim` numbers, or are null.
    #[doc(hidden)]
    pub unsafe fn is_row_major_contiguous(&self) -> bool {
        // SAFETY: the caller's word.
        unsafe { self.is_contiguous_in(Order::RowMajor) }
    }

    /// As [`View::is_row_major_contiguous`], in column-major order.
    ///
    /// # Safety
    ///
    /// As for [`View::is_row_major_contiguous`].
    #[doc(hidden)]
    pub unsafe fn is_column_major_contiguous(&self) -> bool {
        // SAFETY: the caller's word.
        unsafe { self.is_contiguous_in(Order::ColumnMajor) }
    }

    /// Whether the items lie in one of the two orders without gaps.
    ///
    /// # Safety
    ///
    /// As for [`View::is_row_major_contiguous`].
    #[doc(hidden)]
    pub unsafe fn is_contiguous(&self) -> bool {
        // SAFETY: the caller's word.
        let row_major = unsafe { self.is_row_major_contiguous() };
        // SAFETY: as above.
        row_major || unsafe { self.is_column_major_contiguous() }
    }

    /// # Safety
    ///
    /// As for [`View::is_row_major_contiguous`].
    unsafe fn is_contiguous_in(&self, order: Order) -> bool {
        let Ok(rank) = self.rank() else {
            // Without a shape, nothing is known of the axes but what null strides say.
            return order == Order::RowMajor && self.ndim > 0 && self.strides.is_null();
        };
        // SAFETY: the caller's word.
        if unsafe { self.follows_pointers(rank) } || self.item_size < 0 {
            return false;
        }
        // SAFETY: the caller's word, here and below.
        let axis = |axis| unsafe { self.axis(axis) };
        let mut is_empty = false;
        for k in 0..rank {
            match axis(k) {
                Some(Axis { len, .. }) if len >= 0 => is_empty |= len == 0,
                _ => return false,
            }
        }
        if is_empty {
            return true;
        }
        let (mut expected, mut row_major) = (Some(self.item_size), Some(self.item_size));
        if self.strides.is_null() && order == Order::ColumnMajor {
            // Row-major strides are column-major, too, where there is one axis to step along.
            return (0..rank).filter_map(axis).filter(|axis| axis.len > 1).count() <= 1;
        }
        for k in 0..rank {
            let Some(Axis { len, stride }) = axis(inner(order, k, rank)) else { return false };
            let stride = if self.strides.is_null() { row_major } else { stride };
            if len != 1 {
                if stride.is_none() || stride != expected {
                    return false;
                }
                expected = expected.and_then(|expected| expected.checked_mul(len));
            }
            row_major = row_major.and_then(|stride| stride.checked_mul(len));
        }
        true
    }

    /// The original's rule for row-major order: every stride is compared, also those of axes of length 1, and an axis of length 0 makes
    /// all strides outside of it 0. Where the original's product wraps around, or its null strides are followed, this is the sound
    /// answer: `false`, and that null strides are row-major.
    ///
    /// # Safety
    ///
    /// As for [`View::is_row_major_contiguous`].
    #[doc(hidden)]
    pub unsafe fn is_row_major_contiguous_strictly(&self) -> bool {
        // SAFETY: the caller's word.
        unsafe { self.is_contiguous_strictly(Order::RowMajor) }
    }

    /// As [`View::is_row_major_contiguous_strictly`], in column-major order.
    ///
    /// # Safety
    ///
    /// As for [`View::is_row_major_contiguous`].
    #[doc(hidden)]
    pub unsafe fn is_column_major_contiguous_strictly(&self) -> bool {
        // SAFETY: the caller's word.
        unsafe { self.is_contiguous_strictly(Order::ColumnMajor) }
    }

    /// # Safety
    ///
    /// As for [`View::is_row_major_contiguous`].
    unsafe fn is_contiguous_strictly(&self, order: Order) -> bool {
        if self.strides.is_null() {
            // SAFETY: the caller's word.
            return unsafe { self.is_contiguous_in(order) };
        }
        let Ok(rank) = self.rank() else { return false };
        let mut expected = Some(self.item_size);
        for k in 0..rank {
            // SAFETY: the caller's word.
            let Some(Axis { len, stride }) = (unsafe { self.axis(inner(order, k, rank)) }) else {
                return false;
            };
            if stride != expected {
                return false;
            }
            expected = expected.and_then(|expected| expected.checked_mul(len));
        }
        // An axis outside of one whose product left the range has no stride that is right. (That of the whole is compared with nothing.)
        true
    }

    /// # Safety
    ///
    /// As for [`View::is_row_major_contiguous`]; the axis is below `ndim`.
    unsafe fn axis(&self, axis: usize) -> Option<Axis> {
        // SAFETY: the caller's word.
        let len = unsafe { self.len_of(axis) }.ok()?;
        // SAFETY: the caller's word.
        let stride = (!self.strides.is_null()).then(|| unsafe { *self.strides.wrapping_add(axis) });
        Some(Axis { len, stride })
    }

    /// # Safety
    ///
    /// As for [`View::is_row_major_contiguous`].
    unsafe fn follows_pointers(&self, rank: usize) -> bool {
        // SAFETY: the caller's word.
        let jumps = |axis| unsafe { *self.sub_offsets.wrapping_add(axis) } >= 0;
        !self.sub_offsets.is_null() && (0..rank).any(jumps)
    }
}

/// The axis that is the `k`-th from the innermost one.
fn inner(order: Order, k: usize, rank: usize) -> usize {
    match order {
        Order::RowMajor => rank - 1 - k,
        Order::ColumnMajor => k,
    }
}

/// Writes the strides of a contiguous array, as the original has them: an axis of length 0 makes all strides outside of it 0.
///
/// # Errors
///
/// `is_malformed` for a negative number or a null pointer, `is_overflow` where a stride does not fit; no stride is written then.
///
/// # Safety
///
/// `shape` points to `ndim` numbers, and `strides` to room for as many.
pub unsafe fn fill_contiguous_strides(
    ndim: isize,
    item_size: isize,
    shape: *const isize,
    order: Order,
    strides: *mut isize,
) -> Result<()> {
    let malformed = |text: String| Err(Error::new(Kind::Malformed, text));
    let Ok(rank) = usize::try_from(ndim) else { return malformed(format!("strides of {ndim} axes")) };
    if item_size < 0 {
        return malformed(format!("strides of items of {item_size} bytes"));
    }
    if rank > 0 && (shape.is_null() || strides.is_null()) {
        let what = if shape.is_null() { "shape" } else { "strides" };
        return malformed(format!("the pointer to the {what} of {rank} axes is null"));
    }
    // Once to see that all of them fit, and once to write them.
    for is_written in [false, true] {
        let mut stride = Some(item_size);
        for k in 0..rank {
            let axis = inner(order, k, rank);
            // SAFETY: below `ndim` (the caller's word).
            let len = unsafe { *shape.wrapping_add(axis) };
            if len < 0 {
                return malformed(format!("axis {axis} has the length {len}"));
            }
            let Some(fits) = stride else {
                return Err(Error::new(
                    Kind::Overflow,
                    format!("the stride of axis {axis} is more than {} bytes", isize::MAX),
                ));
            };
            if is_written {
                // SAFETY: below `ndim` (the caller's word).
                unsafe { *strides.wrapping_add(axis) = fits };
            }
            stride = fits.checked_mul(len);
        }
    }
    Ok(())
}
