//! Work that a driver does by itself: the event of its end, and what it holds until then.
//!
//! A driver signals the end of work, but releases nothing that the library holds. The first thread
//! that finds the work over, by waiting or polling, releases what it held, and what all earlier
//! work in the same queue held, which is over as well. If no thread asks, a background thread does
//! ([`finisher`]).
//!
//! Work ends in three steps. Under the queue's lock its leases are released ([`Held::give_back`]),
//! with memory that is the library's own, and its outcome is published. After the lock is released,
//! everything else that it held is dropped, and only then do foreign owners run their code: such an
//! owner may use the same queue, and wait for any event, including that of this work.

mod finisher;

use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::device::signal::{left_behind, repeat};
use crate::device::{Event, Orphans};
use crate::error::{Error, Result};
use crate::memory::fork;
use crate::memory::release::{Orphan, release_quietly};

/// What a driver has to tell the end of work by.
pub(crate) trait DriverEvent: fmt::Debug + Send + Sync + 'static {
    /// Waits until the work is over, and says how it ended.
    fn wait(&self) -> Result<()>;

    /// The same without waiting, or `None` where it is not over.
    fn poll(&self) -> Option<Result<()>>;

    /// The driver's own handle.
    fn raw(&self) -> *mut c_void;
}

/// What work holds until it is over. Dropping it releases memory that has no holder left, on any
/// thread, and may run foreign code.
pub(crate) trait Held: Send + 'static {
    /// Releases the leases, and counts the bytes if the work succeeded. Called at most once, under
    /// the queue's lock: it must not run code of a foreign owner.
    fn give_back(&mut self, is_done: bool);
}

/// Holds nothing.
impl Held for () {
    fn give_back(&mut self, _: bool) {}
}

/// Work whose leases a function releases, and a value that is dropped after that.
pub(crate) struct Leases<W, B> {
    work: Option<W>,
    give_back: fn(W, bool) -> Orphans,
    /// Allocations that their owners still have to release.
    orphans: Orphans,
    _beside: B,
}

impl<W, B> Leases<W, B> {
    pub(crate) fn new(work: W, give_back: fn(W, bool) -> Orphans, beside: B) -> Self {
        Self { work: Some(work), give_back, orphans: Orphans::default(), _beside: beside }
    }
}

impl<W: Send + 'static, B: Send + 'static> Held for Leases<W, B> {
    fn give_back(&mut self, is_done: bool) {
        if let Some(work) = self.work.take() {
            self.orphans = (self.give_back)(work, is_done);
            // A thread that sees the work over must find its memory available again, also under a
            // limit.
            self.orphans.iter_mut().flatten().for_each(Orphan::release_own);
        }
    }
}

impl<W, B> Drop for Leases<W, B> {
    fn drop(&mut self) {
        // Each separately, so that one owner's panic does not keep the others from releasing
        // theirs.
        for orphan in &mut self.orphans {
            release_quietly(|| drop(orphan.take()));
        }
    }
}

struct Work<E> {
    end: Arc<Pending<E>>,
    held: Box<dyn Held>,
}

/// The work of one queue of a driver that is not known to be over, the oldest first. The queue does it in its order.
pub(crate) struct Line<E> {
    /// Never taken in a child of the process that made it, where another thread may have had it.
    under_way: Mutex<Ordered<E>>,
    generation: u64,
}

struct Ordered<E> {
    work: VecDeque<Work<E>>,
    next_number: u64,
}

impl<E: DriverEvent> Line<E> {
    pub(crate) fn new() -> Arc<Self> {
        let ordered = Ordered { work: VecDeque::new(), next_number: 0 };
        Arc::new(Self { under_way: Mutex::new(ordered), generation: fork::generation() })
    }

