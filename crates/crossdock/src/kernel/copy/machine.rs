//! The machine parameters of a copy.

use crate::kernel::cpu::Level;

/// The instructions that a copy uses, and the sizes from which its optimisations pay. Tests choose
/// others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub(super) level: Level,
    /// Copies of at least this many bytes bypass the caches: they would not stay in a core's own
    /// cache, and non-temporal stores save the read of each line.
    pub(super) stream_nbytes: usize,
    /// Copies of at least this many bytes are shared among threads: two are faster than one.
    pub(super) share_nbytes: usize,
    /// The smallest part for a thread, in bytes.
    pub(super) part_nbytes: usize,
    /// From this many elements on, the table of a shuffle costs less than it saves.
    pub(super) shuffle_len: usize,
}

/// Copies of at least this many bytes are streamed and shared.
pub(super) const LARGE_NBYTES: usize = 4 << 20;

impl Machine {
    pub(super) fn current() -> Self {
        Self {
            level: Level::current(),
            stream_nbytes: LARGE_NBYTES,
            share_nbytes: LARGE_NBYTES,
            part_nbytes: 1 << 18,
            shuffle_len: 2048,
        }
    }
}
