//! Small numbers that are taken and released: one bit each.

use crate::memory::sync::{AtomicU64, Ordering};

/// The most threads that have a number at a time.
pub(crate) const SLOTS: usize = if cfg!(loom) { 3 } else { 64 };

/// One bit for each number that is taken.
///
/// Orderings. Releasing a number is a Release, and taking it an Acquire: what was done under a
/// number happens before what its next owner does.
pub(crate) struct Numbers(AtomicU64);

impl Numbers {
    /// All numbers free. (The model checker's atomics are not made in constants.)
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[cfg(all(test, loom))]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// A free number, if there is one.
    pub(crate) fn take(&self) -> Option<usize> {
        let mut taken = self.0.load(Ordering::Relaxed);
        loop {
            let number = taken.trailing_ones() as usize;
            if number >= SLOTS {
                return None;
            }
            match self.0.compare_exchange_weak(
                taken,
                taken | 1 << number,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(number),
                Err(now) => taken = now,
            }
        }
    }

    /// Releases a number that the caller has taken.
    pub(crate) fn give(&self, number: usize) {
        self.0.fetch_and(!(1 << number), Ordering::Release);
    }
}
