//! Events of level TRACE, with the target `crossdock::pool`.
//!
//! A listener is foreign code. Its panic must stop here, because the block and its accounts are in
//! the middle of a change.

use crate::memory::release::release_quietly;

const TARGET: &str = "crossdock::pool";

#[cold]
pub(crate) fn allocated(pool: &'static str, nbytes: usize) {
    release_quietly(|| tracing::trace!(target: TARGET, pool, nbytes, "allocated"));
}

#[cold]
pub(crate) fn freed(pool: &'static str, nbytes: usize) {
    release_quietly(|| tracing::trace!(target: TARGET, pool, nbytes, "freed"));
}

#[cold]
pub(crate) fn resized(pool: &'static str, old_nbytes: usize, new_nbytes: usize) {
    release_quietly(|| tracing::trace!(target: TARGET, pool, old_nbytes, new_nbytes, "resized"));
}
