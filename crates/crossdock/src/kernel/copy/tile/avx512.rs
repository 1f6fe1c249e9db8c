//! Tiles in registers of 64 bytes.
//!
//! A register is four lanes of 16 bytes. Rows come in four groups of as many rows as a lane has
//! elements. Interleaving the elements of row `i` with those of the row half a group further on
//! rotates the index of an element, row first and column second, by one bit. After as many rounds
//! as the row has bits, lane `k` of register `r` is a column of the rows of this group. A transpose
//! of lanes then joins the four groups of each column.

use std::arch::x86_64::*;

use crate::kernel::copy::tile::shape::Tile;
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

macro_rules! tile {
    ($name:ident, $rows:literal, $low:ident, $high:ident) => {
        /// # Safety
        ///
        /// Clauses 1 to 4 of [`Tile`].
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
        unsafe fn $name<const STREAM: bool>(src: *const u8, from: isize, dst: *mut u8, to: isize) {
            const N: usize = $rows;
            let mut groups = [[_mm512_setzero_si512(); N]; 4];
            for (group, rows) in groups.iter_mut().enumerate() {
                for (row, value) in rows.iter_mut().enumerate() {
                    let src = src.wrapping_offset((group * N + row) as isize * from);
                    // SAFETY: clause 1 of `Tile`: the row is one of the tile's `4 * N`, of which 64
                    // bytes may be loaded racily.
                    *value = unsafe { vector::load64(src) };
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
                let lines = transpose_lanes([groups[0][row], groups[1][row], groups[2][row], groups[3][row]]);
                for (lane, line) in lines.into_iter().enumerate() {
                    let dst = dst.wrapping_offset((lane * N + row) as isize * to);
                    if STREAM {
                        // SAFETY: clause 2 of `Tile`: the row is one of the tile's `4 * N`, of
                        // which 64 bytes may be stored racily; clause 4 aligns it to 64.
                        unsafe { vector::stream64(dst, line) };
                    } else {
                        // SAFETY: clause 2 of `Tile`: the row is one of the tile's `4 * N`, of
                        // which 64 bytes may be stored racily.
                        unsafe { vector::store64(dst, line) };
                    }
                }
            }
        }
    };
}

tile!(bytes, 16, _mm512_unpacklo_epi8, _mm512_unpackhi_epi8);
tile!(pairs, 8, _mm512_unpacklo_epi16, _mm512_unpackhi_epi16);
tile!(words, 4, _mm512_unpacklo_epi32, _mm512_unpackhi_epi32);
tile!(doubles, 2, _mm512_unpacklo_epi64, _mm512_unpackhi_epi64);
// Elements as wide as a lane need no interleaving.
tile!(lanes, 1, _mm512_unpacklo_epi64, _mm512_unpackhi_epi64);

#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_lanes([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (low, high) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xEE>(a, b));
    let (next_low, next_high) = (_mm512_shuffle_i64x2::<0x44>(c, d), _mm512_shuffle_i64x2::<0xEE>(c, d));
    [
        _mm512_shuffle_i64x2::<0x88>(low, next_low),
        _mm512_shuffle_i64x2::<0xDD>(low, next_low),
        _mm512_shuffle_i64x2::<0x88>(high, next_high),
        _mm512_shuffle_i64x2::<0xDD>(high, next_high),
    ]
}
