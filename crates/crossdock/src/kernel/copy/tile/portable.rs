//! Tiles by words, for every processor.

use crate::kernel::copy::tile::shape::{ROW, Tile};
use crate::memory::racy;

pub(super) fn tile(width: usize) -> Option<Tile> {
    Some(match width {
        1 => one::<u8, 64>,
        2 => one::<u16, 32>,
        4 => one::<u32, 16>,
        8 => one::<u64, 8>,
        16 => one::<u128, 4>,
        _ => return None,
    })
}

/// # Safety
///
/// As for every [`Tile`].
unsafe fn one<T: crate::memory::Pod + Default, const N: usize>(
    src: *const u8,
    from: isize,
    dst: *mut u8,
    to: isize,
) {
    const { assert!(size_of::<[T; N]>() == ROW) }
    for column in 0..N {
        let mut line = [T::default(); N];
        let src = src.wrapping_add(column * size_of::<T>());
        for (row, element) in line.iter_mut().enumerate() {
            // SAFETY: one element of the tile (the caller's word).
            *element = unsafe { racy::load(src.wrapping_offset(row as isize * from).cast()) };
        }
        // SAFETY: a row of the destination (the caller's word).
        unsafe { racy::store(dst.wrapping_offset(column as isize * to).cast(), line) };
    }
}
