//! Shuffles of bytes within the lanes of registers of 32.

use std::arch::x86_64::*;

use crate::kernel::copy::shuffle::{Blocks, Pass, Shuffle};
use crate::memory::racy::vector;

/// The passes for so many registers of the source, for each of so many of the destination: those that are met often keep the table in
/// registers.
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
    // SAFETY: an array of more bytes.
    unsafe { _mm256_loadu_si256(table.as_ptr().cast()) }
}

/// A register whose lanes come from two places.
///
/// # Safety
///
/// 16 bytes at each distance from `src` may be loaded racily.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(src: *const u8, from: [isize; 2]) -> __m256i {
    // SAFETY: the caller's word.
    let low = unsafe { vector::load16(src.wrapping_offset(from[0])) };
    // SAFETY: the caller's word.
    let high = unsafe { vector::load16(src.wrapping_offset(from[1])) };
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
}

/// # Safety
///
/// As for every [`Pass`].
#[target_feature(enable = "avx2")]
unsafe fn pass<const IN: usize, const OUT: usize, const STREAM: bool>(shuffle: &Shuffle, blocks: Blocks) {
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
                // SAFETY: within the block (the caller's word).
                let more = unsafe { load(src, from[index][place]) };
                value = _mm256_or_si256(value, _mm256_shuffle_epi8(more, tables[index][place]));
            }
            // SAFETY: 32 bytes of the destination, aligned where they are streamed (the caller's word).
            unsafe { store::<STREAM>(dst.wrapping_offset(to[index]), value) };
        }
        src = src.wrapping_offset(src_step);
        dst = dst.wrapping_offset(dst_step);
    }
}

/// # Safety
///
/// As for every [`Pass`].
#[target_feature(enable = "avx2")]
unsafe fn any<const STREAM: bool>(shuffle: &Shuffle, blocks: Blocks) {
    let (src_step, dst_step) = shuffle.steps();
    let (mut src, mut dst) = (blocks.src, blocks.dst);
    for _ in 0..blocks.count {
        for output in &shuffle.outputs {
            let mut value = _mm256_setzero_si256();
            for input in &output.inputs {
                // SAFETY: within the block (the caller's word).
                let more = unsafe { load(src, input.from) };
                value = _mm256_or_si256(value, _mm256_shuffle_epi8(more, register(&input.table)));
            }
            // SAFETY: 32 bytes of the destination, aligned where they are streamed (the caller's word).
            unsafe { store::<STREAM>(dst.wrapping_offset(output.to), value) };
        }
        src = src.wrapping_offset(src_step);
        dst = dst.wrapping_offset(dst_step);
    }
}

/// # Safety
///
/// 32 bytes at `dst` may be stored racily; it is aligned where they are streamed.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store<const STREAM: bool>(dst: *mut u8, value: __m256i) {
    if STREAM {
        // SAFETY: the caller's word.
        unsafe { vector::stream32(dst, value) };
    } else {
        // SAFETY: the caller's word.
        unsafe { vector::store32(dst, value) };
    }
}
