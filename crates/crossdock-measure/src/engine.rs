//! Engines, which perform works.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crossdock::bindings::threads::set_num_threads;
use crossdock::buffer::MutableBuffer;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{Casting, DArray};

use crate::{Operation, Result, Task};

/// A library or function that performs all works, or some of them.
pub trait Engine {
    /// The name for display, and for the record.
    fn name(&self) -> &'static str;

    /// Prepares a work; `None` if the engine does not support it.
    ///
    /// # Errors
    ///
    /// If the engine supports the work, but the preparation fails.
    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>>;
}

/// A prepared work, which can be repeated.
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

    /// A loop that measures its own time, and whether its last result is right.
    pub fn timed(
        run: impl FnMut(usize) -> Result<Duration> + 'a,
        is_done: impl FnMut() -> Result<bool> + 'a,
    ) -> Self {
        Self { run: Box::new(run), is_done: Box::new(is_done) }
    }

    /// Runs it this many times, and returns how long that took.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub fn run(&mut self, count: usize) -> Result<Duration> {
        (self.run)(count)
    }

    /// Whether the result of the last run is right.
    ///
    /// # Errors
    ///
    /// If that cannot be determined.
    pub fn is_done(&mut self) -> Result<bool> {
        (self.is_done)()
    }

    /// Runs the work once, untimed, and checks the whole result. Returns the loop for the rounds.
    ///
    /// # Errors
    ///
    /// If the result is wrong.
    pub fn proven(mut self, task: &'a Task) -> Result<Box<dyn FnMut(usize) -> Result<Duration> + 'a>> {
        task.spoil()?;
        (self.run)(1)?;
        if !(self.is_done)()? {
            return Err("a wrong answer".into());
        }
        if task.work().operation != Operation::AssignAndRead {
            return Ok(self.run);
        }
        Ok(Box::new(move |count| {
            let mut elapsed = Duration::ZERO;
            for _ in 0..count {
                elapsed += (self.run)(1)?;
                let start = Instant::now();
                black_box(task.read_target()?);
                elapsed += start.elapsed();
            }
            Ok(elapsed)
        }))
    }
}

/// The C library's `memcpy` on one thread, of the mean of the bytes that a work reads and writes:
/// the limit to reach. If the work is a copy without gaps, it copies the same source to the same
/// target.
pub struct Memcpy;

/// The name of [`Memcpy`].
pub const MEMCPY: &str = "memcpy";

impl Engine for Memcpy {
    fn name(&self) -> &'static str {
        MEMCPY
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        if task.is_plain_copy() {
            let ((source, _), (target, _)) = (task.source().buffer()?, task.target().buffer()?);
            return Ok(Some(Job::new(task, move || {
                let (source, mut target) = (source.read()?, target.write()?);
                // `memcpy`, as written in Rust.
                target.copy_from_slice(black_box(&source));
                Ok(())
            })));
        }
        let mut source = MutableBuffer::new()?;
        source.resize(task.nbytes())?;
        source.fill(1);
        let mut target = MutableBuffer::new()?;
        target.resize(task.nbytes())?;
        let run = move |count| {
            let start = Instant::now();
            for _ in 0..count {
                target.copy_from_slice(black_box(&source));
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

/// The library's own contiguous copy on a number of threads, of the mean of the bytes that a work
/// touches: the limit to reach, in streaming stores where the work has them. If the work is a copy
/// without gaps, it is the work itself.
pub struct BestCopy {
    name: &'static str,
    threads: usize,
}

impl BestCopy {
    /// On one thread.
    pub const ONE: Self = Self { name: BEST_COPY, threads: 1 };

    /// On two threads: what they can share.
    pub const TWO: Self = Self { name: BEST_COPY_TWO, threads: 2 };
}

/// The name of [`BestCopy::ONE`].
pub const BEST_COPY: &str = "best copy";

/// The name of [`BestCopy::TWO`].
pub const BEST_COPY_TWO: &str = "best copy, 2 threads";

impl Engine for BestCopy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        if task.work().operation == Operation::Fill {
            return Ok(None);
        }
        let itself = Crossdock::new(self.name, self.threads, Into::Target);
        if task.is_plain_copy() {
            let run = move |count| itself.repeat(count, || task.assign());
            return Ok(Some(Job::timed(run, || task.is_done(task.target()))));
        }
        // Both in memory of the default pool, as the arrays of the task are, so that all have the
        // same pages.
        let shape = [task.touched_nbytes()];
        let source = DArray::zeros(DType::U8, &shape, Order::RowMajor)?;
        source.fill(&1.into())?;
        let target = DArray::zeros(DType::U8, &shape, Order::RowMajor)?;
        let copied = target.clone();
        Ok(Some(Job::timed(
            move |count| itself.repeat(count, || target.assign(&source, Casting::Checked)),
            move || Ok(copied.buffer()?.0.read()?.iter().all(|&byte| byte == 1)),
        )))
    }
}

/// The C library's `memset` on one thread, of the bytes that a work writes: the limit to reach if
/// nothing is read.
pub struct Memset;

/// The name of [`Memset`].
pub const MEMSET: &str = "memset";

impl Engine for Memset {
    fn name(&self) -> &'static str {
        MEMSET
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        if task.work().operation != Operation::Fill {
            return Ok(None);
        }
        let mut target = MutableBuffer::new()?;
        target.resize(task.target().nbytes())?;
        let mut byte = 0u8;
        let run = move |count| {
            let start = Instant::now();
            for _ in 0..count {
                byte = byte.wrapping_add(1);
                // `memset`, as written in Rust.
                target.fill(black_box(byte));
            }
            let elapsed = start.elapsed();
            if target.first() != Some(&byte) || target.last() != Some(&byte) {
                return Err("memset did not fill".into());
            }
            Ok(elapsed)
        };
        Ok(Some(Job::timed(run, || Ok(true))))
    }
}

/// The destination of [`Crossdock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// An existing array.
    Target,
    /// A new array from the default pool, returned to it afterwards.
    New,
}

/// The library itself, on a number of threads.
pub struct Crossdock {
    name: &'static str,
    into: Into,
    threads: usize,
}

impl Crossdock {
    /// On this number of threads.
    pub fn new(name: &'static str, threads: usize, into: Into) -> Self {
        Self { name, into, threads }
    }

    fn repeat(&self, count: usize, operation: impl Fn() -> Result<(), crossdock::Error>) -> Result<Duration> {
        set_num_threads(self.threads)?;
        let start = Instant::now();
        for _ in 0..count {
            operation()?;
        }
        Ok(start.elapsed())
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
