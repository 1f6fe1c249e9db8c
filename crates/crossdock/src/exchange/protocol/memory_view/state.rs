//! The state of a record: one atomic word, which alone decides who releases a view.
//!
//! ```text
//!  63 ............ 2   1 0
//! +-----------------+-------+
//! |   generation    | phase |
//! +-----------------+-------+
//!
//!   free ──publish──> live ──claim──> busy ──retire──> free, one generation on
//!                       └───keep────────┘
//! ```
//!
//! A view names its record by number and generation. Several calls may try to release it (twice,
//! from copies, from other threads): the compare-and-swap from live to busy admits one of them,
//! once.
//!
//! Orderings: publishing releases what was written into the record, and claiming acquires it.
//! Retiring releases it for the record's next thread, which finds the record in a list with
//! orderings of its own.

use std::sync::atomic::{AtomicU64, Ordering};

/// The atomic word, or the model checker's.
pub(super) trait AtomicWord {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, word: u64, order: Ordering);
    fn exchange(&self, from: u64, to: u64, order: Ordering) -> Result<u64, u64>;
}

macro_rules! word {
    ($atomic:ty) => {
        impl AtomicWord for $atomic {
            #[inline]
            fn load(&self, order: Ordering) -> u64 {
                self.load(order)
            }

            #[inline]
            fn store(&self, word: u64, order: Ordering) {
                self.store(word, order);
            }

            #[inline]
            fn exchange(&self, from: u64, to: u64, order: Ordering) -> Result<u64, u64> {
                self.compare_exchange(from, to, order, Ordering::Relaxed)
            }
        }
    };
}

word!(AtomicU64);
#[cfg(all(test, loom))]
word!(loom::sync::atomic::AtomicU64);

const FREE: u64 = 0;
const LIVE: u64 = 1;
const BUSY: u64 = 2;
const PHASE: u64 = 3;
const GENERATION: u64 = 4;

/// The number of generations of a record. A record that used them all is never reused, so that no
/// view is ever mistaken for another.
pub(super) const GENERATIONS: u64 = 1 << 40;

/// Why a view cannot be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimError {
    /// It was released.
    Over,
    /// Another call is releasing it.
    Busy,
    /// It was never published.
    Unknown,
}

/// The word of one record.
pub(super) struct RecordState<W = AtomicU64>(W);

impl RecordState {
    /// The state of a record that was never used. The first generation is 1, so that no view has
    /// the name 0.
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(GENERATION))
    }
}

impl<W: AtomicWord> RecordState<W> {
    /// From free to live, by the owner of the record. Returns the generation.
    #[inline]
    pub(super) fn publish(&self) -> u64 {
        let word = self.0.load(Ordering::Relaxed);
        debug_assert_eq!(word & PHASE, FREE, "published by the thread that took it from the list");
        self.0.store(word | LIVE, Ordering::Release);
        word / GENERATION
    }

    /// From live to busy, if the record has this generation: the caller owns the record from then
    /// on.
    #[inline]
    pub(super) fn claim(&self, generation: u64) -> Result<(), ClaimError> {
        let live = (generation * GENERATION) | LIVE;
        match self.0.exchange(live, (live ^ LIVE) | BUSY, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(found) => Err(refused(generation, found)),
        }
    }

    /// From busy back to live, by the call that claimed it.
    pub(super) fn keep(&self) {
        let word = self.0.load(Ordering::Relaxed);
        debug_assert_eq!(word & PHASE, BUSY, "kept by the thread that claimed it");
        self.0.store((word ^ BUSY) | LIVE, Ordering::Release);
    }

    /// From busy to free, by the call that claimed it. Returns whether the record can be used
    /// again.
    #[inline]
    pub(super) fn retire(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        debug_assert_eq!(word & PHASE, BUSY, "retired by the thread that claimed it");
        let next = word / GENERATION + 1;
        self.0.store(next * GENERATION, Ordering::Release);
        next < GENERATIONS
    }

    /// From free to live, as [`RecordState::publish`], if it is free and has generations left: for
    /// records that one exporter keeps.
    #[inline]
    pub(super) fn publish_again(&self) -> Option<u64> {
        let word = self.0.load(Ordering::Relaxed);
        if word & PHASE != FREE || word / GENERATION >= GENERATIONS {
            return None;
        }
        self.0.store(word | LIVE, Ordering::Release);
        Some(word / GENERATION)
    }

    /// From live to free at once, if the record has this generation. No other call may try the same
    /// meanwhile.
    #[inline]
    pub(super) fn finish(&self, generation: u64) -> bool {
        let live = (generation * GENERATION) | LIVE;
        if self.0.load(Ordering::Relaxed) != live {
            return false;
        }
        self.0.store((generation + 1) * GENERATION, Ordering::Release);
        true
    }

    /// Whether there are generations left.
    pub(super) fn is_usable(&self) -> bool {
        self.0.load(Ordering::Relaxed) / GENERATION < GENERATIONS
    }

    /// Whether this generation is live or busy.
    #[inline]
    pub(super) fn is_held(&self, generation: u64) -> bool {
        let word = self.0.load(Ordering::Acquire);
        word & PHASE != FREE && word / GENERATION == generation
    }

    /// Whether any generation is live or busy.
    pub(super) fn is_used(&self) -> bool {
        self.0.load(Ordering::Acquire) & PHASE != FREE
    }
}

