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
    let wanted = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    let number = wanted.filter(|number| (1..=MOST).contains(number)).unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, |number| number.get().min(MOST_UNASKED))
    });
    // A number that the program sets meanwhile is kept.
    NUMBER.compare_exchange(0, number, Relaxed, Relaxed).err().unwrap_or(number)
}
