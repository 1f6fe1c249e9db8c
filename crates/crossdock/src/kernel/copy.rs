//! Copies between strided and contiguous memory.

use crate::error::Result;
use crate::layout::Layout;
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
    let runs = layout.runs()?;
    let (len, stride, itemsize) = (runs.run_len(), runs.run_stride(), layout.itemsize());
    let run_nbytes = len * itemsize;
    for (run, offset) in runs.enumerate() {
        let (src, dst) = (src.wrapping_offset(offset), dst.wrapping_add(run * run_nbytes));
        if stride == itemsize as isize {
            // SAFETY: a run without gaps is `run_nbytes` bytes of the source (the caller's word).
            unsafe { racy::copy(src, dst, run_nbytes) };
        } else {
            // SAFETY: the elements of one run (the caller's word).
            unsafe { gather_run(src, stride, dst, itemsize, len) };
        }
    }
    count_copied(layout.nbytes());
    Ok(())
}

/// Copies `len` elements that lie `stride` bytes apart.
///
/// # Safety
///
/// As for [`gather`], for this run.
unsafe fn gather_run(src: *const u8, stride: isize, dst: *mut u8, itemsize: usize, len: usize) {
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
