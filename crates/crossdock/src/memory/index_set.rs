//! Small indexes that are taken and released: one bit each.

use crate::memory::sync::{AtomicU64, Ordering};

/// The most threads that have an index at a time.
pub(crate) const INDEXED_THREADS: usize = if cfg!(loom) { 3 } else { 64 };

/// One bit for each index that is taken.
///
/// Orderings. Releasing an index is a Release, and taking it an Acquire: what was done under an
/// index happens before what its next owner does.
pub(crate) struct IndexSet(AtomicU64);

impl IndexSet {
    /// All indexes free. (The model checker's atomics are not made in constants.)
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[cfg(all(test, loom))]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// A free index, if there is one.
    pub(crate) fn take(&self) -> Option<usize> {
        let mut taken = self.0.load(Ordering::Relaxed);
        loop {
            let index = taken.trailing_ones() as usize;
            if index >= INDEXED_THREADS {
                return None;
            }
            match self.0.compare_exchange_weak(
                taken,
                taken | 1 << index,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(index),
                Err(now) => taken = now,
            }
        }
    }

    /// Releases an index.
    ///
    /// # Safety
    ///
    /// 1. [`IndexSet::take`] returned the index to the caller, who does not use it any more: data
    ///    is accessed without synchronization under an index.
    pub(crate) unsafe fn give(&self, index: usize) {
        self.0.fetch_and(!(1 << index), Ordering::Release);
    }
}
