//! The number of threads that share large work.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::error::{Error, Kind, Result};
use crate::memory::fork;

/// The largest number that can be set.
const MOST: usize = 1024;

/// The most threads that are used unless the program sets a number: a few cores saturate the
/// memory.
const MOST_UNASKED: usize = 16;

/// The environment's number, for programs that set none.
const VARIABLE: &str = "CROSSDOCK_THREADS";

/// 0 until it is known.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// Work of at most so many parts is not worth a count of the CPUs.
const FEW_PARTS: usize = 64;

/// The number of threads for work of so many parts. To count the CPUs, the system reads several
/// files, which takes longer than to start a thread. Until the number is known, small work takes
/// two threads, and the first helper counts after it.
#[inline]
pub(crate) fn count_for(parts: usize) -> usize {
    if is_known() || fork::generation() != 0 { count() } else { provisional(parts) }
}

#[cold]
fn provisional(parts: usize) -> usize {
    if parts > FEW_PARTS || wanted().is_some() { count() } else { 2 }
}

/// Whether the number was counted or set.
pub(super) fn is_known() -> bool {
    NUMBER.load(Relaxed) != 0
}

/// The number of threads that share work: 1 in a forked child, which has no helpers.
#[inline]
pub(crate) fn count() -> usize {
    if fork::generation() != 0 {
        return 1;
    }
    match NUMBER.load(Relaxed) {
        0 => detect(),
        known => known,
    }
}

/// The number of threads that share large work in this process, the caller's among them.
pub fn num_threads() -> usize {
    count()
}

/// Sets the number of threads that share large work, the caller's among them. A forked child keeps
/// to one thread.
///
/// # Errors
///
/// `is_value` unless the number is from 1 to 1024.
pub fn set_num_threads(number: usize) -> Result<()> {
    if !(1..=MOST).contains(&number) {
        return Err(Error::new(
            Kind::Value,
            format!("{number} threads: the number must be from 1 to {MOST}"),
        ));
    }
    NUMBER.store(number, Relaxed);
    Ok(())
}

#[cold]
fn detect() -> usize {
    let number = wanted().unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, |number| number.get().min(MOST_UNASKED))
    });
    // A number that the program sets meanwhile is kept.
    NUMBER.compare_exchange(0, number, Relaxed, Relaxed).err().unwrap_or(number)
}

/// The number that the environment sets.
fn wanted() -> Option<usize> {
    let number = std::env::var(VARIABLE).ok()?.parse().ok()?;
    (1..=MOST).contains(&number).then_some(number)
}
