//! The fenced device's streams: a queue, and a thread that works it off.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::thread;

use crate::error::{Error, Result};
use crate::memory::Place;
use crate::memory::device::fenced::{Core, memory};
use crate::memory::device::{Completion, Event, Signal, Stream, Transfer};
use crate::memory::fork::{self, ForkLock};

enum Job {
    Copy(Arc<Core>, Transfer, Completion),
    Wait(Arc<dyn Event>),
    Record(Completion),
}

impl Job {
    /// Does the work. `failed` is what all later work in the stream depends on and has failed.
    fn run(self, failed: &mut Option<Error>) {
        match self {
            Self::Copy(core, transfer, completion) => {
                let outcome = match failed {
                    Some(error) => Err(error.again()),
                    None => memory::transfer(&core, &transfer),
                };
                // The leases go first: see `Event`.
                match outcome {
                    Ok(()) => transfer.complete(),
                    Err(_) => drop(transfer),
                }
                completion.finish(outcome);
            }
            Self::Wait(event) => {
                if let Err(error) = event.wait()
                    && failed.is_none()
                {
                    *failed = Some(error.within("what the stream waited for failed"));
                }
            }
            Self::Record(completion) => {
                completion.finish(failed.as_ref().map_or(Ok(()), |error| Err(error.again())));
            }
        }
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_started: bool,
    is_closed: bool,
}

struct Work {
    core: Arc<Core>,
    queue: ForkLock<Queue>,
    more: Condvar,
}

impl Work {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // SAFETY: it lives in an `Arc`, where it stays (`FencedStream::new` makes it there).
        unsafe { self.queue.lock() }
    }

    /// What the thread does: all that is in the queue, until that is closed.
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
            // An event of somebody else's may panic. Its completion was dropped then, and says so.
            let _panicked = catch_unwind(AssertUnwindSafe(|| job.run(&mut failed)));
        }
    }
}

/// A stream. Its thread starts with the first work, and ends when the stream has been dropped and all is done.
pub(super) struct FencedStream {
    work: Arc<Work>,
    generation: u64,
}

impl FencedStream {
    pub(super) fn new(core: Arc<Core>) -> Self {
        let work = Work { core, queue: ForkLock::new(Queue::default()), more: Condvar::new() };
        Self { work: Arc::new(work), generation: fork::generation() }
    }

    pub(super) fn of(stream: &dyn Stream) -> Option<&Self> {
        let stream: &dyn Any = stream;
        stream.downcast_ref()
    }

    pub(super) fn copy(&self, core: Arc<Core>, transfer: Transfer) -> Result<Arc<dyn Event>> {
        let (signal, completion) = Signal::new();
        self.push(Job::Copy(core, transfer, completion))?;
        Ok(signal)
    }

    fn push(&self, job: Job) -> Result<()> {
        if self.generation != fork::generation() {
            return Err(Error::device(
                "a stream stays with the process that made it: make one after the fork",
            ));
        }
        let mut queue = self.work.queue();
        let pushed = self.start(&mut queue).map(|()| queue.jobs.push_back(job));
        drop(queue);
        self.work.more.notify_one();
        pushed
    }

    fn start(&self, queue: &mut Queue) -> Result<()> {
        if !queue.is_started {
            let work = self.work.clone();
            let started =
                thread::Builder::new().name("crossdock-fenced".to_owned()).spawn(move || work.off());
            started.map_err(|error| Error::device(format!("the stream's thread did not start: {error}")))?;
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
        let (signal, completion) = Signal::new();
        self.push(Job::Record(completion))?;
        Ok(signal)
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        self.push(Job::Wait(event.clone()))
    }
}

impl fmt::Debug for FencedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FencedStream({})", self.work.core.place)
    }
}
