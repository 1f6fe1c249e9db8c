//! Squares of elements, transposed: 64 bytes of each of so many rows that they become 64 bytes of each of as many others.
//!
//! So each line of the source is loaded once, and each line of the destination written once and whole, however far the rows of
//! either are apart.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod shape;

pub(super) use self::shape::{ROW, TILE, Tile};
use crate::kernel::cpu::Level;

/// The tile of elements of 1, 2, 4, 8 or 16 bytes; of others there is none.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "the portable level has one way"))]
pub(super) fn tile(level: Level, width: usize, stream: bool) -> Option<Tile> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::tile(width, stream),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::tile(width, stream),
        _ => portable::tile(width),
    }
}
