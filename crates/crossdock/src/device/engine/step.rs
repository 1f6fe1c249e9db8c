//! One step of a device's work.
//!
//! Reasons: `DESIGN.md`, "Strided work is described by plain numbers".

use crate::device::engine::{Job, Kernel};

/// One step of a device's work, between the memory `from` and the memory `to` of a
/// [`Work`](crate::device::engine::Work).
///
/// Offsets are in bytes from the pointer to the memory, and include the [`Start::offset`] that the
/// engine returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A copy of `nbytes` contiguous bytes.
    Bytes {
        /// The offset in the source.
        from: u64,
        /// The offset in the destination.
        to: u64,
        /// The number of bytes, at least one.
        nbytes: usize,
    },
    /// A copy of long rows, which most copy engines support.
    Rows(Rows),
    /// A launch of a kernel.
    Launch {
        /// The kernel.
        kernel: Kernel,
        /// The number of groups, of [`Kernel::ITEMS`] work-items each, along one axis.
        groups: u32,
        /// The kernel's fourth parameter.
        job: Box<Job>,
    },
}

/// A copy of rows of `nbytes` contiguous bytes, `rows` of them in each of `slices` slices. No two
/// rows overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The rows of the source.
    pub from: Pitched,
    /// The rows of the destination.
    pub to: Pitched,
    /// The bytes of one row.
    pub nbytes: usize,
    /// The number of rows in a slice.
    pub rows: usize,
    /// The number of slices.
    pub slices: usize,
}

/// The positions of the rows in one memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pitched {
    /// The offset of the first row.
    pub offset: u64,
    /// The distance from row to row: at least the length of a row, and less than 2^31.
    pub row: usize,
    /// The distance from slice to slice: a whole number of rows, at least as many as a slice has.
    pub slice: usize,
}

/// The position at which a kernel finds the first byte of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its distance in bytes from the kernel's pointer: 0 for devices with addresses, the offset
    /// within the object for devices whose kernels take objects.
    pub offset: i64,
    /// An integer with the same alignment as the address: the address itself, if the device has
    /// one.
    pub address: u64,
}

impl Start {
    /// The position `by` bytes farther on.
    pub(crate) fn moved(self, by: isize) -> Self {
        Self { offset: self.offset + by as i64, address: self.address.wrapping_add_signed(by as i64) }
    }
}