    /// Puts work into the driver's queue: calls `enqueue` under the queue's lock, which returns the
    /// event of its end. `held` is kept until then. If `enqueue` fails, it is dropped at once,
    /// without the lock.
    ///
    /// # Errors
    ///
    /// Of `enqueue`, after which no work may be under way; and in a forked child.
    pub(crate) fn push(
        self: &Arc<Self>,
        held: impl Held,
        enqueue: impl FnOnce() -> Result<E>,
    ) -> Result<Arc<dyn Event>> {
        // Declared before the lock, so an early return drops it after the lock.
        let held: Box<dyn Held> = Box::new(held);
        let mut ordered = self.lock()?;
        // Room first: once the driver has the work, nothing may fail.
        ordered.work.try_reserve(1).map_err(|_| Error::out_of_memory(size_of::<Work<E>>(), 1))?;
        let number = ordered.next_number;
        let event = enqueue()?;
        let end = Arc::new(Pending { event, line: self.clone(), number, outcome: OnceLock::new() });
        ordered.next_number += 1;
        ordered.work.push_back(Work { end: end.clone(), held });
        drop(ordered);
        let end: Arc<dyn Event> = end;
        if !finisher::watch(&end) {
            // It is told to whoever asks the event.
            let _outcome = end.wait();
        }
        Ok(end)
    }

    fn lock(&self) -> Result<MutexGuard<'_, Ordered<E>>> {
        if self.generation != fork::generation() {
            return Err(left_behind());
        }
        Ok(self.under_way.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<E> fmt::Debug for Line<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Line")
    }
}

/// The end of work in a driver's queue.
pub(crate) struct Pending<E> {
    event: E,
    line: Arc<Line<E>>,
    number: u64,
    outcome: OnceLock<Result<()>>,
}

impl<E: DriverEvent> Pending<E> {
    /// The driver's event.
    pub(crate) fn event(&self) -> &E {
        &self.event
    }

    /// Gives back what this work and all before it held, since it is over, and ended so.
    fn conclude(&self, outcome: Result<()>) -> Result<()> {
        let mut own = Some(outcome);
        while let Some(work) = self.take_next(&mut own)? {
            // Without the lock: this may run code of foreign owners.
            release_quietly(|| drop(work));
        }
        match (self.outcome.get(), own) {
            (Some(outcome), _) => repeat(outcome),
            (None, Some(outcome)) => outcome,
            (None, None) => Ok(()),
        }
    }

    /// Takes the oldest finished work out of the queue, up to this one, after releasing its leases
    /// and publishing its outcome. `None` when this one is no longer in the queue.
    fn take_next(&self, own: &mut Option<Result<()>>) -> Result<Option<Work<E>>> {
        let mut ordered = self.line.lock()?;
        let Some(oldest) = ordered.work.front().filter(|work| work.end.number <= self.number) else {
            return Ok(None);
        };
        // Polled without waiting, since the lock is held. Work that fails because of what it waited
        // for can be over before older work.
        let of_older = if oldest.end.number < self.number { oldest.end.event.poll() } else { None };
        let (place, outcome) = match of_older {
            Some(outcome) => (Some(0), Some(outcome)),
            None => (ordered.work.iter().position(|work| work.end.number == self.number), own.take()),
        };
        let (Some(place), Some(outcome)) = (place, outcome) else { return Ok(None) };
        let Some(mut work) = ordered.work.remove(place) else { return Ok(None) };
        release_quietly(|| work.held.give_back(outcome.is_ok()));
        // Set only here, by the thread that took the work out.
        let _first = work.end.outcome.set(outcome);
        Ok(Some(work))
    }
}

impl<E: DriverEvent> Event for Pending<E> {
    fn wait(&self) -> Result<()> {
        if let Some(outcome) = self.outcome.get() {
            return repeat(outcome);
        }
        if self.line.generation != fork::generation() {
            return Err(left_behind());
        }
        self.conclude(self.event.wait())
    }

    fn poll(&self) -> Option<Result<()>> {
        if let Some(outcome) = self.outcome.get() {
            return Some(repeat(outcome));
        }
        if self.line.generation != fork::generation() {
            return Some(Err(left_behind()));
        }
        self.event.poll().map(|outcome| self.conclude(outcome))
    }

    fn raw(&self) -> *mut c_void {
        self.event.raw()
    }
}

impl<E: DriverEvent> fmt::Debug for Pending<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome.get() {
            None => write!(f, "{:?} (not known to be over)", self.event),
            Some(Ok(())) => write!(f, "{:?} (done)", self.event),
            Some(Err(error)) => write!(f, "{:?} (failed: {error})", self.event),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
