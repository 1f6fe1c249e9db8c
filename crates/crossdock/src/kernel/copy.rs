//! Copies between strided and contiguous memory.

use crate::error::Result;
use crate::kernel::element_at;
use crate::layout::{Layout, Order, Runs};
use crate::memory::{count_copied, racy};

/// Copies the elements of a strided array, in row-major order of its indices, to contiguous memory. Copies, and counts,
/// `layout.nbytes()`.
///
/// # Errors
///
/// `is_layout` for an indirect array.
///
/// # Safety
///
/// `layout`, applied at `src`, reaches only bytes that may be loaded racily; `layout.nbytes()` bytes at `dst` may be
/// stored racily; the two do not overlap.
pub(crate) unsafe fn gather(src: *const u8, layout: &Layout, dst: *mut u8) -> Result<()> {
    if layout.suboffsets().is_some() {
        let flat = Layout::contiguous(layout.shape(), layout.itemsize(), Order::RowMajor)?;
        // SAFETY: the caller's word.
        return unsafe { copy(src, layout, dst, &flat) };
    }
    let runs = layout.runs()?;
    let (len, stride, itemsize) = (runs.run_len(), runs.run_stride(), layout.itemsize());
    for (run, offset) in runs.enumerate() {
        let (src, dst) = (src.wrapping_offset(offset), dst.wrapping_add(run * len * itemsize));
        // SAFETY: the elements of one run, and their place in the destination (the caller's word).
        unsafe { gather_run(src, stride, dst, itemsize, len) };
    }
    count_copied(layout.nbytes());
    Ok(())
}

/// Copies the elements of one strided array to another of the same shape and itemsize. Copies, and counts, `to.nbytes()`.
///
/// # Errors
///
/// `is_layout` for an indirect array.
///
/// # Safety
///
/// `from`, applied at `src`, reaches only bytes that may be loaded racily, `to`, applied at `dst`, only bytes that may be stored
/// racily, and the two do not overlap. Shapes and item sizes are equal.
pub(crate) unsafe fn copy(src: *const u8, from: &Layout, dst: *mut u8, to: &Layout) -> Result<()> {
    debug_assert_eq!((from.shape(), from.itemsize()), (to.shape(), to.itemsize()));
    if from.suboffsets().is_some() || to.suboffsets().is_some() {
        for position in 0..to.len() {
            let index = crate::kernel::index_of(to.shape(), position);
            // SAFETY: the caller's word.
            let src = unsafe { element_at(src.cast_mut(), from, &index) }?;
            // SAFETY: the caller's word.
            let dst = unsafe { element_at(dst, to, &index) }?;
            // SAFETY: one element, and its place in the destination (the caller's word).
            unsafe { racy::copy(src, dst, to.itemsize()) };
        }
        count_copied(to.nbytes());
        return Ok(());
    }
    for (offset, place) in from.offsets()?.zip(to.offsets()?) {
        let (src, dst) = (src.wrapping_offset(offset), dst.wrapping_offset(place));
        // SAFETY: one element, and its place in the destination (the caller's word).
        unsafe { racy::copy(src, dst, to.itemsize()) };
    }
    count_copied(to.nbytes());
    Ok(())
}

/// The layout whose row-major order is this order of the given one.
pub(crate) fn ordered(layout: &Layout, order: Order) -> Result<Layout> {
    match order {
        Order::RowMajor => Ok(layout.clone()),
        Order::ColumnMajor => layout.transpose(),
    }
}

/// A walk over the elements of a strided array in row-major order, some at a time.
pub(crate) struct Steps {
    runs: Runs,
    itemsize: usize,
    /// Where the rest of the current run begins, in bytes from element 0, and how many elements it has.
    next: isize,
    left: usize,
}

impl Steps {
    /// # Errors
    ///
    /// `is_layout` for an indirect array.
    pub(crate) fn new(layout: &Layout) -> Result<Self> {
        Ok(Self { runs: layout.runs()?, itemsize: layout.itemsize(), next: 0, left: 0 })
    }

    /// Loads the next elements into `dst`, as many as it holds, and says how many bytes they have. Not counted as a copy: it
    /// is how a program looks at memory that may change under it.
    ///
    /// # Safety
    ///
    /// The layout, applied at `src`, reaches only bytes that may be loaded racily, and `dst` is none of them.
    pub(crate) unsafe fn load(&mut self, src: *const u8, dst: &mut [u8]) -> usize {
        let capacity = dst.len().checked_div(self.itemsize).unwrap_or(0);
        let mut count = 0;
        while count < capacity {
            if self.left == 0 {
                let Some(offset) = self.runs.next() else { break };
                (self.next, self.left) = (offset, self.runs.run_len());
            }
            let (few, stride) = (self.left.min(capacity - count), self.runs.run_stride());
            let (src, dst) =
                (src.wrapping_offset(self.next), dst.as_mut_ptr().wrapping_add(count * self.itemsize));
            // SAFETY: elements of one run (the caller's word), for which the slice has room.
            unsafe { gather_run(src, stride, dst, self.itemsize, few) };
            // Behind the last element of all it leads nowhere, and is not followed.
            self.next = self.next.wrapping_add(stride.wrapping_mul(few as isize));
            self.left -= few;
            count += few;
        }
        count * self.itemsize
    }
}

/// Copies `len` elements that lie `stride` bytes apart.
///
/// # Safety
///
/// As for [`gather`], for this run.
unsafe fn gather_run(src: *const u8, stride: isize, dst: *mut u8, itemsize: usize, len: usize) {
    if stride == itemsize as isize {
        // SAFETY: elements without gaps.
        return unsafe { racy::copy(src, dst, len * itemsize) };
    }
    macro_rules! gather_as {
        ($word:ty) => {
            for index in 0..len {
                let (src, dst) =
                    (src.wrapping_offset(index as isize * stride), dst.wrapping_add(index * itemsize));
                // SAFETY: one element of the run.
                let word = unsafe { racy::load(src.cast::<$word>()) };
                // SAFETY: its place in the destination.
                unsafe { racy::store(dst.cast::<$word>(), word) };
            }
        };
    }
    match itemsize {
        1 => gather_as!(u8),
        2 => gather_as!(u16),
        4 => gather_as!(u32),
        8 => gather_as!(u64),
        _ => {
            for index in 0..len {
                let (src, dst) =
                    (src.wrapping_offset(index as isize * stride), dst.wrapping_add(index * itemsize));
                // SAFETY: one element of the run, and its place in the destination.
                unsafe { racy::copy(src, dst, itemsize) };
            }
        }
    }
}

/// Calls `f` with the bytes of one element, loaded once. On the heap only if it is wider than a cache line.
///
/// # Safety
///
/// `nbytes` bytes at `src` may be loaded racily.
pub(crate) unsafe fn load_bytes<R>(src: *const u8, nbytes: usize, f: impl FnOnce(&[u8]) -> R) -> R {
    let mut few = [0u8; 64];
    let mut many = Vec::new();
    let bytes = if nbytes <= few.len() {
        &mut few[..nbytes]
    } else {
        many.resize(nbytes, 0);
        &mut many[..]
    };
    // SAFETY: the caller's word; the local has as many bytes.
    unsafe { racy::copy(src, bytes.as_mut_ptr(), nbytes) };
    f(bytes)
}
