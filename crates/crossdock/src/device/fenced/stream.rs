//! The fenced device's streams: a queue, and a thread that runs its jobs.
//!
//! The thread plays the driver. It moves bytes and signals the end, and never releases memory:
//! leases are released as for every driver ([`driver`](crate::device::driver)), so that
//! an owner's code may wait for the stream.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::thread;

use crate::device::driver::DriverQueue;
use crate::device::engine::{Engine, Work as EngineWork};
use crate::device::fenced::FencedCore;
use crate::device::fenced::memory::Copying;
use crate::device::{Completion, Event, Signal, Stream, Transfer};
use crate::error::{Error, Result, system_text};
use crate::memory::Place;
use crate::memory::fork::{self, ForkLock};

enum QueuedJob {
    /// The queue keeps the transfer until the completion is finished.
    Copy(Arc<FencedCore>, Copying, Completion),
    /// The queue keeps the work until the completion is finished.
    Work(Arc<dyn Engine>, QueuedWork, Completion),
    Wait(Arc<dyn Event>),
    Record(Completion),
}

/// A pointer to work that the queue keeps.
struct QueuedWork(NonNull<EngineWork>);

// SAFETY: it points to an `EngineWork`, which is Sync; only `QueuedJob::run` follows it, while the
// `DriverQueue` keeps the work alive.
unsafe impl Send for QueuedWork {}

/// The end of work, signalled by the thread.
#[derive(Debug)]
struct Ended(Arc<Signal>);

impl Event for Ended {
    fn wait(&self) -> Result<()> {
        self.0.wait()
    }

    fn poll(&self) -> Option<Result<()>> {
        self.0.poll()
    }
}

impl QueuedJob {
    /// Runs the job. `failed` is the error of an awaited event, on which all later work in the
    /// stream depends.
    fn run(self, failed: &mut Option<Error>) {
        match self {
            Self::Copy(core, copying, completion) => {
                let outcome = match failed {
                    Some(error) => Err(error.again()),
                    // SAFETY: the `DriverQueue` keeps the transfer alive until its event is over,
                    // which `completion.finish` below signals after this use.
                    None => unsafe { copying.run(&core) },
                };
                drop(core);
                completion.finish(outcome);
            }
            Self::Work(engine, work, completion) => {
                let outcome = match failed {
                    Some(error) => Err(error.again()),
                    // SAFETY: the `DriverQueue` keeps the work, boxed at a stable address, until
                    // its event is over, which `completion.finish` below signals after this use.
                    None => engine.run(unsafe { work.0.as_ref() }),
                };
                completion.finish(outcome);
            }
            Self::Wait(event) => {
                // For an event of such a stream, wait for the bare signal: concluding the work
                // would release memory on this thread.
                let outcome = match DriverQueue::<Ended>::event_of(&*event) {
                    Some(ended) => ended.wait(),
                    None => event.wait(),
                };
                if let Err(error) = outcome
                    && failed.is_none()
                {
                    *failed = Some(error.within("the event that the stream waited for failed"));
                }
            }
            Self::Record(completion) => {
                completion.finish(failed.as_ref().map_or(Ok(()), |error| Err(error.again())));
            }
        }
    }
}

#[derive(Default)]
struct JobQueue {
    jobs: VecDeque<QueuedJob>,
    is_started: bool,
    is_closed: bool,
}

struct StreamState {
    core: Arc<FencedCore>,
    queue: ForkLock<JobQueue>,
    more: Condvar,
}

impl StreamState {
    fn queue(&self) -> MutexGuard<'_, JobQueue> {
        // SAFETY: `FencedStream::new` moves the `StreamState` into an `Arc` before the first lock,
        // so `queue` keeps its address until it is dropped.
        unsafe { self.queue.lock_in_place() }
    }

    /// The thread's loop: runs all jobs in the queue, until it is closed.
    fn off(&self) {
        let mut failed = None;
        loop {
            let mut queue = self.queue();
            let job = loop {
                match queue.jobs.pop_front() {
                    Some(job) => break job,
                    None if queue.is_closed => return,
                    None => queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(queue);
            self.core.wait_while_paused();
            // A foreign event may panic. The completion is then dropped, and reports the failure.
            let _panicked = catch_unwind(AssertUnwindSafe(|| job.run(&mut failed)));
        }
    }
}

/// A stream. Its thread starts with the first work, and ends when the stream is dropped and all
/// work is done.
pub(super) struct FencedStream {
    work: Arc<StreamState>,
    line: DriverQueue<Ended>,
    generation: u64,
}

impl FencedStream {
    pub(super) fn new(core: Arc<FencedCore>) -> Self {
        let work = StreamState { core, queue: ForkLock::new(JobQueue::default()), more: Condvar::new() };
        Self { work: Arc::new(work), line: DriverQueue::new(), generation: fork::generation() }
    }

    pub(super) fn of(stream: &dyn Stream) -> Option<&Self> {
        let stream: &dyn Any = stream;
        stream.downcast_ref()
    }

    pub(super) fn copy(&self, core: Arc<FencedCore>, transfer: Transfer) -> Result<Arc<dyn Event>> {
        self.line.push(transfer, |transfer| {
            let (signal, completion) = Signal::new();
            self.push(QueuedJob::Copy(core, Copying::of(transfer), completion))?;
            Ok(Ended(signal))
        })
    }

    pub(super) fn work(&self, engine: Arc<dyn Engine>, work: EngineWork) -> Result<Arc<dyn Event>> {
        self.line.push(work, |work| {
            let (signal, completion) = Signal::new();
            self.push(QueuedJob::Work(engine, QueuedWork(NonNull::from(work)), completion))?;
            Ok(Ended(signal))
        })
    }

    fn push(&self, job: QueuedJob) -> Result<()> {
        if self.generation != fork::generation() {
            return Err(Error::device(
                "the stream belongs to the parent process; create a stream after the fork",
            ));
        }
        let mut queue = self.work.queue();
        let refused = match self.start(&mut queue) {
            Ok(()) => {
                queue.jobs.push_back(job);
                None
            }
            Err(error) => Some((error, job)),
        };
        drop(queue);
        self.work.more.notify_one();
        match refused {
            None => Ok(()),
            // Dropping the job may release memory, so it happens without the lock.
            Some((error, job)) => {
                drop(job);
                Err(error)
            }
        }
    }

    fn start(&self, queue: &mut JobQueue) -> Result<()> {
        if !queue.is_started {
            let work = self.work.clone();
            let started =
                thread::Builder::new().name("crossdock-fenced".to_owned()).spawn(move || work.off());
            started.map_err(|error| {
                Error::device(format!("the stream's thread did not start: {}", system_text(&error)))
            })?;
            queue.is_started = true;
        }
        Ok(())
    }
}

impl Drop for FencedStream {
    fn drop(&mut self) {
        self.work.queue().is_closed = true;
        self.work.more.notify_one();
    }
}

impl Stream for FencedStream {
    fn place(&self) -> Place {
        self.work.core.place
    }

    fn record(&self) -> Result<Arc<dyn Event>> {
        self.line.push((), |()| {
            let (signal, completion) = Signal::new();
            self.push(QueuedJob::Record(completion))?;
            Ok(Ended(signal))
        })
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        self.push(QueuedJob::Wait(event.clone()))
    }
}

impl fmt::Debug for FencedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FencedStream({})", self.work.core.place)
    }
}
