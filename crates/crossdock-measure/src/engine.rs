//! Who does a work.

use std::time::{Duration, Instant};

use crossdock::memory::MutableBuffer;

use crate::{Operation, Result, Task};

/// Somebody who can do works, or some of them.
pub trait Engine {
    /// For people, and for the record.
    fn name(&self) -> &'static str;

    /// Makes everything ready; `None` where it has nothing that does this work.
    ///
    /// # Errors
    ///
    /// Where it should have been able to.
    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>>;
}

/// A work, ready to be done again and again.
pub struct Job<'a> {
    run: Box<dyn FnMut(usize) -> Result<Duration> + 'a>,
    is_done: Box<dyn FnMut() -> Result<bool> + 'a>,
}

impl<'a> Job<'a> {
    /// An operation that writes to the task's target.
    pub fn new(task: &'a Task, mut operation: impl FnMut() -> Result + 'a) -> Self {
        Self::timed(
            move |count| {
                let start = Instant::now();
                for _ in 0..count {
                    operation()?;
                }
                Ok(start.elapsed())
            },
            move || task.is_done(task.target()),
        )
    }

    /// A loop that takes its own time, and whether what it did last is right.
    pub fn timed(
        run: impl FnMut(usize) -> Result<Duration> + 'a,
        is_done: impl FnMut() -> Result<bool> + 'a,
    ) -> Self {
        Self { run: Box::new(run), is_done: Box::new(is_done) }
    }

    /// Does it once, outside of any clock, and looks at all that came out. The loop, for the rounds.
    ///
    /// # Errors
    ///
    /// Where it is wrong.
    pub fn proven(mut self, task: &Task) -> Result<Box<dyn FnMut(usize) -> Result<Duration> + 'a>> {
        task.spoil()?;
        (self.run)(1)?;
        if (self.is_done)()? { Ok(self.run) } else { Err("a wrong answer".into()) }
    }
}

/// The C library's `memcpy` on one thread, of as many bytes as a work reads and writes in the mean: what is there to be
/// reached.
pub struct Memcpy;

/// What [`Memcpy`] is called.
pub const MEMCPY: &str = "memcpy";

impl Engine for Memcpy {
    fn name(&self) -> &'static str {
        MEMCPY
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        let mut source = MutableBuffer::new()?;
        source.resize(task.nbytes())?;
        source.fill(1);
        let mut target = MutableBuffer::new()?;
        target.resize(task.nbytes())?;
        let run = move |count| {
            let start = Instant::now();
            for _ in 0..count {
                // Which is how Rust spells it.
                target.copy_from_slice(std::hint::black_box(&source));
            }
            let elapsed = start.elapsed();
            if target.last() != Some(&1) {
                return Err("memcpy did not copy".into());
            }
            Ok(elapsed)
        };
        Ok(Some(Job::timed(run, || Ok(true))))
    }
}

/// Where [`Crossdock`] writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// An array that is there.
    Target,
    /// A new array of the default pool, which gets it back afterwards.
    New,
}

/// The library itself, on so many threads.
pub struct Crossdock {
    name: &'static str,
    into: Into,
    threads: rayon::ThreadPool,
}

impl Crossdock {
    /// On threads of its own.
    ///
    /// # Errors
    ///
    /// Where they cannot be started.
    pub fn new(name: &'static str, threads: usize, into: Into) -> Result<Self> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(Self { name, into, threads })
    }

    fn repeat(
        &self,
        count: usize,
        operation: impl Fn() -> Result<(), crossdock::Error> + Sync,
    ) -> Result<Duration> {
        // On a thread of the pool, so that all parts of it run there.
        let elapsed = self.threads.install(|| {
            let start = Instant::now();
            for _ in 0..count {
                operation()?;
            }
            Ok::<_, crossdock::Error>(start.elapsed())
        })?;
        Ok(elapsed)
    }
}

impl Engine for Crossdock {
    fn name(&self) -> &'static str {
        self.name
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        Ok(Some(match self.into {
            Into::Target => {
                Job::timed(|count| self.repeat(count, || task.assign()), || task.is_done(task.target()))
            }
            Into::New if task.work().operation == Operation::New => Job::timed(
                |count| self.repeat(count, || task.cast().map(drop)),
                || task.is_done(&task.cast()?),
            ),
            Into::New => return Ok(None),
        }))
    }
}
