//! Work that a driver does by itself: the event of its end, and what it holds until then.
//!
//! A driver tells of the end of work, but gives nothing of ours back. So whoever first finds out that work is over, by waiting or by
//! asking, gives back what it held, and what all work before it in the same queue held, which is over as well; and where nobody asks, a
//! thread does ([`finisher`]).

mod finisher;

use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::error::{Error, Result};
use crate::memory::allocation::release_quietly;
use crate::memory::device::Event;
use crate::memory::device::signal::{left_behind, repeat};
use crate::memory::fork;

/// What a driver has to tell the end of work by.
pub(crate) trait DriverEvent: fmt::Debug + Send + Sync + 'static {
    /// Waits until the work is over, and says how it ended.
    fn wait(&self) -> Result<()>;

    /// The same without waiting, or `None` where it is not over.
    fn poll(&self) -> Option<Result<()>>;

    /// The driver's own handle.
    fn raw(&self) -> *mut c_void;
}

/// What is to be done when work has ended well: it gives back what the work held. Dropped, it does so for work that failed.
type Held = Box<dyn FnOnce() + Send>;

struct Work<E> {
    end: Arc<Pending<E>>,
    held: Held,
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

    /// Puts work into the driver's queue: `enqueue` does that, and gives the event of its end; `held` is called, on any thread, when
    /// that has happened, and dropped where the work failed. Neither may wait for this queue.
    ///
    /// # Errors
    ///
    /// Of `enqueue`, after which no work may be under way; and in a forked child.
    pub(crate) fn push(
        self: &Arc<Self>,
        held: impl FnOnce() + Send + 'static,
        enqueue: impl FnOnce() -> Result<E>,
    ) -> Result<Arc<dyn Event>> {
        // Dropped, after an error, behind the lock.
        let held: Held = Box::new(held);
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
        // The lock is kept meanwhile, so that who comes second returns when all is given back.
        let mut ordered = self.line.lock()?;
        while ordered.work.front().is_some_and(|work| work.end.number <= self.number)
            && let Some(Work { end, held }) = ordered.work.pop_front()
        {
            let outcome = match own.take_if(|_| end.number == self.number) {
                Some(outcome) => outcome,
                None => end.event.wait(),
            };
            match outcome {
                Ok(()) => release_quietly(held),
                Err(_) => release_quietly(|| drop(held)),
            }
            // Set here alone, by whoever took the work out.
            let _first = end.outcome.set(outcome);
        }
        drop(ordered);
        match (self.outcome.get(), own) {
            (Some(outcome), _) => repeat(outcome),
            (None, Some(outcome)) => outcome,
            (None, None) => Ok(()),
        }
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
