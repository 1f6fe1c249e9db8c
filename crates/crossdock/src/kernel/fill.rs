//! Fills an array with one element.
//!
//! Reasons: `DESIGN.md`, "Writes to overlapping elements are refused".

use std::mem::MaybeUninit;

use crate::error::Result;
use crate::kernel::block::{LaneBlock, Writer};
use crate::kernel::cpu::Level;
use crate::kernel::indirection::Endpoint;
use crate::kernel::pair::LayoutPair;
use crate::kernel::{Racy, each_direct, threads};
use crate::layout::Layout;
use crate::memory::racy;

/// From this many bytes on, two threads are faster than one.
const SHARE_NBYTES: usize = 8 << 20;

/// The smallest part for a thread, in bytes.
const PART_NBYTES: usize = 1 << 18;

/// Writes the bytes of one element to every place of a strided array. This is not counted as a
/// copy.
///
/// # Errors
///
/// None for a valid layout.
///
/// # Safety
///
/// 1. `layout`, applied at `dst`, reaches only bytes that may be stored racily. Pointers that it
///    follows are as for [`element_at`](crate::kernel::element_at).
/// 2. The item size of `layout` is the length of `element`.
pub(crate) unsafe fn fill(dst: *mut u8, layout: &Layout, element: &[u8]) -> Result<()> {
    let whole = layout.nbytes();
    let part = |_, (dst, layout): Endpoint<'_>, _: Endpoint<'_>| {
        // SAFETY: clauses 1 and 2 of `# Safety`: `each_direct` passes a direct part of the array.
        // `Level::current` is a level of this CPU.
        unsafe { fill_direct(Level::current(), dst, layout, element, whole) }.map(|()| None::<()>)
    };
    // SAFETY: clause 1 of `# Safety`: `layout` goes with `dst`, and both arrays are this one, so
    // the shapes are equal.
    unsafe { each_direct((dst, layout), (dst, layout), part) }.map(drop)
}

/// Fills a direct part of an array of `whole` bytes.
///
/// # Safety
///
/// 1. Clauses 1 and 2 of [`fill`], for a direct layout.
/// 2. The level is available.
unsafe fn fill_direct(
    level: Level,
    dst: *mut u8,
    layout: &Layout,
    element: &[u8],
    whole: usize,
) -> Result<()> {
    debug_assert_eq!(layout.itemsize(), element.len());
    let per_block = LaneBlock::NBYTES.checked_div(element.len()).unwrap_or(0);
    if per_block == 0 {
        for offset in layout.offsets()?.filter(|_| !element.is_empty()) {
            // SAFETY: clause 1 of `# Safety`: `offset` is that of an element, whose item size is
            // the length of `element`.
            unsafe { racy::copy(element.as_ptr(), dst.wrapping_offset(offset), element.len()) };
        }
        return Ok(());
    }
    let per_block = per_block.min(layout.len());
    let mut room = MaybeUninit::uninit();
    let [block] = LaneBlock::make(&mut room, per_block, element.len());
    repeat(element, block.lanes_mut::<u8>(per_block * element.len()));
    // Every place becomes the same, so the order is that of the memory.
    let pair = LayoutPair::arranged(layout, layout)?;
    let dst = Racy(dst);
    let fill_part = |pair: &LayoutPair| {
        let mut writer = Writer::new(level, dst.at(pair.to_offset), &pair.to, whole)?;
        let (mut left, mut most) = (pair.to.len(), writer.first(per_block));
        while left > 0 {
            let count = left.min(most);
            // SAFETY: clause 1 of `# Safety` covers the elements of `pair.to`, which are a part of
            // those of `layout`, from `to_offset` on; clause 2 covers the level.
            unsafe { writer.store(block, count) };
            (left, most) = (left - count, per_block);
        }
        writer.finish();
        Ok(())
    };
    match threads::parts(whole, SHARE_NBYTES, PART_NBYTES) {
        1 => fill_part(&pair),
        parts => {
            let parts = pair.split(parts)?;
            threads::try_each(parts.len(), |part| fill_part(&parts[part]))
        }
    }
}

/// Fills `places`, which has whole elements, with one element.
fn repeat(element: &[u8], places: &mut [u8]) {
    let mut filled = element.len().min(places.len());
    places[..filled].copy_from_slice(&element[..filled]);
    while filled < places.len() {
        let more = filled.min(places.len() - filled);
        places.copy_within(..more, filled);
        filled += more;
    }
}
