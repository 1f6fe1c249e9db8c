//! Blocks of memory that were freed, for the next users: most live as briefly as one hand-over.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The most blocks that a stack keeps.
const MOST: usize = 8;

/// A stack of blocks of one size.
///
/// # Invariants
///
/// 1. The first `count` blocks are allocations of the kind that the caller of [`Spare::keep`]
///    names, without another user.
/// 2. Only threads that hold the GIL access it, so that no two do so at once.
pub(crate) struct Spare<T> {
    count: AtomicUsize,
    blocks: [AtomicPtr<T>; MOST],
}

impl<T> Spare<T> {
    pub(crate) const fn new() -> Self {
        Self { count: AtomicUsize::new(0), blocks: [const { AtomicPtr::new(ptr::null_mut()) }; MOST] }
    }

    /// A block, if there is one.
    ///
    /// # Safety
    ///
    /// 1. This thread holds the GIL.
    #[inline(always)]
    pub(crate) unsafe fn take(&self) -> Option<*mut T> {
        let count = self.count.load(Ordering::Relaxed).checked_sub(1)?;
        let block = self.blocks.get(count)?.load(Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
        Some(block)
    }

    /// Keeps a block, or returns it if there are enough.
    ///
    /// # Safety
    ///
    /// 1. Every block of this stack is of one kind of allocation, and no other code uses `block`.
    /// 2. This thread holds the GIL.
    #[inline(always)]
    pub(crate) unsafe fn keep(&self, block: *mut T) -> Result<(), *mut T> {
        let count = self.count.load(Ordering::Relaxed);
        let Some(place) = self.blocks.get(count) else { return Err(block) };
        place.store(block, Ordering::Relaxed);
        self.count.store(count + 1, Ordering::Relaxed);
        Ok(())
    }
}
