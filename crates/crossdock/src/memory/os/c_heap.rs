//! Blocks of C's heap, which code in C frees, too.

use std::ffi::c_void;
use std::ptr::NonNull;

/// A block for `count` values of `nbytes` bytes each, uninitialised and aligned for all C types.
/// `None`: out of memory.
#[inline]
pub(crate) fn block(count: usize, nbytes: usize) -> Option<NonNull<c_void>> {
    // SAFETY: `malloc` accepts any size. It returns null, checked here, or a block.
    NonNull::new(unsafe { libc::malloc(count.checked_mul(nbytes)?) })
}

/// # Safety
///
/// 1. The block is from [`block`], and no code uses it any more.
#[inline]
pub(crate) unsafe fn free(block: NonNull<c_void>) {
    // SAFETY: `malloc` made the block, and no code uses it any more (clause 1 of `# Safety`).
    unsafe { libc::free(block.as_ptr()) }
}
