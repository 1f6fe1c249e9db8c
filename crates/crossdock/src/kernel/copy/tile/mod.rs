//! Square tiles that are transposed: a tile has rows of 64 bytes, and as many rows as a row has
//! elements.
//!
//! Each line of the source is loaded once, and each line of the destination is written once and
//! whole, however far apart the rows are.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod shape;

pub(super) use self::shape::{ROW, TILE, Tile};
use crate::kernel::cpu::Level;

/// The function for elements of 1, 2, 4, 8 or 16 bytes; `None` for other widths.
#[cfg_attr(
    not(any(target_arch = "aarch64", target_arch = "x86_64")),
    expect(unused_variables, reason = "the portable level has one way")
)]
pub(super) fn tile(level: Level, width: usize, stream: bool) -> Option<Tile> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::tile(width, stream),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::tile(width, stream),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => neon::tile(width, stream),
        _ => portable::tile(width),
    }
}
