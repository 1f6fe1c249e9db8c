//! Byte shuffles across registers of 64 bytes.

use std::arch::x86_64::*;

use crate::kernel::copy::run;
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
        (1, 2) => (pass::<1, 2, false>, pass::<1, 2, true>),
        (2, 2) => (pass::<2, 2, false>, pass::<2, 2, true>),
        (3, 3) => (pass::<3, 3, false>, pass::<3, 3, true>),
        (4, 4) => (pass::<4, 4, false>, pass::<4, 4, true>),
        _ => (any::<false>, any::<true>),
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn register(table: &[u8; 64]) -> __m512i {
    // SAFETY: `table` has 64 bytes, all of which this loads; the load needs no alignment.
    unsafe { _mm512_loadu_si512(table.as_ptr().cast()) }
}

/// The bytes that a table sets: only `NONE` has its sign bit set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn named(table: __m512i) -> u64 {
    !_mm512_movepi8_mask(table)
}

/// # Safety
///
/// Clauses 1 to 4 of [`Pass`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn pass<const IN: usize, const OUT: usize, const STREAM: bool>(
    shuffle: &AxisShuffle,
    blocks: ShuffleBlocks,
) {
    let mut tables = [[_mm512_setzero_si512(); IN]; OUT];
    let mut masks = [[0; IN]; OUT];
    let mut from = [[0; IN]; OUT];
    let (mut to, mut written) = ([0; OUT], [0; OUT]);
    let mut whole = true;
    for (index, output) in shuffle.outputs.iter().enumerate() {
        (to[index], written[index]) = (output.to, output.named);
        whole &= output.named == u64::MAX;
        for (place, input) in output.inputs.iter().enumerate() {
            let table = register(&input.table);
            tables[index][place] = table;
            masks[index][place] = named(table);
            from[index][place] = input.from[0];
        }
    }
    let (src_step, dst_step) = shuffle.steps();
    let (mut src, mut dst) = (blocks.src, blocks.dst);
    let ahead = src_step.signum() * run::AHEAD as isize;
    for _ in 0..blocks.count {
        for index in 0..OUT {
            if STREAM {
                vector::prefetch_to_second(src.wrapping_offset(from[index][0] + ahead));
            }
            // SAFETY: clause 1 of `Pass`: `from` holds the distance of the first input, which a
            // block at `src` loads, 64 bytes.
            let value = unsafe { vector::load64(src.wrapping_offset(from[index][0])) };
            let mut value = _mm512_permutexvar_epi8(tables[index][0], value);
            for place in 1..IN {
                if STREAM {
                    vector::prefetch_to_second(src.wrapping_offset(from[index][place] + ahead));
                }
                // SAFETY: clause 1 of `Pass`: `from` holds the distance of input `place`, which a
                // block at `src` loads, 64 bytes.
                let more = unsafe { vector::load64(src.wrapping_offset(from[index][place])) };
                value = _mm512_mask_permutexvar_epi8(value, masks[index][place], tables[index][place], more);
            }
            let dst = dst.wrapping_offset(to[index]);
            if STREAM {
                // SAFETY: clause 2 of `Pass`: where it streams, the 64 bytes of each output are
                // elements. Clause 3 aligns the first block, and `to` and the steps are multiples
                // of 64.
                unsafe { vector::stream64(dst, value) };
            } else if whole {
                // SAFETY: clause 2 of `Pass`: `whole` says that all 64 bytes of every output are
                // bytes of elements at `dst`.
                unsafe { vector::store64(dst, value) };
            } else {
                // SAFETY: clause 2 of `Pass`: the mask has only the bytes of the output that belong
                // to elements; the others are not accessed.
                unsafe { vector::store64_masked(dst, written[index], value) };
            }
        }
        src = src.wrapping_offset(src_step);
        dst = dst.wrapping_offset(dst_step);
    }
}

/// # Safety
///
/// Clauses 1 to 4 of [`Pass`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn any<const STREAM: bool>(shuffle: &AxisShuffle, blocks: ShuffleBlocks) {
    let (src_step, dst_step) = shuffle.steps();
    let (mut src, mut dst) = (blocks.src, blocks.dst);
    for _ in 0..blocks.count {
        for output in &shuffle.outputs {
            let mut value = _mm512_setzero_si512();
            for input in &output.inputs {
                // SAFETY: clause 1 of `Pass`: `input.from` holds the distance of an input, which a
                // block at `src` loads, 64 bytes.
                let more = unsafe { vector::load64(src.wrapping_offset(input.from[0])) };
                let table = register(&input.table);
                value = _mm512_mask_permutexvar_epi8(value, named(table), table, more);
            }
            let dst = dst.wrapping_offset(output.to);
            if STREAM {
                // SAFETY: clause 2 of `Pass`: where it streams, the 64 bytes of each output are
                // elements. Clause 3 aligns the first block, and `to` and the steps are multiples
                // of 64.
                unsafe { vector::stream64(dst, value) };
            } else {
                // SAFETY: clause 2 of `Pass`: the mask has only the bytes of the output that belong
                // to elements; the others are not accessed.
                unsafe { vector::store64_masked(dst, output.named, value) };
            }
        }
        src = src.wrapping_offset(src_step);
        dst = dst.wrapping_offset(dst_step);
    }
}
