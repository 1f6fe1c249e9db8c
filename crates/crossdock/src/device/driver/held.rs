//! The values that work holds until it is done, and their release.

use crate::device::engine::Work;
use crate::device::{Orphans, Transfer};
use crate::memory::release::{Orphan, release_quietly};

/// A value that work holds until it is done: a [`Transfer`], a [`Work`], nothing (`()`), or one of
/// them with another value, `(W, B)`, which is dropped after the leases are released.
pub trait Held: sealed::GiveBack + Send + 'static {}

impl<W: sealed::GiveBack + Send + 'static> Held for W {}

pub(super) mod sealed {
    use super::{Orphans, Transfer, Work};

    /// Allocations that their owners still have to release.
    pub struct Left(pub(in crate::device) Orphans);

    pub trait GiveBack {
        /// The values left after the leases are released.
        type Rest: Send + 'static;

        /// Releases the leases, and counts the bytes if the work succeeded. Runs no code of a
        /// foreign owner: dropping the results does.
        fn give_back(self, is_done: bool) -> (Left, Self::Rest);
    }

    impl GiveBack for () {
        type Rest = ();
        fn give_back(self, _: bool) -> (Left, ()) {
            (Left(Orphans::default()), ())
        }
    }

    impl GiveBack for Transfer {
        type Rest = ();
        fn give_back(self, is_done: bool) -> (Left, ()) {
            (Left(Self::give_back(self, is_done)), ())
        }
    }

    impl GiveBack for Work {
        type Rest = ();
        fn give_back(self, is_done: bool) -> (Left, ()) {
            (Left(Self::give_back(self, is_done)), ())
        }
    }

    impl<W: GiveBack, B: Send + 'static> GiveBack for (W, B) {
        type Rest = (W::Rest, B);
        fn give_back(self, is_done: bool) -> (Left, Self::Rest) {
            let (left, rest) = self.0.give_back(is_done);
            (left, (rest, self.1))
        }
    }
}

/// The held values of work of any type. Dropping it releases memory that has no holder left, and
/// may run foreign code.
pub(super) trait HeldLeases: Send {
    /// Releases the leases, at most once, under the queue's lock.
    fn give_back(&mut self, is_done: bool);
}

/// Work, until its leases are released; then the allocations left to release.
pub(super) struct WorkLeases<W: Held> {
    pub(super) work: Option<W>,
    /// Allocations that their owners still have to release.
    orphans: Orphans,
    rest: Option<W::Rest>,
}

impl<W: Held> WorkLeases<W> {
    pub(super) fn new(work: W) -> Self {
        Self { work: Some(work), orphans: Orphans::default(), rest: None }
    }
}

impl<W: Held> HeldLeases for WorkLeases<W> {
    fn give_back(&mut self, is_done: bool) {
        if let Some(work) = self.work.take() {
            let (left, rest) = work.give_back(is_done);
            (self.orphans, self.rest) = (left.0, Some(rest));
            // A thread that observes the end of the work must find its memory available again, also
            // under a limit.
            self.orphans.iter_mut().flatten().for_each(Orphan::release_own);
        }
    }
}

impl<W: Held> Drop for WorkLeases<W> {
    fn drop(&mut self) {
        // Each separately: one owner's panic must not keep the other owners from releasing.
        for orphan in &mut self.orphans {
            release_quietly(|| drop(orphan.take()));
        }
    }
}
