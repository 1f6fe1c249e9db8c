//! Small numbers for threads, so that each thread has counters that only it writes.

use std::cell::Cell;

use crate::pool::front;
use crate::pool::numbers::Numbers;

pub(crate) use crate::pool::numbers::SLOTS;

/// The value of a thread that has not requested a number yet.
const UNKNOWN: usize = usize::MAX;

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(UNKNOWN) };
    static GIVE_BACK: GiveBack = const { GiveBack };
}

/// Releases the thread's number when the thread ends.
struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        let slot = SLOT.replace(SLOTS);
        if slot < SLOTS {
            // SAFETY: clause 1 of `drain`: the slot is this thread's until `numbers().give` below
            // releases it.
            unsafe { front::drain(slot) };
            // This thread's counting happens before that of the next thread with this number.
            numbers().inspect(|numbers| numbers.give(slot));
        }
    }
}

/// This thread's number, which is below [`SLOTS`] and belongs to this thread alone. If the thread
/// has no number, or none yet, the result is [`SLOTS`] or more: see [`claim`].
#[inline]
pub(crate) fn current() -> usize {
    SLOT.get()
}

/// Assigns a number to this thread on the first call. Returns [`SLOTS`] if there is none: too many
/// threads have one, or this thread is ending.
#[cold]
pub(crate) fn claim() -> usize {
    if SLOT.get() != UNKNOWN {
        return SLOT.get();
    }
    // If the thread is ending already, nothing would release the number.
    let registered = GIVE_BACK.try_with(|_| ()).is_ok();
    let number = if registered { numbers().and_then(Numbers::take) } else { None };
    let slot = number.unwrap_or(SLOTS);
    SLOT.set(slot);
    slot
}

/// The model checker's atomics live no longer than one run of it: there, no thread has a number.
#[cfg(not(loom))]
static NUMBERS: Numbers = Numbers::new();

#[cfg(not(loom))]
fn numbers() -> Option<&'static Numbers> {
    Some(&NUMBERS)
}

#[cfg(loom)]
fn numbers() -> Option<&'static Numbers> {
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn threads_that_live_at_the_same_time_have_different_numbers() {
        let barrier = Barrier::new(8);
        let mut slots: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let slot = claim();
                        barrier.wait();
                        assert_eq!((current(), claim()), (slot, slot));
                        slot
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        slots.retain(|&slot| slot < SLOTS);
        let count = slots.len();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), count);
    }

    #[test]
    fn more_threads_than_numbers_share_the_last_and_numbers_come_back() {
        for _ in 0..3 {
            let barrier = Barrier::new(SLOTS + 8);
            let without = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..SLOTS + 8)
                    .map(|_| {
                        scope.spawn(|| {
                            let slot = claim();
                            barrier.wait();
                            slot == SLOTS
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
            assert!((8..SLOTS).contains(&without), "{without} threads had no number of their own");
        }
    }
}
