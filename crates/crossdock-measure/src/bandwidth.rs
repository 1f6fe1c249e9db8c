//! The bandwidth of a machine's memory, measured by functions of the C library.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crossdock::buffer::MutableBuffer;

use crate::Result;
use crate::machine;

/// The kind of access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// `memchr` for a byte that is absent.
    Read,
    /// `memset`.
    Write,
    /// `memcpy`; bytes are counted once.
    Copy,
}

impl Traffic {
    /// All kinds, in display order.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Copy];

    /// The display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
        }
    }
}

/// A level of the memory hierarchy, measured by the amount of memory that is accessed repeatedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// `L1`, ..., `memory`.
    pub name: String,
    /// The bytes that each of `threads` threads accesses, so that they are in this level and no
    /// nearer one.
    nbytes: usize,
    /// Whether all threads share it.
    shared: bool,
}

impl Level {
    /// The caches of this machine and its memory, nearest first, with at most `most` bytes each.
    pub fn all(most: usize) -> Vec<Self> {
        let caches = machine::caches();
        let largest = caches.last().map_or(0, |cache| cache.nbytes);
        let level = |cache: &machine::Cache| Self {
            name: format!("L{}", cache.level),
            nbytes: cache.nbytes / 2,
            shared: cache.level > 2,
        };
        let memory = Self {
            name: "memory".to_owned(),
            nbytes: (4 * largest).clamp(64 << 20, 512 << 20),
            shared: true,
        };
        let levels = caches.iter().map(level).chain([memory]);
        levels.map(|level| Self { nbytes: level.nbytes.min(most), ..level }).collect()
    }

    /// The bytes that each of so many threads accesses. A copy accesses half of them twice.
    pub fn nbytes(&self, threads: usize) -> usize {
        let each = if self.shared { self.nbytes / threads } else { self.nbytes };
        each.max(64).next_multiple_of(64)
    }
}

/// Gigabytes per second of so many concurrent threads, each in its own memory.
///
/// # Errors
///
/// `is_out_of_memory`.
pub fn gigabytes(traffic: Traffic, level: &Level, threads: usize, time: Duration) -> Result<f64> {
    let nbytes = level.nbytes(threads);
    let nbytes = if traffic == Traffic::Copy { nbytes / 2 } else { nbytes };
    let begin = Barrier::new(threads);
    let speeds = thread::scope(|scope| {
        let work = || speed(traffic, nbytes, &begin, time);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).sum::<Result<f64, crossdock::Error>>()
    })?;
    Ok(speeds)
}

/// The speed of one thread.
fn speed(traffic: Traffic, nbytes: usize, begin: &Barrier, time: Duration) -> Result<f64, crossdock::Error> {
    let block = || {
        let mut bytes = MutableBuffer::new()?;
        bytes.resize(nbytes)?;
        bytes.fill(1);
        Ok::<_, crossdock::Error>(bytes)
    };
    let blocks = block().and_then(|source| Ok((source, block()?)));
    // Even after an error, since the other threads wait.
    begin.wait();
    let (source, mut target) = blocks?;
    // Enough repetitions that the clock does not matter.
    let often = ((1 << 20) / nbytes).max(1);
    let mut count = 0;
    let start = Instant::now();
    while count == 0 || start.elapsed() < time {
        for _ in 0..often {
            match traffic {
                Traffic::Read => {
                    assert!(!holds(&source, black_box(2)), "a byte was not written by this program")
                }
                Traffic::Write => target.fill(black_box(1)),
                Traffic::Copy => target.copy_from_slice(black_box(&source)),
            }
            black_box(&mut target);
        }
        count += often;
    }
    Ok(count as f64 * nbytes as f64 / start.elapsed().as_secs_f64() / 1e9)
}

/// Whether the bytes contain a byte: if not, all of them are read.
fn holds(bytes: &[u8], byte: u8) -> bool {
    // SAFETY: the pointer is to the `bytes.len()` initialised bytes of the slice, which `memchr`
    // only reads.
    let found = unsafe { libc::memchr(bytes.as_ptr().cast(), byte.into(), bytes.len()) };
    !found.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_memory_at_least_and_all_of_it_can_be_measured() {
        let levels = Level::all(1 << 16);
        assert_eq!(levels.last().map(|level| level.name.as_str()), Some("memory"));
        for (level, traffic) in levels.iter().flat_map(|level| Traffic::ALL.map(|traffic| (level, traffic))) {
            for threads in [1, 2] {
                let figure = gigabytes(traffic, level, threads, Duration::from_micros(100)).unwrap();
                assert!(figure.is_finite() && figure > 0.0, "{level:?} {traffic:?} {threads}: {figure}");
            }
        }
    }

    #[test]
    fn what_is_shared_is_divided() {
        let level = Level { name: "L3".to_owned(), nbytes: 1 << 20, shared: true };
        assert_eq!((level.nbytes(1), level.nbytes(4)), (1 << 20, 1 << 18));
        let own = Level { shared: false, ..level };
        assert_eq!(own.nbytes(4), 1 << 20);
    }
}