#[cold]
fn refused(generation: u64, found: u64) -> ClaimError {
    if generation == 0 || found / GENERATION < generation {
        ClaimError::Unknown
    } else if found / GENERATION == generation && found & PHASE == BUSY {
        ClaimError::Busy
    } else if found / GENERATION == generation {
        ClaimError::Unknown
    } else {
        ClaimError::Over
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_claimed_once() {
        let state = RecordState::new();
        assert_eq!(state.claim(1), Err(ClaimError::Unknown));
        let generation = state.publish();
        assert_eq!(generation, 1);
        assert!(state.is_held(1) && !state.is_held(2));
        assert_eq!(state.claim(1), Ok(()));
        assert_eq!(state.claim(1), Err(ClaimError::Busy));
        state.keep();
        assert_eq!(state.claim(1), Ok(()));
        assert!(state.retire());
        assert!(!state.is_used());
        assert_eq!(state.claim(1), Err(ClaimError::Over));
        assert_eq!(state.publish(), 2);
        assert_eq!(state.claim(1), Err(ClaimError::Over));
        assert_eq!(state.claim(3), Err(ClaimError::Unknown));
        assert_eq!(state.claim(0), Err(ClaimError::Unknown));
    }

    #[test]
    fn a_record_that_is_kept_is_published_and_finished_in_turns() {
        let state = RecordState::new();
        assert_eq!((state.publish_again(), state.publish_again()), (Some(1), None));
        assert!(!state.finish(2) && !state.finish(0) && state.finish(1) && !state.finish(1));
        assert_eq!(state.publish_again(), Some(2));
        assert_eq!(state.claim(2), Ok(()));
        assert!(!state.finish(2) && state.publish_again().is_none());
        assert!(state.retire() && state.is_usable());
        let worn = RecordState(AtomicU64::new((GENERATIONS - 1) * GENERATION));
        assert_eq!(worn.publish_again(), Some(GENERATIONS - 1));
        assert!(worn.finish(GENERATIONS - 1) && !worn.is_usable());
        assert_eq!(worn.publish_again(), None);
    }

    #[test]
    fn the_last_generation_is_the_last() {
        let state = RecordState(AtomicU64::new((GENERATIONS - 2) * GENERATION));
        assert_eq!(state.publish(), GENERATIONS - 2);
        assert_eq!(state.claim(GENERATIONS - 2), Ok(()));
        assert!(state.retire());
        assert_eq!(state.publish(), GENERATIONS - 1);
        assert_eq!(state.claim(GENERATIONS - 1), Ok(()));
        assert!(!state.retire());
        assert_eq!(state.claim(GENERATIONS), Err(ClaimError::Unknown));
    }
}

/// Two threads with copies of one view, of which one may continue with the record: in every
/// interleaving, one thread at a time accesses the contents, and they are released once for each
/// generation.
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    struct Record {
        state: RecordState<loom::sync::atomic::AtomicU64>,
        view_lease: UnsafeCell<u64>,
        released: AtomicUsize,
    }

    // SAFETY: the loom cell checks each access itself, and the model tests exactly that one thread
    // at a time accesses it.
    unsafe impl Send for Record {}
    // SAFETY: the loom cell checks each access itself, and the model tests exactly that one thread
    // at a time accesses it.
    unsafe impl Sync for Record {}

    fn record() -> Arc<Record> {
        let word = loom::sync::atomic::AtomicU64::new(GENERATION);
        Arc::new(Record {
            state: RecordState(word),
            view_lease: UnsafeCell::new(0),
            released: AtomicUsize::new(0),
        })
    }

    fn publish(record: &Record) -> u64 {
        record.view_lease.with_mut(|_| ());
        record.state.publish()
    }

    /// Releases a view, perhaps after a first try that the producer declined; the call that
    /// succeeds may publish the record again, and release that, too.
    fn release(record: &Record, generation: u64, declined: bool) -> bool {
        if record.state.claim(generation).is_err() {
            return false;
        }
        record.view_lease.with_mut(|_| ());
        if declined {
            record.state.keep();
            return false;
        }
        record.released.fetch_add(1, Ordering::Relaxed);
        assert!(record.state.retire());
        true
    }

    #[test]
    fn copies_of_a_view_on_two_threads() {
        for (first, second) in [(false, false), (true, false), (true, true)] {
            loom::model(move || {
                let record = record();
                let generation = publish(&record);
                let other = Arc::clone(&record);
                let thread = loom::thread::spawn(move || release(&other, generation, first));
                let here = release(&record, generation, second);
                let there = thread.join().expect("no thread of the model panics");
                assert!(!(here && there));
                assert_eq!(record.released.load(Ordering::Relaxed), usize::from(here || there));
            });
        }
    }

    #[test]
    fn a_stale_copy_beside_the_next_view_of_the_record() {
        loom::model(|| {
            let record = record();
            let generation = publish(&record);
            let other = Arc::clone(&record);
            let stale = loom::thread::spawn(move || release(&other, generation, false));
            if release(&record, generation, false) {
                let next = publish(&record);
                assert_eq!(next, generation + 1);
                assert!(release(&record, next, false));
            }
            stale.join().expect("no thread of the model panics");
            let released = record.released.load(Ordering::Relaxed);
            assert!(released == 1 || released == 2);
        });
    }
}
