//! Contiguity checks, and the strides of contiguous arrays, on C's pointers.

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::View;
use crate::layout::Order;

/// One axis of a view.
struct ViewAxis {
    len: isize,
    stride: Option<isize>,
}

impl View {
    /// Whether the items are C-contiguous (row-major): as in NumPy, axes of length 1 do not matter,
    /// and a view without items is contiguous in both orders. Null strides are row-major. An
    /// indirect view is not contiguous, nor is one that contradicts itself. O(rank).
    ///
    /// # Safety
    ///
    /// `shape`, `strides` and `sub_offsets` are each null or point to `ndim` numbers.
    #[doc(hidden)]
    pub unsafe fn is_row_major_contiguous(&self) -> bool {
        // SAFETY: `# Safety`: each of the view's arrays is null or has `ndim` numbers, which is all
        // that `is_contiguous_in` requires.
        unsafe { self.is_contiguous_in(Order::RowMajor) }
    }

    /// As [`View::is_row_major_contiguous`], in column-major order.
    ///
    /// # Safety
    ///
    /// The clause of [`View::is_row_major_contiguous`].
    #[doc(hidden)]
    pub unsafe fn is_column_major_contiguous(&self) -> bool {
        // SAFETY: `# Safety`: each of the view's arrays is null or has `ndim` numbers, which is all
        // that `is_contiguous_in` requires.
        unsafe { self.is_contiguous_in(Order::ColumnMajor) }
    }

    /// Whether the items are contiguous in one of the two orders.
    ///
    /// # Safety
    ///
    /// The clause of [`View::is_row_major_contiguous`].
    #[doc(hidden)]
    pub unsafe fn is_contiguous(&self) -> bool {
        // SAFETY: `# Safety`: each of the view's arrays is null or has `ndim` numbers, which is all
        // that the check requires.
        let row_major = unsafe { self.is_row_major_contiguous() };
        // SAFETY: `# Safety`: each of the view's arrays is null or has `ndim` numbers, which is all
        // that the check requires.
        row_major || unsafe { self.is_column_major_contiguous() }
    }

