//! What the memory of a machine can do, by what the C library makes of it.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crossdock::buffer::MutableBuffer;

use crate::Result;
use crate::machine;

/// What is done with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// `memchr` for a byte that is not there.
    Read,
    /// `memset`.
    Write,
    /// `memcpy`; bytes are counted once.
    Copy,
}

impl Traffic {
    /// All of it, in the order in which it is shown.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Copy];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
        }
    }
}

/// Memory of one kind, by how much of it is touched again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// `L1`, ..., `memory`.
    pub name: String,
    /// How many bytes each of `threads` threads touches, so that all of it is there and not nearer.
    nbytes: usize,
    /// Whether all threads have it together.
    shared: bool,
}

impl Level {
    /// The caches of this machine, and its memory, the nearest first. At most `most` bytes each.
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

    /// How many bytes each of so many threads touches. A copy touches half of them twice.
    pub fn nbytes(&self, threads: usize) -> usize {
        let each = if self.shared { self.nbytes / threads } else { self.nbytes };
        each.max(64).next_multiple_of(64)
    }
}

/// Gigabytes in a second, by so many threads at once, each in memory of its own.
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

/// On one thread.
fn speed(traffic: Traffic, nbytes: usize, begin: &Barrier, time: Duration) -> Result<f64, crossdock::Error> {
    let block = || {
        let mut bytes = MutableBuffer::new()?;
        bytes.resize(nbytes)?;
        bytes.fill(1);
        Ok::<_, crossdock::Error>(bytes)
    };
    let blocks = block().and_then(|source| Ok((source, block()?)));
    // Whatever came of it, the others wait.
    begin.wait();
    let (source, mut target) = blocks?;
    // Often enough that the clock does not count.
    let often = ((1 << 20) / nbytes).max(1);
    let mut count = 0;
    let start = Instant::now();
    while count == 0 || start.elapsed() < time {
        for _ in 0..often {
            match traffic {
                Traffic::Read => assert!(!holds(&source, black_box(2)), "a byte is there that nobody wrote"),
                Traffic::Write => target.fill(black_box(1)),
                Traffic::Copy => target.copy_from_slice(black_box(&source)),
            }
            black_box(&mut target);
        }
        count += often;
    }
    Ok(count as f64 * nbytes as f64 / start.elapsed().as_secs_f64() / 1e9)
}

/// Whether a byte is among others: all of them are read if it is not.
fn holds(bytes: &[u8], byte: u8) -> bool {
    // SAFETY: as many bytes as the slice has.
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
