//! Tiles by words, for every CPU.

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
/// Clauses 1 and 2 of [`Tile`].
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
            // SAFETY: clause 1 of `Tile`: `row` and `column` are below `N`, so the element lies
            // within the 64 bytes of its row.
            *element = unsafe { racy::load(src.wrapping_offset(row as isize * from).cast()) };
        }
        // SAFETY: clause 2 of `Tile`: `column` is below `N`, and `line` is as large as a row
        // (asserted above).
        unsafe { racy::store(dst.wrapping_offset(column as isize * to).cast(), line) };
    }
}
