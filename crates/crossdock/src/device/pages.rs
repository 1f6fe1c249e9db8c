//! Page mappings for devices: zeroed memory, or reserved addresses only.

use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::memory::fault;

/// Pages that this process mapped.
///
/// # Invariants
///
/// 1. `base..base + nbytes` is a mapping that `new` made, which this value alone unmaps.
pub(super) struct Pages {
    base: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and this value alone unmaps it (Pages
// 1).
unsafe impl Send for Pages {}

impl Pages {
    /// Reserves addresses for at least one and `nbytes` bytes, at which the CPU faults: for memory
    /// that has no addresses.
    pub(super) fn reserved(nbytes: usize) -> Result<Self> {
        Self::new(nbytes, libc::PROT_NONE)
    }

    /// Zeroed pages for at least one and `nbytes` bytes.
    pub(super) fn zeroed(nbytes: usize) -> Result<Self> {
        Self::new(nbytes, libc::PROT_READ | libc::PROT_WRITE)
    }

    fn new(nbytes: usize, protection: i32) -> Result<Self> {
        let out_of_memory = || Error::out_of_memory(nbytes, fault::page_size());
        let rounded = nbytes.max(1).checked_next_multiple_of(fault::page_size()).ok_or_else(out_of_memory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping without `MAP_FIXED`, at an address that the kernel chooses,
        // changes no existing mapping.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), rounded, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(out_of_memory());
        }
        let base = NonNull::new(base.cast()).ok_or_else(out_of_memory)?;
        Ok(Self { base, nbytes: rounded })
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `base..base + nbytes` is a mapping that only this value unmaps (Pages 1), and
        // `drop` runs once; its users have been dropped.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.nbytes) };
    }
}
