//! Following the pointers of indirect arrays.

use crate::error::Result;
use crate::layout::Layout;

/// The address of one element, whether the array is indirect or not.
///
/// # Errors
///
/// `is_shape`, `is_bounds`, as [`Layout::hops`].
///
/// # Safety
///
/// `layout` goes with `ptr`: the pointers that it follows from there may be read, are never written, and lead on as it says.
#[inline]
pub(crate) unsafe fn element_at(ptr: *mut u8, layout: &Layout, index: &[usize]) -> Result<*mut u8> {
    if layout.suboffsets().is_none() {
        return Ok(ptr.wrapping_offset(layout.offset_of(index)?));
    }
    // SAFETY: the caller's word.
    unsafe { indirect_element_at(ptr, layout, index) }
}

#[cold]
unsafe fn indirect_element_at(ptr: *mut u8, layout: &Layout, index: &[usize]) -> Result<*mut u8> {
    let mut hops = layout.hops(index)?;
    let mut at = ptr.wrapping_offset(hops.next().unwrap_or(0));
    for hop in hops {
        // SAFETY: where the layout has another hop there is a pointer (the caller's word).
        at = unsafe { follow(at) }.wrapping_offset(hop);
    }
    Ok(at)
}

/// The pointer that lies there, at any alignment.
///
/// # Safety
///
/// There is one, and nobody writes it.
#[inline]
pub(crate) unsafe fn follow(at: *const u8) -> *mut u8 {
    // SAFETY: the caller's word. A plain read, which keeps the pointer's provenance.
    unsafe { at.cast::<*mut u8>().read_unaligned() }
}
