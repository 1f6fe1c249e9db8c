//! Events of level TRACE, with the target `crossdock::pool`.

const TARGET: &str = "crossdock::pool";

#[cold]
pub(crate) fn allocated(pool: &'static str, nbytes: usize) {
    tracing::trace!(target: TARGET, pool, nbytes, "allocated");
}

#[cold]
pub(crate) fn freed(pool: &'static str, nbytes: usize) {
    tracing::trace!(target: TARGET, pool, nbytes, "freed");
}

#[cold]
pub(crate) fn resized(pool: &'static str, old_nbytes: usize, new_nbytes: usize) {
    tracing::trace!(target: TARGET, pool, old_nbytes, new_nbytes, "resized");
}
