//! Blocks of C's heap, which code in C frees, too.

use std::ffi::c_void;
use std::ptr::NonNull;

/// A block of zeros for `count` values of `nbytes` bytes each, aligned for all C types. `None`: out
/// of memory.
///
/// Not by `calloc`, which in glibc does not look into the thread's own free blocks.
#[inline]
pub(crate) fn zeroed(count: usize, nbytes: usize) -> Option<NonNull<c_void>> {
    let nbytes = count.checked_mul(nbytes)?;
    // SAFETY: `malloc` accepts any size. It returns null, checked here, or a block.
    let block = NonNull::new(unsafe { libc::malloc(nbytes) })?;
    // SAFETY: the block has `nbytes` bytes, and only this function knows it.
    unsafe { block.cast::<u8>().write_bytes(0, nbytes) };
    Some(block)
}

/// # Safety
///
/// 1. The block is from [`zeroed`], and no code uses it any more.
#[inline]
pub(crate) unsafe fn free(block: NonNull<c_void>) {
    // SAFETY: `malloc` made the block, and no code uses it any more (clause 1 of `# Safety`).
    unsafe { libc::free(block.as_ptr()) }
}
