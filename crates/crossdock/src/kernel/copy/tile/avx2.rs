//! Tiles in registers of 32 bytes: four quarters, assembled in the L1 cache so that whole lines are
//! written.
//!
//! Each quarter is transposed as in the module for 64 bytes, with two lanes in place of four.

use std::arch::x86_64::*;

use crate::kernel::copy::tile::shape::{ROW, TILE, Tile};
use crate::memory::racy::vector;

pub(super) fn tile(width: usize, stream: bool) -> Option<Tile> {
    Some(match (width, stream) {
        (1, false) => bytes::<false>,
        (1, true) => bytes::<true>,
        (2, false) => pairs::<false>,
        (2, true) => pairs::<true>,
        (4, false) => words::<false>,
        (4, true) => words::<true>,
        (8, false) => doubles::<false>,
        (8, true) => doubles::<true>,
        (16, false) => lanes::<false>,
        (16, true) => lanes::<true>,
        _ => return None,
    })
}

/// Half a row.
const HALF: usize = ROW / 2;

macro_rules! tile {
    ($name:ident, $rows:literal, $low:ident, $high:ident) => {
        /// # Safety
        ///
        /// Clauses 1 to 4 of [`Tile`].
        #[target_feature(enable = "avx2")]
        unsafe fn $name<const STREAM: bool>(src: *const u8, from: isize, dst: *mut u8, to: isize) {
            const N: usize = $rows;
            let mut lines = [[[_mm256_setzero_si256(); 2]; 2 * N]; 2];
            for (right, lines) in lines.iter_mut().enumerate() {
                for lower in 0..2 {
                    let src = src.wrapping_add(right * HALF).wrapping_offset((lower * 2 * N) as isize * from);
                    let mut groups = [[_mm256_setzero_si256(); N]; 2];
                    for (group, rows) in groups.iter_mut().enumerate() {
                        for (row, value) in rows.iter_mut().enumerate() {
                            let src = src.wrapping_offset((group * N + row) as isize * from);
                            // SAFETY: clause 1 of `Tile`: the row is one of the tile's `4 * N`, and
                            // these are the left or right 32 of its 64 bytes.
                            *value = unsafe { vector::load32(src) };
                        }
                        for _ in 0..N.trailing_zeros() {
                            let before = *rows;
                            for (index, pair) in rows.chunks_exact_mut(2).enumerate() {
                                let (row, other) = (before[index], before[index + N / 2]);
                                (pair[0], pair[1]) = ($low(row, other), $high(row, other));
                            }
                        }
                    }
                    for row in 0..N {
                        let (a, b) = (groups[0][row], groups[1][row]);
                        lines[row][lower] = _mm256_permute2x128_si256::<0x20>(a, b);
                        lines[N + row][lower] = _mm256_permute2x128_si256::<0x31>(a, b);
                    }
                }
            }
            const { assert!(4 * N * ROW <= TILE) }
            for (column, line) in lines.as_flattened().iter().enumerate() {
                for (half, &value) in line.iter().enumerate() {
                    let dst = dst.wrapping_offset(column as isize * to).wrapping_add(half * HALF);
                    if STREAM {
                        // SAFETY: clause 2 of `Tile`: `column` is one of the tile's `4 * N`, and
                        // this is half of its 64 bytes. Clause 4 aligns the row to 64.
                        unsafe { vector::stream32(dst, value) };
                    } else {
                        // SAFETY: clause 2 of `Tile`: `column` is one of the tile's `4 * N`, and
                        // this is half of its 64 bytes.
                        unsafe { vector::store32(dst, value) };
                    }
                }
            }
        }
    };
}

tile!(bytes, 16, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8);
tile!(pairs, 8, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16);
tile!(words, 4, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32);
tile!(doubles, 2, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64);
// Elements as wide as a lane need no interleaving.
tile!(lanes, 1, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64);
