//! Byte shuffles within the lanes of registers of 32 bytes.

use std::arch::x86_64::*;

use crate::kernel::copy::shuffle::table::{AxisShuffle, Pass, ShuffleBlocks};
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

#[inline]
#[target_feature(enable = "avx2")]
fn register(table: &[u8; 64]) -> __m256i {
    // SAFETY: `table` has 64 bytes, of which this loads the first 32; the load needs no alignment.
    unsafe { _mm256_loadu_si256(table.as_ptr().cast()) }
}

/// A register whose two lanes are loaded from two places.
///
/// # Safety
///
/// 16 bytes at each distance in `from` from `src` may be loaded racily.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(src: *const u8, from: [isize; 2]) -> __m256i {
    // SAFETY: `# Safety`: 16 bytes at the first distance from `src` may be loaded racily; the load
    // needs no alignment.
    let low = unsafe { vector::load16(src.wrapping_offset(from[0])) };
    // SAFETY: `# Safety`: 16 bytes at the second distance from `src` may be loaded racily; the load
    // needs no alignment.
    let high = unsafe { vector::load16(src.wrapping_offset(from[1])) };
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
}

/// # Safety
///
/// Clauses 1 to 4 of [`Pass`].
#[target_feature(enable = "avx2")]
unsafe fn pass<const IN: usize, const OUT: usize, const STREAM: bool>(
    shuffle: &AxisShuffle,
    blocks: ShuffleBlocks,
) {
    let mut tables = [[_mm256_setzero_si256(); IN]; OUT];
    let mut from = [[[0; 2]; IN]; OUT];
    let mut to = [0; OUT];
    for (index, output) in shuffle.outputs.iter().enumerate() {
        to[index] = output.to;
        for (place, input) in output.inputs.iter().enumerate() {
            tables[index][place] = register(&input.table);
            from[index][place] = input.from;
        }
    }
    let (src_step, dst_step) = shuffle.steps();
    let (mut src, mut dst) = (blocks.src, blocks.dst);
    for _ in 0..blocks.count {
        for index in 0..OUT {
            let mut value = _mm256_setzero_si256();
            for place in 0..IN {
                // SAFETY: clause 1 of `Pass`: `from` holds the distances of an input, which a block
                // at `src` loads, 16 bytes each.
                let more = unsafe { load(src, from[index][place]) };
                value = _mm256_or_si256(value, _mm256_shuffle_epi8(more, tables[index][place]));
            }
            // SAFETY: clause 2 of `Pass`: the 32 bytes of this output are elements of the block at
            // `dst`. Clause 3 aligns the first block, and `to` and the steps are multiples of 32.
            unsafe { store::<STREAM>(dst.wrapping_offset(to[index]), value) };
        }
        src = src.wrapping_offset(src_step);
        dst = dst.wrapping_offset(dst_step);
    }
}

/// # Safety
///
/// Clauses 1 to 4 of [`Pass`].
#[target_feature(enable = "avx2")]
unsafe fn any<const STREAM: bool>(shuffle: &AxisShuffle, blocks: ShuffleBlocks) {
    let (src_step, dst_step) = shuffle.steps();
    let (mut src, mut dst) = (blocks.src, blocks.dst);
    for _ in 0..blocks.count {
        for output in &shuffle.outputs {
            let mut value = _mm256_setzero_si256();
            for input in &output.inputs {
                // SAFETY: clause 1 of `Pass`: `input.from` holds the distances of an input, which a
                // block at `src` loads, 16 bytes each.
                let more = unsafe { load(src, input.from) };
                value = _mm256_or_si256(value, _mm256_shuffle_epi8(more, register(&input.table)));
            }
            // SAFETY: clause 2 of `Pass`: the 32 bytes of this output are elements of the block at
            // `dst`. Clause 3 aligns the first block, and `to` and the steps are multiples of 32.
            unsafe { store::<STREAM>(dst.wrapping_offset(output.to), value) };
        }
        src = src.wrapping_offset(src_step);
        dst = dst.wrapping_offset(dst_step);
    }
}

/// # Safety
///
/// 1. 32 bytes at `dst` may be stored racily.
/// 2. If `STREAM` is set, `dst` is aligned to 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store<const STREAM: bool>(dst: *mut u8, value: __m256i) {
    if STREAM {
        // SAFETY: clauses 1 and 2 of `# Safety`: 32 bytes at `dst` may be stored racily, and `dst`
        // is aligned to 32 bytes.
        unsafe { vector::stream32(dst, value) };
    } else {
        // SAFETY: clause 1 of `# Safety`: 32 bytes at `dst` may be stored racily; the store needs
        // no alignment.
        unsafe { vector::store32(dst, value) };
    }
}
