//! Work in parts, on several threads if the feature `threads` is enabled.
//!
//! Reasons: `DESIGN.md`, "Large work is shared with helper threads".

#[cfg(not(feature = "threads"))]
mod disabled;
#[cfg(feature = "threads")]
mod enabled;
#[cfg(feature = "threads")]
mod helpers;
#[cfg(feature = "threads")]
pub(crate) mod number;

#[cfg(not(feature = "threads"))]
pub(crate) use disabled::{count_for, each};
#[cfg(feature = "threads")]
pub(crate) use enabled::each;
#[cfg(feature = "threads")]
pub(crate) use number::count_for;

use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// Parts for each thread, so that one slow part does not delay the whole.
const EACH: usize = 4;

/// The number of parts for work of `size`, of which each has about `least` or more: 1 if the size
/// is below `from`, or if there is one thread.
#[inline]
pub(crate) fn parts(size: usize, from: usize, least: usize) -> usize {
    if size < from {
        return 1;
    }
    match count_for(size / least) {
        1 => 1,
        threads => (size / least).clamp(1, threads * EACH),
    }
}

/// Like [`each`], for work that can fail: returns one of the errors, if there are any.
pub(crate) fn try_each(parts: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let failed = Mutex::new(None);
    each(parts, |part| {
        if let Err(error) = work(part) {
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
