//! Squares of elements, transposed: 64 bytes of each of so many rows that they become 64 bytes of each of as many others.
//!
//! So each line of the source is loaded once, and each line of the destination written once and whole, however far the rows of
//! either are apart.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use crate::kernel::cpu::Level;

/// The bytes of a row of a tile: a line of the cache.
pub(super) const ROW: usize = 64;

/// The bytes of the largest tile, that of elements of one byte.
pub(super) const TILE: usize = ROW * ROW;

/// Transposes a tile whose rows are so many bytes apart in the source, and in the destination. One that streams needs an aligned
/// destination, and distances that keep it so.
///
/// # Safety
///
/// 64 bytes of each row may be loaded, and stored, racily; the processor has the level that the tile was made for.
pub(super) type Tile = unsafe fn(*const u8, isize, *mut u8, isize);

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
