//! Runs everything on the caller's thread.

/// The number of threads that share work.
#[inline]
pub(crate) fn count_for(_: usize) -> usize {
    1
}

/// Calls `work` with every number below `parts`.
#[inline]
pub(crate) fn each(parts: usize, work: impl Fn(usize) + Sync) {
    (0..parts).for_each(work);
}
