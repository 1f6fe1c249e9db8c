//! The same element everywhere.

use crate::error::Result;
use crate::kernel::block::{Block, Writer};
use crate::kernel::cpu::Level;
use crate::kernel::each_direct;
use crate::kernel::hops::Ends;
use crate::kernel::pair::Pair;
use crate::layout::Layout;
use crate::memory::racy;

/// Writes the bytes of one element to every place of a strided array. Not counted as a copy: nothing of an array is copied.
///
/// # Errors
///
/// None that a valid layout has.
///
/// # Safety
///
/// `layout`, of elements of as many bytes, applied at `dst`, reaches only bytes that may be stored racily.
pub(crate) unsafe fn fill(dst: *mut u8, layout: &Layout, element: &[u8]) -> Result<()> {
    let whole = layout.nbytes();
    let part = |_, (dst, layout): Ends<'_>, _: Ends<'_>| {
        // SAFETY: a part (the caller's word), and the level of this processor.
        unsafe { fill_direct(Level::current(), dst, layout, element, whole) }.map(|()| None::<()>)
    };
    // SAFETY: the caller's word.
    unsafe { each_direct((dst, layout), (dst, layout), part) }.map(drop)
}

/// Writes to what is direct, of `whole` bytes in all.
///
/// # Safety
///
/// As [`fill`], and the level is available.
unsafe fn fill_direct(
    level: Level,
    dst: *mut u8,
    layout: &Layout,
    element: &[u8],
    whole: usize,
) -> Result<()> {
    debug_assert_eq!(layout.itemsize(), element.len());
    let per_block = Block::NBYTES.checked_div(element.len()).unwrap_or(0);
    if per_block == 0 {
        for offset in layout.offsets()?.filter(|_| !element.is_empty()) {
            // SAFETY: one place (the caller's word).
            unsafe { racy::copy(element.as_ptr(), dst.wrapping_offset(offset), element.len()) };
        }
        return Ok(());
    }
    let mut block = Block::new();
    let bytes = block.lanes_mut::<u8>(per_block * element.len());
    for place in bytes.chunks_exact_mut(element.len()) {
        place.copy_from_slice(element);
    }
    // Every place gets the same, so that they may be taken in the order that suits the memory.
    let pair = Pair::arranged(layout, layout)?;
    let dst = dst.wrapping_offset(pair.to_offset);
    let mut writer = Writer::new(level, dst, &pair.to, whole)?;
    let (mut left, mut most) = (layout.len(), writer.first(per_block));
    while left > 0 {
        let count = left.min(most);
        // SAFETY: the caller's word; there are as many left.
        unsafe { writer.store(&block, count) };
        (left, most) = (left - count, per_block);
    }
    writer.finish();
    Ok(())
}
