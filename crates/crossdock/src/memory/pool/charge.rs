//! How much of a pool is in use: one word, which holds the limit and keeps the pool's core alive.

use crate::memory::sync::{AtomicU64, Ordering, fence};

/// What is charged for memory is counted in units of this many bytes.
pub(crate) const UNIT: usize = 64;

/// Set while anybody has a handle on the pool.
const HANDLED: u64 = 1 << 63;
/// More than any address space holds; far enough below [`HANDLED`] that no sum of a charge and a request reaches it.
pub(crate) const UNLIMITED: u64 = 1 << 58;

/// The number of units that a block of `nbytes` is charged: at least one, so that every block keeps its pool's core alive.
pub(crate) fn units(nbytes: usize) -> u64 {
    nbytes.div_ceil(UNIT).max(1) as u64
}

/// Units in use, and one bit for all handles together.
///
/// Orderings. Whoever gives units or the handles' bit back releases what it did with the core; the one who brings the
/// word to zero fences with Acquire, so that all of it happens before the core is freed. Taking units is Relaxed: the
/// taker has a handle, or units of its own, which keep the core alive meanwhile.
// In cache lines of its own: threads that meet here shall not take what is around it from each other, too. (Processors fetch
// lines in pairs.)
#[repr(align(128))]
pub(crate) struct Charge {
    word: AtomicU64,
    limit: u64,
}

impl Charge {
    /// Nothing in use, and a handle. `limit` counts units, [`UNLIMITED`] at most.
    pub(crate) fn new(limit: u64) -> Self {
        Self { word: AtomicU64::new(HANDLED), limit: limit.min(UNLIMITED) }
    }

    /// The most units that can be in use.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Units in use.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn used(&self) -> u64 {
        self.word.load(Ordering::Relaxed) & !HANDLED
    }

    /// Takes `units` if the limit permits it, in one compare-and-swap. Otherwise nothing changed, and the error says how many are
    /// in use.
    #[inline]
    pub(crate) fn take(&self, units: u64) -> Result<(), u64> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let used = word & !HANDLED;
            if units > self.limit - used.min(self.limit) {
                return Err(used);
            }
            match self.word.compare_exchange_weak(word, word + units, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// Gives `units` back. `true`: those were the last, there is no handle, and the caller must free the core.
    #[inline]
    #[must_use]
    pub(crate) fn give(&self, units: u64) -> bool {
        self.subtract(units)
    }

    /// The last handle is gone. `true`: nothing is in use either, and the caller must free the core.
    #[must_use]
    pub(crate) fn drop_handles(&self) -> bool {
        self.subtract(HANDLED)
    }

    #[inline]
    fn subtract(&self, part: u64) -> bool {
        let last = self.word.fetch_sub(part, Ordering::Release) == part;
        if last {
            fence(Ordering::Acquire);
        }
        last
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_can_be_reached_and_not_passed() {
        let charge = Charge::new(10);
        assert_eq!(charge.take(6), Ok(()));
        assert_eq!(charge.take(5), Err(6));
        assert_eq!(charge.take(u64::MAX), Err(6));
        assert_eq!(charge.take(4), Ok(()));
        assert_eq!(charge.used(), 10);
        assert!(!charge.give(10));
        assert_eq!(charge.take(10), Ok(()));
    }

    #[test]
    fn the_core_is_freed_by_whoever_goes_last() {
        let charge = Charge::new(UNLIMITED);
        assert_eq!(charge.take(3), Ok(()));
        assert!(!charge.drop_handles());
        assert!(!charge.give(2));
        assert!(charge.give(1));

        let unused = Charge::new(0);
        assert!(unused.drop_handles());
    }

    #[test]
    fn an_empty_block_is_charged_one_unit() {
        assert_eq!((units(0), units(1), units(64), units(65)), (1, 1, 1, 2));
    }
}
