//! The size of a tile, and the type of the functions that transpose one.

/// The bytes of a row of a tile: a cache line.
pub(crate) const ROW: usize = 64;

/// The bytes of the largest tile, for elements of one byte.
pub(crate) const TILE: usize = ROW * ROW;

/// Transposes a tile. Each pointer is followed by the distance between its rows, in bytes. A tile
/// has as many rows as 64 bytes have elements.
///
/// # Safety
///
/// 1. 64 bytes of each row of the source may be loaded racily.
/// 2. 64 bytes of each row of the destination may be stored racily.
/// 3. The CPU has the level that the function was chosen for.
/// 4. A function that streams needs rows of the destination that are aligned to 64 bytes.
pub(crate) type Tile = unsafe fn(*const u8, isize, *mut u8, isize);
