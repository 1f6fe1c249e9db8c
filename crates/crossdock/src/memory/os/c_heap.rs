//! Blocks of C's heap, which code in C frees, too.

use std::ffi::c_void;
use std::ptr::NonNull;

/// A block of zeros for `count` values of `nbytes` bytes each, aligned for all C types. `None`: out
/// of memory.
#[inline]
pub(crate) fn zeroed(count: usize, nbytes: usize) -> Option<NonNull<c_void>> {
    // SAFETY: `calloc` accepts any sizes. It returns null, checked here, or a block.
    NonNull::new(unsafe { libc::calloc(count, nbytes) })
}

/// # Safety
///
/// 1. The block is from [`zeroed`], and no code uses it any more.
#[inline]
pub(crate) unsafe fn free(block: NonNull<c_void>) {
    // SAFETY: `calloc` made the block, and no code uses it any more (clause 1 of `# Safety`).
    unsafe { libc::free(block.as_ptr()) }
}
