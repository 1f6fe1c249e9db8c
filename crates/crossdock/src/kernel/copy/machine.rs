//! What a copy knows about the machine.

use crate::kernel::cpu::Level;

/// The instructions that a copy uses, and from which sizes on it does what would not pay for fewer bytes. Tests choose others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub(super) level: Level,
    /// From so many bytes on what is written does not stay in a cache of its own, and goes past the caches, which saves the read of
    /// each line that an ordinary store begins with.
    pub(super) stream_nbytes: usize,
    /// From so many on threads share the work.
    pub(super) share_nbytes: usize,
    /// The fewest for each of them.
    pub(super) part_nbytes: usize,
    /// From so many elements on the table of a shuffle costs less than it saves.
    pub(super) shuffle_len: usize,
}

impl Machine {
    pub(super) fn current() -> Self {
        Self {
            level: Level::current(),
            stream_nbytes: 4 << 20,
            share_nbytes: 2 << 20,
            part_nbytes: 1 << 18,
            shuffle_len: 2048,
        }
    }
}
