//! Waking of threads in any process: a futex, and the set of members that sleep at it, so that
//! no system call is made while no process sleeps.
//!
//! # Invariants
//!
//! 1. A ringer changes the state first, and looks at `sleepers` after that. A sleeper enters
//!    `sleepers` first, and looks at the state after that. All four are sequentially consistent:
//!    the state is a slot's word, or the count, which `ring` changes after the state, and of which
//!    a sleeper that reads it acquires the state. So if the ringer does not see the sleeper, its
//!    change comes before the sleeper's entry in their common order, and the sleeper sees it.
//! 2. A ringer that sees a sleeper changes `count` before it wakes. A sleeper reads `count` before
//!    it looks at the state, and the kernel puts it to sleep only while `count` is the same. So a
//!    ringer that comes between the look and the sleep keeps the sleeper awake.
//!
//! A member that dies asleep stays in `sleepers`, which costs each ringer a system call until
//! another member removes it. A ringer that dies before it wakes delays the sleepers by at most
//! [`LONGEST_SLEEP`], after which they look again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::memory::os::process;

/// Sleepers look again after this time, and whether members are gone.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
pub(super) struct Bell<'a> {
    pub(super) count: &'a AtomicU32,
    pub(super) sleepers: &'a AtomicU32,
}

impl Bell<'_> {
    /// The number of rings so far, for those that poll.
    #[inline]
    pub(super) fn count(self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Rings for those that poll and those that sleep.
    #[inline]
    pub(super) fn ring(self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.wake();
        }
    }

    /// Rings for those that sleep, after a change of a slot's word. Without any, it writes nothing.
    #[inline]
    pub(super) fn ring_sleepers(self) {
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.count.fetch_add(1, Ordering::SeqCst);
            self.wake();
        }
    }

    #[cold]
    fn wake(self) {
        process::wake_all(self.count);
    }

    /// A member intends to sleep. It looks at the state after this.
    pub(super) fn enter(self, member: usize) -> u32 {
        self.sleepers.fetch_or(1 << member, Ordering::SeqCst);
        self.count.load(Ordering::SeqCst)
    }

    /// Sleeps until the next ring after [`Bell::enter`] returned `seen`, or for `limit`. May return
    /// early.
    pub(super) fn sleep(self, seen: u32, limit: Duration) {
        process::wait_while(self.count, seen, limit.min(LONGEST_SLEEP));
    }

    /// The member no longer sleeps.
    pub(super) fn leave(self, member: usize) {
        self.sleepers.fetch_and(!(1 << member), Ordering::Relaxed);
    }
}