    /// # Safety
    ///
    /// The clause of [`View::is_row_major_contiguous`].
    unsafe fn is_contiguous_in(&self, order: Order) -> bool {
        let Ok(rank) = self.rank() else {
            // Without a shape, only null strides determine the order.
            return order == Order::RowMajor && self.ndim > 0 && self.strides.is_null();
        };
        // SAFETY: `# Safety`: `sub_offsets` is null or points to `ndim` numbers, and `rank` is
        // `ndim`.
        if unsafe { self.follows_pointers(rank) } || self.item_size < 0 {
            return false;
        }
        // SAFETY: `# Safety`: `shape` and `strides` are each null or point to `ndim` numbers; every
        // caller below passes an axis below `rank`, which is `ndim`.
        let axis = |axis| unsafe { self.axis(axis) };
        let mut is_empty = false;
        for k in 0..rank {
            match axis(k) {
                Some(ViewAxis { len, .. }) if len >= 0 => is_empty |= len == 0,
                _ => return false,
            }
        }
        if is_empty {
            return true;
        }
        let (mut expected, mut row_major) = (Some(self.item_size), Some(self.item_size));
        if self.strides.is_null() && order == Order::ColumnMajor {
            // Row-major strides are column-major, too, if at most one axis is longer than 1.
            return (0..rank).filter_map(axis).filter(|axis| axis.len > 1).count() <= 1;
        }
        for k in 0..rank {
            let Some(ViewAxis { len, stride }) = axis(inner(order, k, rank)) else { return false };
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

    /// The original's rule for row-major order: every stride is compared, also those of axes of
    /// length 1, and an axis of length 0 makes all strides outside of it 0. Two answers differ to
    /// be sound: `false` where the original's product wraps around, and null strides are row-major
    /// where the original follows them.
    ///
    /// # Safety
    ///
    /// The clause of [`View::is_row_major_contiguous`].
    #[doc(hidden)]
    pub unsafe fn is_row_major_contiguous_strictly(&self) -> bool {
        // SAFETY: `# Safety`: each of the view's arrays is null or has `ndim` numbers, which is all
        // that `is_contiguous_strictly` requires.
        unsafe { self.is_contiguous_strictly(Order::RowMajor) }
    }

    /// As [`View::is_row_major_contiguous_strictly`], in column-major order.
    ///
    /// # Safety
    ///
    /// The clause of [`View::is_row_major_contiguous`].
    #[doc(hidden)]
    pub unsafe fn is_column_major_contiguous_strictly(&self) -> bool {
        // SAFETY: `# Safety`: each of the view's arrays is null or has `ndim` numbers, which is all
        // that `is_contiguous_strictly` requires.
        unsafe { self.is_contiguous_strictly(Order::ColumnMajor) }
    }

    /// # Safety
    ///
    /// The clause of [`View::is_row_major_contiguous`].
    unsafe fn is_contiguous_strictly(&self, order: Order) -> bool {
        if self.strides.is_null() {
            // SAFETY: `# Safety`: each of the view's arrays is null or has `ndim` numbers, which is
            // all that `is_contiguous_in` requires.
            return unsafe { self.is_contiguous_in(order) };
        }
        let Ok(rank) = self.rank() else { return false };
        let mut expected = Some(self.item_size);
        for k in 0..rank {
            // SAFETY: `# Safety`: `shape` and `strides` are each null or point to `ndim` numbers;
            // `inner` returns an axis below `rank`, which is `ndim`.
            let Some(ViewAxis { len, stride }) = (unsafe { self.axis(inner(order, k, rank)) }) else {
                return false;
            };
            if stride != expected {
                return false;
            }
            expected = expected.and_then(|expected| expected.checked_mul(len));
        }
        // If a product overflows, no stride of an axis outside of it matches. (The product of all
        // axes is compared with nothing.)
        true
    }

    /// # Safety
    ///
    /// 1. `shape` and `strides` are each null or point to `ndim` numbers.
    /// 2. `axis < ndim`.
    unsafe fn axis(&self, axis: usize) -> Option<ViewAxis> {
        // SAFETY: clauses 1 and 2 of `# Safety`: `shape` is null or points to `ndim` numbers, and
        // `axis < ndim`.
        let len = unsafe { self.len_of(axis) }.ok()?;
        // SAFETY: clauses 1 and 2 of `# Safety`: `strides` is not null here, so it points to `ndim`
        // numbers, and `axis < ndim`.
        let stride = (!self.strides.is_null()).then(|| unsafe { *self.strides.wrapping_add(axis) });
        Some(ViewAxis { len, stride })
    }

    /// # Safety
    ///
    /// 1. `sub_offsets` is null or points to `ndim` numbers.
    /// 2. `rank` is at most `ndim`.
    unsafe fn follows_pointers(&self, rank: usize) -> bool {
        // SAFETY: clauses 1 and 2 of `# Safety`: called only if `sub_offsets` is not null, so it
        // points to `ndim` numbers, for axes below `rank`.
        let jumps = |axis| unsafe { *self.sub_offsets.wrapping_add(axis) } >= 0;
        !self.sub_offsets.is_null() && (0..rank).any(jumps)
    }
}

/// The axis at position `k` from the innermost one.
fn inner(order: Order, k: usize, rank: usize) -> usize {
    match order {
        Order::RowMajor => rank - 1 - k,
        Order::ColumnMajor => k,
    }
}

/// Writes the strides of a contiguous array, as the original does: an axis of length 0 makes all
/// strides outside of it 0.
///
/// # Errors
///
/// `is_malformed` for a negative number or a null pointer, `is_overflow` if a stride does not fit;
/// neither writes any stride.
///
/// # Safety
///
/// 1. `shape` is null or points to `ndim` numbers.
/// 2. `strides` is null or points to writable memory for as many.
pub unsafe fn fill_contiguous_strides(
    ndim: isize,
    item_size: isize,
    shape: *const isize,
    order: Order,
    strides: *mut isize,
) -> Result<()> {
    let malformed = |text: String| Err(Error::new(Kind::Malformed, text));
    let Ok(rank) = usize::try_from(ndim) else {
        return malformed(format!("the number of axes is {ndim}; it must be 0 or more"));
    };
    if item_size < 0 {
        return malformed(format!("the item size is {item_size} bytes; it must be 0 or more"));
    }
    if rank > 0 && (shape.is_null() || strides.is_null()) {
        let what = if shape.is_null() { "shape" } else { "strides" };
        return malformed(format!("the pointer to the {what} of {rank} axes is null"));
    }
    // The first round checks that all of them fit, the second writes them.
    for is_written in [false, true] {
        let mut stride = Some(item_size);
        for k in 0..rank {
            let axis = inner(order, k, rank);
            // SAFETY: clause 1 of `# Safety`: `shape` is not null (checked above), so it points to
            // `ndim` numbers, and `axis < rank`, which is `ndim`.
            let len = unsafe { *shape.wrapping_add(axis) };
            if len < 0 {
                return malformed(format!("axis {axis} has length {len}"));
            }
            let Some(fits) = stride else {
                return Err(Error::new(
                    Kind::Overflow,
                    format!("the stride of axis {axis} is more than {} bytes", isize::MAX),
                ));
            };
            if is_written {
                // SAFETY: clause 2 of `# Safety`: `strides` is not null (checked above), so `ndim`
                // numbers can be written there, and `axis < rank`, which is `ndim`.
                unsafe { *strides.wrapping_add(axis) = fits };
            }
            stride = fits.checked_mul(len);
        }
    }
    Ok(())
}
