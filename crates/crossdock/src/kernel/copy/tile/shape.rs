//! The size of a tile, and the type of the functions that transpose one.

/// The bytes of a row of a tile: a line of the cache.
pub(crate) const ROW: usize = 64;

/// The bytes of the largest tile, that of elements of one byte.
pub(crate) const TILE: usize = ROW * ROW;

/// Transposes a tile whose rows are so many bytes apart in the source, and in the destination. One that streams needs an aligned
/// destination, and distances that keep it so.
///
/// # Safety
///
/// 64 bytes of each row may be loaded, and stored, racily; the processor has the level that the tile was made for.
pub(crate) type Tile = unsafe fn(*const u8, isize, *mut u8, isize);
