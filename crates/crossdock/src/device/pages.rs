//! Page mappings for devices: zeroed memory, or reserved addresses only.

use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::memory::os::{PageAccess, pages};

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
        Self::new(nbytes, PageAccess::None)
    }

    /// Zeroed pages for at least one and `nbytes` bytes.
    pub(super) fn zeroed(nbytes: usize) -> Result<Self> {
        Self::new(nbytes, PageAccess::ReadWrite)
    }

    fn new(nbytes: usize, access: PageAccess) -> Result<Self> {
        let out_of_memory = || Error::out_of_memory(nbytes, pages::size());
        let rounded = nbytes.max(1).checked_next_multiple_of(pages::size()).ok_or_else(out_of_memory)?;
        let base = pages::map_unreserved(rounded, access).ok_or_else(out_of_memory)?;
        Ok(Self { base, nbytes: rounded })
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: clauses 1 to 3 of `unmap`: only this value unmaps `base..base + nbytes` (Pages
        // 1), all of it, and `drop` runs once; its users have been dropped.
        unsafe { pages::unmap(self.base, self.nbytes) };
    }
}
