//! The work of streams, which their threads execute in order, and waiting for it.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::current;
use crate::state::{Locked, State, Stream, changed, lock, sleep};
use crate::status::{Result, Status};

/// A point in a stream, reached once.
#[derive(Debug, Default)]
pub(crate) struct Mark(AtomicBool);

impl Mark {
    pub(crate) fn is_reached(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn reach(&self) {
        self.0.store(true, Ordering::Release);
        changed();
    }
}

/// A piece of work of a stream's thread.
pub(crate) enum Work {
    /// Nothing: only its order matters.
    Nothing,
    /// Frees memory, even after failures.
    Free(usize),
    /// A function, unless earlier work in the context failed. It receives the lock, and releases it
    /// for long work.
    Run(Box<dyn FnOnce(Locked) -> Result + Send>),
}

impl Work {
    pub(crate) fn run(work: impl FnOnce(Locked) -> Result + Send + 'static) -> Self {
        Self::Run(Box::new(work))
    }
}

struct Job {
    /// The marks that must be reached before the job begins.
    after: Vec<Arc<Mark>>,
    work: Work,
    mark: Arc<Mark>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("after", &self.after).finish_non_exhaustive()
    }
}

/// The work of a stream.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    jobs: VecDeque<Job>,
    context: usize,
    pub(crate) pauses: u64,
    is_started: bool,
    is_closed: bool,
    /// The end of the last job.
    last: Option<Arc<Mark>>,
}

impl State {
    /// Creates a stream in a context.
    pub(crate) fn make_stream(&mut self, context: usize, is_blocking: bool, is_made: bool) -> usize {
        let stream = self.handle();
        self.streams.insert(stream, Stream { context, is_blocking, is_made });
        self.queues.insert(stream, Queue { context, ..Queue::default() });
        stream
    }

    /// The stream of a handle, or of one of the numbers 0, 1 and 2, in the current context.
    pub(crate) fn stream(&mut self, handle: usize) -> Result<usize> {
        let context = current::context(self)?;
        match handle {
            0 | 1 => {
                if let Some(stream) = self.context(context)?.legacy {
                    return Ok(stream);
                }
                let stream = self.make_stream(context, false, false);
                self.context(context)?.legacy = Some(stream);
                Ok(stream)
            }
            2 => Ok(current::own_stream(context, || self.make_stream(context, true, false))),
            _ => match self.streams.get(&handle) {
                Some(stream) if stream.context == context => Ok(handle),
                Some(_) => Err(self
                    .misuse(Status::INVALID_HANDLE, "the stream is of another context than the current one")),
                None => Err(self.misuse(Status::INVALID_HANDLE, format!("{handle:#x} is no stream"))),
            },
        }
    }

    /// Enqueues work, and returns the mark of its end.
    pub(crate) fn put(&mut self, stream: usize, mut after: Vec<Arc<Mark>>, work: Work) -> Result<Arc<Mark>> {
        after.extend(self.implied(stream));
        let mark = Arc::new(Mark::default());
        let queue = self.queues.get_mut(&stream).ok_or(Status::INVALID_HANDLE)?;
        queue.jobs.push_back(Job { after, work, mark: mark.clone() });
        queue.last = Some(mark.clone());
        if !queue.is_started {
            queue.is_started = true;
            let name = "crossdock-mock-cuda".to_owned();
            let started = thread::Builder::new().name(name).spawn(move || work_off(stream));
            started.map_err(|_| Status::UNKNOWN)?;
        }
        changed();
        Ok(mark)
    }

    /// The marks that the work of a stream must follow by the rules of the legacy stream.
    fn implied(&self, stream: usize) -> Vec<Arc<Mark>> {
        let Some(of) = self.streams.get(&stream) else { return Vec::new() };
        let Some(legacy) = self.contexts.get(&of.context).and_then(|context| context.legacy) else {
            return Vec::new();
        };
        let last = |stream: &usize| self.queues.get(stream).and_then(|queue| queue.last.clone());
        if stream == legacy {
            let blocking = self.streams.iter().filter(|(_, s)| s.context == of.context && s.is_blocking);
            return blocking.filter_map(|(stream, _)| last(stream)).collect();
        }
        if of.is_blocking { last(&legacy).into_iter().collect() } else { Vec::new() }
    }

    /// The end of the work that is in a stream now.
    pub(crate) fn last(&self, stream: usize) -> Option<Arc<Mark>> {
        self.queues.get(&stream).and_then(|queue| queue.last.clone())
    }

    /// Lets the thread of a stream end when its work is done.
    pub(crate) fn close_queue(&mut self, stream: usize) {
        if let Some(queue) = self.queues.get_mut(&stream) {
            queue.is_closed = true;
            if !queue.is_started {
                self.queues.remove(&stream);
            }
        }
        changed();
    }

    /// The next job of a stream, if it may begin.
    fn next(&mut self, stream: usize) -> Option<Job> {
        let paused = self.pauses > 0 || (self.config.waits_for_waiters && self.waiters == 0);
        let queue = self.queues.get_mut(&stream)?;
        let job = queue.jobs.front()?;
        if paused || queue.pauses > 0 || !job.after.iter().all(|mark| mark.is_reached()) {
            return None;
        }
        queue.jobs.pop_front()
    }

    fn is_over(&self, stream: usize) -> bool {
        self.queues.get(&stream).is_none_or(|queue| queue.is_closed && queue.jobs.is_empty())
    }

    /// The failure that a test has requested for this piece of work.
    fn work_fails(&mut self) -> Result {
        let Some((left, status)) = &mut self.failing_work else { return Ok(()) };
        *left -= 1;
        if *left > 0 {
            return Ok(());
        }
        let status = *status;
        self.failing_work = None;
        Err(status)
    }
}

fn work_off(stream: usize) {
    let mut state = lock();
    while !state.is_over(stream) {
        let Some(Job { work, mark, .. }) = state.next(stream) else {
            state = sleep(state);
            continue;
        };
        state = run(state, stream, work);
        mark.reach();
    }
    state.queues.remove(&stream);
}

fn run(mut state: Locked, stream: usize, work: Work) -> Locked {
    let work = match work {
        Work::Nothing => return state,
        Work::Free(address) => {
            state.release(address);
            return state;
        }
        Work::Run(work) => work,
    };
    let context = state.queues.get(&stream).map_or(0, |queue| queue.context);
    if state.contexts.get(&context).is_none_or(|context| context.sticky.is_some()) {
        return state;
    }
    state.function = "work in a stream";
    let outcome = match state.work_fails() {
        Ok(()) => {
            state.work_done += 1;
            catch_unwind(AssertUnwindSafe(|| work(state))).unwrap_or(Err(Status::UNKNOWN))
        }
        Err(status) => {
            drop(state);
            Err(status)
        }
    };
    let mut state = lock();
    if let (Err(status), Some(context)) = (outcome, state.contexts.get_mut(&context)) {
        context.sticky = Some(status);
    }
    state
}
