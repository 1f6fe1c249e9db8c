//! Small indexes for threads, so that each thread has counters that only it writes.

use std::cell::Cell;
use std::sync::OnceLock;

use crate::memory::copied;
use crate::memory::fork::get_or_make;
use crate::memory::index_set::IndexSet;

pub(crate) use crate::memory::index_set::INDEXED_THREADS;

/// The value of a thread that has not requested an index yet.
const UNKNOWN: usize = usize::MAX;

thread_local! {
    static INDEX: Cell<usize> = const { Cell::new(UNKNOWN) };
    static GIVE_BACK: ReleaseAtExit = const { ReleaseAtExit };
}

/// Releases the thread's index when the thread ends.
struct ReleaseAtExit;

impl Drop for ReleaseAtExit {
    fn drop(&mut self) {
        let thread_index = INDEX.replace(INDEXED_THREADS);
        if thread_index < INDEXED_THREADS {
            copied::leave(thread_index);
            if let Some(drain) = DRAIN.get() {
                // SAFETY: clause 1 of `drain_at_end`: the index is this thread's until
                // `indexes().give` below releases it.
                unsafe { drain(thread_index) };
            }
            // This thread's counting happens before that of the next thread with this index.
            // SAFETY: clause 1 of `give`: `claim` took the index for this thread, and `INDEX` no
            // longer returns it.
            indexes().inspect(|indexes| unsafe { indexes.give(thread_index) });
        }
    }
}

/// What a layer above does at the end of each thread that has an index: it frees what it keeps
/// under the index.
static DRAIN: OnceLock<unsafe fn(usize)> = OnceLock::new();

/// Has each thread that has an index call `drain` with it when the thread ends. There can be one
/// such function, and setting it again changes nothing.
///
/// # Safety
///
/// 1. `drain` may be called with the index of the calling thread, before another thread gets it.
pub(crate) unsafe fn drain_at_end(drain: unsafe fn(usize)) {
    get_or_make(&DRAIN, || drain);
}

/// This thread's index, which is below [`INDEXED_THREADS`] and belongs to this thread alone. If the
/// thread has no index, or none yet, the result is [`INDEXED_THREADS`] or more: see [`claim`].
#[inline]
pub(crate) fn current() -> usize {
    INDEX.get()
}

/// Assigns an index to this thread on the first call. Returns [`INDEXED_THREADS`] if there is none:
/// too many threads have one, or this thread is ending.
#[cold]
pub(crate) fn claim() -> usize {
    if INDEX.get() != UNKNOWN {
        return INDEX.get();
    }
    // If the thread is ending already, nothing would release the index.
    let registered = GIVE_BACK.try_with(|_| ()).is_ok();
    let index = if registered { indexes().and_then(IndexSet::take) } else { None };
    let thread_index = index.unwrap_or(INDEXED_THREADS);
    INDEX.set(thread_index);
    thread_index
}

/// The model checker's atomics live no longer than one run of it: there, no thread has an index.
#[cfg(not(loom))]
static INDEXES: IndexSet = IndexSet::new();

#[cfg(not(loom))]
fn indexes() -> Option<&'static IndexSet> {
    Some(&INDEXES)
}

#[cfg(loom)]
fn indexes() -> Option<&'static IndexSet> {
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn threads_that_live_at_the_same_time_have_different_indexes() {
        let barrier = Barrier::new(8);
        let mut thread_indexes: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let thread_index = claim();
                        barrier.wait();
                        assert_eq!((current(), claim()), (thread_index, thread_index));
                        thread_index
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        thread_indexes.retain(|&thread_index| thread_index < INDEXED_THREADS);
        let count = thread_indexes.len();
        thread_indexes.sort_unstable();
        thread_indexes.dedup();
        assert_eq!(thread_indexes.len(), count);
    }

    #[test]
    fn more_threads_than_indexes_share_the_last_and_indexes_come_back() {
        for _ in 0..3 {
            let barrier = Barrier::new(INDEXED_THREADS + 8);
            let without = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..INDEXED_THREADS + 8)
                    .map(|_| {
                        scope.spawn(|| {
                            let thread_index = claim();
                            barrier.wait();
                            thread_index == INDEXED_THREADS
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .filter(|_| true)
                    .map(|thread| thread.join().unwrap())
                    .filter(|&none| none)
                    .count()
            });
            assert!((8..INDEXED_THREADS).contains(&without), "{without} threads had no index of their own");
        }
    }
}
