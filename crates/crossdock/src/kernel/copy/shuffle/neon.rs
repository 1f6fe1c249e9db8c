//! Byte shuffles by table lookups in registers of 16 bytes, two at a time.

use std::arch::aarch64::*;

use crate::kernel::copy::shuffle::table::{AxisShuffle, Input, Pass, ShuffleBlocks};
use crate::memory::racy::vector;

/// The passes for a shuffle with these numbers of source and destination registers. Frequent
/// combinations keep the table in registers.
pub(super) fn passes(inputs: usize, outputs: usize) -> (Pass, Pass) {
    match (inputs, outputs) {
        (1, 1) => (pass::<1, 1, false>, pass::<1, 1, true>),
        (2, 1) => (pass::<2, 1, false>, pass::<2, 1, true>),
        (3, 1) => (pass::<3, 1, false>, pass::<3, 1, true>),
        (4, 1) => (pass::<4, 1, false>, pass::<4, 1, true>),
        (2, 2) => (pass::<2, 2, false>, pass::<2, 2, true>),
        (3, 3) => (pass::<3, 3, false>, pass::<3, 3, true>),
        _ => (any::<false>, any::<true>),
    }
}

/// The tables of both registers.
#[inline]
#[target_feature(enable = "neon")]
fn tables(table: &[u8; 64]) -> uint8x16x2_t {
    // SAFETY: `table` has 64 bytes, of which this loads the first 32; the load needs no alignment.
    unsafe { vld1q_u8_x2(table.as_ptr()) }
}

/// The bytes that one input adds to the two registers: an index of 16 or more, such as `NONE`,
/// keeps the byte of `value`.
///
/// # Safety
///
/// 16 bytes at each distance in `from` from `src` may be loaded racily.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn look_up(
    value: uint8x16x2_t,
    src: *const u8,
    from: [isize; 2],
    tables: uint8x16x2_t,
) -> uint8x16x2_t {
    // SAFETY: `# Safety`: 16 bytes at the first distance from `src` may be loaded racily.
    let low = unsafe { vector::load16(src.wrapping_offset(from[0])) };
    // SAFETY: `# Safety`: 16 bytes at the second distance from `src` may be loaded racily.
    let high = unsafe { vector::load16(src.wrapping_offset(from[1])) };
    uint8x16x2_t(vqtbx1q_u8(value.0, low, tables.0), vqtbx1q_u8(value.1, high, tables.1))
}

/// # Safety
///
/// Clauses 1 and 2 of [`Pass`]. Streaming stores need no alignment here.
#[target_feature(enable = "neon")]
unsafe fn pass<const IN: usize, const OUT: usize, const STREAM: bool>(
    shuffle: &AxisShuffle,
    blocks: ShuffleBlocks,
) {
    let zero = uint8x16x2_t(vdupq_n_u8(0), vdupq_n_u8(0));
    let mut lookups = [[zero; IN]; OUT];
    let mut from = [[[0; 2]; IN]; OUT];
    let mut to = [0; OUT];
    for (index, output) in shuffle.outputs.iter().enumerate() {
        to[index] = output.to;
        for (place, input) in output.inputs.iter().enumerate() {
            lookups[index][place] = tables(&input.table);
            from[index][place] = input.from;
        }
    }
    let (src_step, dst_step) = shuffle.steps();
    let (mut src, mut dst) = (blocks.src, blocks.dst);
    for _ in 0..blocks.count {
        for index in 0..OUT {
            let mut value = zero;
            for place in 0..IN {
                // SAFETY: clause 1 of `Pass`: `from` holds the distances of an input, which a block
                // at `src` loads, 16 bytes each.
                value = unsafe { look_up(value, src, from[index][place], lookups[index][place]) };
            }
            // SAFETY: clause 2 of `Pass`: the 32 bytes of this output are elements of the block at
            // `dst`.
            unsafe { store::<STREAM>(dst.wrapping_offset(to[index]), value) };
        }
        src = src.wrapping_offset(src_step);
        dst = dst.wrapping_offset(dst_step);
    }
}

/// # Safety
///
/// Clauses 1 and 2 of [`Pass`]. Streaming stores need no alignment here.
#[target_feature(enable = "neon")]
unsafe fn any<const STREAM: bool>(shuffle: &AxisShuffle, blocks: ShuffleBlocks) {
    let (src_step, dst_step) = shuffle.steps();
    let (mut src, mut dst) = (blocks.src, blocks.dst);
    for _ in 0..blocks.count {
        for output in &shuffle.outputs {
            let mut value = uint8x16x2_t(vdupq_n_u8(0), vdupq_n_u8(0));
            for Input { from, table } in &output.inputs {
                // SAFETY: clause 1 of `Pass`: `from` holds the distances of an input, which a block
                // at `src` loads, 16 bytes each.
                value = unsafe { look_up(value, src, *from, tables(table)) };
            }
            // SAFETY: clause 2 of `Pass`: the 32 bytes of this output are elements of the block at
            // `dst`.
            unsafe { store::<STREAM>(dst.wrapping_offset(output.to), value) };
        }
        src = src.wrapping_offset(src_step);
        dst = dst.wrapping_offset(dst_step);
    }
}

/// # Safety
///
/// 32 bytes at `dst` may be stored racily.
#[inline]
unsafe fn store<const STREAM: bool>(dst: *mut u8, value: uint8x16x2_t) {
    if STREAM {
        // SAFETY: `# Safety`: 32 bytes at `dst` may be stored racily.
        unsafe { vector::stream32(dst, value) };
    } else {
        // SAFETY: `# Safety`: 32 bytes at `dst` may be stored racily.
        unsafe { vector::store32(dst, value) };
    }
}
