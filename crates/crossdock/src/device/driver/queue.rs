//! The in-flight work of one queue of a driver, and the events of its end.
//!
//! The first thread that finds the work done, by waiting or polling, releases its held values and
//! those of all earlier work in the same queue, which is done as well. If no thread waits or polls,
//! a background thread does ([`finisher`]).
//!
//! Work ends in three steps. Under the queue's lock, its leases and the library's own memory are
//! released, and its outcome is published. After the lock is released, all other held values are
//! dropped. Only then do foreign owners run their code: such an owner may use the same queue, and
//! wait for any event, including that of this work.
//!
//! Reasons: `DESIGN.md`, "Drivers push work to a `DriverQueue`".

use std::any::Any;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::device::Event;
use crate::device::driver::finisher;
use crate::device::driver::held::{Held, HeldLeases, WorkLeases};
use crate::device::signal::{left_behind, repeat};
use crate::error::{Error, Result};
use crate::memory::fork;
use crate::memory::release::release_quietly;

/// One queue of a driver, which runs its work in order. It keeps the values that in-flight work
/// holds until its end.
///
/// `E` is the driver's own event. It holds no memory: its [`wait`](Event::wait) and
/// [`poll`](Event::poll) only query the driver.
///
/// ```
/// use std::ffi::c_void;
/// use std::sync::Arc;
/// use crossdock::device::driver::DriverQueue;
/// use crossdock::device::{Event, Signal};
///
/// #[derive(Debug)]
/// struct Ended(Arc<Signal>); // a real driver's handle goes here
///
/// impl Event for Ended {
///     fn wait(&self) -> crossdock::Result<()> {
///         self.0.wait()
///     }
///     fn poll(&self) -> Option<crossdock::Result<()>> {
///         self.0.poll()
///     }
/// }
///
/// let queue = DriverQueue::new();
/// let (signal, completion) = Signal::new();
/// let end = queue.push((), |_| Ok(Ended(signal)))?; // the driver has the work now
/// assert!(!end.is_done());
/// completion.finish(Ok(()));
/// end.wait()?;
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct DriverQueue<E>(Arc<InFlightQueue<E>>);

impl<E: Event> DriverQueue<E> {
    /// A queue without work.
    #[expect(clippy::new_without_default, reason = "a queue stands for a driver's, which has no default")]
    pub fn new() -> Self {
        let ordered = Ordered { work: VecDeque::new(), next_number: 0 };
        Self(Arc::new(InFlightQueue { under_way: Mutex::new(ordered), generation: fork::generation() }))
    }

    /// Enqueues work with the driver: calls `enqueue` under this queue's lock, which returns the
    /// driver's event of the work's end. `work` is kept until then. If `enqueue` fails, it is
    /// dropped at once, without the lock. An `enqueue` that uses this queue deadlocks.
    ///
    /// When the returned event reports that the work is done, the held values have been released.
    ///
    /// # Errors
    ///
    /// Of `enqueue`, after which no work may be in flight; `is_out_of_memory`; `is_device` in a
    /// forked child, for a queue of its parent.
    pub fn push<W: Held>(&self, work: W, enqueue: impl FnOnce(&W) -> Result<E>) -> Result<Arc<dyn Event>> {
        // Declared before the lock, so an early return drops it after the lock.
        let held = Box::new(WorkLeases::new(work));
        let mut ordered = self.0.lock()?;
        // Room first: once the driver has the work, nothing may fail.
        ordered.work.try_reserve(1).map_err(|_| Error::out_of_memory(size_of::<PendingWork<E>>(), 1))?;
        let number = ordered.next_number;
        let event = enqueue(held.work.as_ref().expect("the work was stored just now"))?;
        let end = Arc::new(Pending { event, line: self.0.clone(), number, outcome: OnceLock::new() });
        ordered.next_number += 1;
        ordered.work.push_back(PendingWork { end: end.clone(), held });
        drop(ordered);
        let end: Arc<dyn Event> = end;
        if !finisher::watch(&end) {
            // The event reports the outcome.
            let _outcome = end.wait();
        }
        Ok(end)
    }

    /// The driver's own event of one that [`DriverQueue::push`] returned, for any queue with events
    /// of this type. It serves streams that wait for it through the driver, and threads of the
    /// driver, which must not release held values.
    pub fn event_of(event: &dyn Event) -> Option<&E> {
        let event: &dyn Any = event;
        event.downcast_ref::<Pending<E>>().map(|pending| &pending.event)
    }
}

impl<E> fmt::Debug for DriverQueue<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DriverQueue")
    }
}

struct PendingWork<E> {
    end: Arc<Pending<E>>,
    held: Box<dyn HeldLeases>,
}

/// The work that is not known to be done, the oldest first.
struct InFlightQueue<E> {
    /// Never locked in a forked child, because another thread may have held it during the fork.
    under_way: Mutex<Ordered<E>>,
    generation: u64,
}

struct Ordered<E> {
    work: VecDeque<PendingWork<E>>,
    next_number: u64,
}

impl<E> InFlightQueue<E> {
    fn lock(&self) -> Result<MutexGuard<'_, Ordered<E>>> {
        if self.generation != fork::generation() {
            return Err(left_behind());
        }
        Ok(self.under_way.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The end of work in a driver's queue.
struct Pending<E> {
    event: E,
    line: Arc<InFlightQueue<E>>,
    number: u64,
    outcome: OnceLock<Result<()>>,
}

impl<E: Event> Pending<E> {
    /// Releases the held values of this work, which ended with `outcome`, and of all earlier work.
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
    fn take_next(&self, own: &mut Option<Result<()>>) -> Result<Option<PendingWork<E>>> {
        let mut ordered = self.line.lock()?;
        let Some(oldest) = ordered.work.front().filter(|work| work.end.number <= self.number) else {
            return Ok(None);
        };
        // Polled without waiting, because the lock is held. Work that fails because an awaited
        // event failed can end before older work.
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

impl<E: Event> Event for Pending<E> {
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

impl<E: Event> fmt::Debug for Pending<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome.get() {
            None => write!(f, "{:?} (not known to be over)", self.event),
            Some(Ok(())) => write!(f, "{:?} (done)", self.event),
            Some(Err(error)) => write!(f, "{:?} (failed: {error})", self.event),
        }
    }
}
