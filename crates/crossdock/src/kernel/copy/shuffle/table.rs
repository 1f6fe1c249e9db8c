//! The table of a shuffle, and the blocks that a pass over it copies.

use crate::kernel::copy::plan::CopyAxis;

/// The bytes of one register of the source that a register of the destination needs.
#[derive(Clone, Copy)]
pub(super) struct Input {
    /// Where each lane is loaded, in bytes from element 0 of the block.
    pub(super) from: [isize; 2],
    /// For each byte of the register its index in the lane, or `NONE`.
    pub(super) table: [u8; 64],
}

/// A register of the destination.
pub(super) struct Output {
    pub(super) to: isize,
    pub(super) inputs: Vec<Input>,
    /// The bytes that are written, one bit each.
    #[cfg_attr(target_arch = "aarch64", expect(dead_code, reason = "it has no masked stores"))]
    pub(super) named: u64,
}

/// One pass over blocks, at one level.
///
/// # Safety
///
/// 1. For each of the blocks, all inputs of the shuffle may be loaded from the source racily.
/// 2. For each of the blocks, the elements that it makes may be stored racily.
/// 3. Where it streams, every byte of the outputs belongs to an element, and the destination of the
///    first block begins a cache line.
/// 4. The CPU has the level that the function was chosen for.
pub(super) type Pass = unsafe fn(&AxisShuffle, ShuffleBlocks);

/// Consecutive blocks of a shuffle.
#[derive(Clone, Copy)]
pub(super) struct ShuffleBlocks {
    pub(super) src: *const u8,
    pub(super) dst: *mut u8,
    pub(super) count: usize,
}

/// A copy of the elements of one axis, or of one axis and a few neighbours of each element.
pub(crate) struct AxisShuffle {
    pub(super) width: usize,
    /// The long axis.
    pub(super) along: CopyAxis,
    /// The short one.
    pub(super) beside: CopyAxis,
    /// How many elements of the long axis a block has.
    pub(super) block: usize,
    pub(super) outputs: Vec<Output>,
    /// The range of bytes that a block loads, from its element 0; and the range that the elements
    /// of all blocks occupy, from element 0 of all.
    pub(super) reach: (isize, isize),
    pub(super) limits: (isize, isize),
    pub(super) stream: bool,
    pub(super) store: Pass,
    pub(super) stream_pass: Pass,
}
