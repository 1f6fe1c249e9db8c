//! Tiles in registers of 16 bytes: sixteen quarters of quarters, put together on the stack so that
//! whole lines are written.
//!
//! A square of registers has as many rows as a register has elements. Interleaving the elements of
//! row `i` with those of the row half a square further on rotates the index of an element, row
//! first and column second, by one bit. After as many rounds as the row has bits, the rows are
//! columns.

use std::arch::aarch64::*;

use crate::kernel::copy::tile::shape::{ROW, Tile};
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
        (16, false) => whole::<false>,
        (16, true) => whole::<true>,
        _ => return None,
    })
}

/// The bytes of a register.
const REGISTER: usize = 16;

/// The registers of a row.
const ACROSS: usize = ROW / REGISTER;

macro_rules! tile {
    ($name:ident, $rows:literal, $low:expr, $high:expr) => {
        /// # Safety
        ///
        /// Clauses 1 and 2 of [`Tile`]. Streaming stores need no alignment here.
        #[target_feature(enable = "neon")]
        unsafe fn $name<const STREAM: bool>(src: *const u8, from: isize, dst: *mut u8, to: isize) {
            const N: usize = $rows;
            let (low, high) = ($low, $high);
            let mut lines = [[vdupq_n_u8(0); ACROSS]; ACROSS * N];
            for below in 0..ACROSS {
                for right in 0..ACROSS {
                    let mut rows = [vdupq_n_u8(0); N];
                    for (row, value) in rows.iter_mut().enumerate() {
                        let src = src.wrapping_offset((below * N + row) as isize * from);
                        // SAFETY: clause 1 of `Tile`: the row is one of the tile's `4 * N`, and
                        // these are one quarter of its 64 bytes.
                        *value = unsafe { vector::load16(src.wrapping_add(right * REGISTER)) };
                    }
                    for _ in 0..N.trailing_zeros() {
                        let before = rows;
                        for (index, pair) in rows.chunks_exact_mut(2).enumerate() {
                            let (row, other) = (before[index], before[index + N / 2]);
                            (pair[0], pair[1]) = (low(row, other), high(row, other));
                        }
                    }
                    for (row, value) in rows.into_iter().enumerate() {
                        lines[right * N + row][below] = value;
                    }
                }
            }
            for (column, [a, b, c, d]) in lines.into_iter().enumerate() {
                let dst = dst.wrapping_offset(column as isize * to);
                for (half, value) in [uint8x16x2_t(a, b), uint8x16x2_t(c, d)].into_iter().enumerate() {
                    let dst = dst.wrapping_add(half * 2 * REGISTER);
                    if STREAM {
                        // SAFETY: clause 2 of `Tile`: `column` is one of the tile's `4 * N`, and
                        // this is half of its 64 bytes.
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
    ($name:ident, $rows:literal, $low:ident, $high:ident, $to:ident, $from:ident) => {
        tile!($name, $rows, |a, b| $from($low($to(a), $to(b))), |a, b| $from($high($to(a), $to(b))));
    };
}

tile!(bytes, 16, |a, b| vzip1q_u8(a, b), |a, b| vzip2q_u8(a, b));
tile!(pairs, 8, vzip1q_u16, vzip2q_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16);
tile!(words, 4, vzip1q_u32, vzip2q_u32, vreinterpretq_u32_u8, vreinterpretq_u8_u32);
tile!(doubles, 2, vzip1q_u64, vzip2q_u64, vreinterpretq_u64_u8, vreinterpretq_u8_u64);
// Elements as wide as a register need no interleaving.
tile!(whole, 1, |a, _| a, |_, b: uint8x16_t| b);
