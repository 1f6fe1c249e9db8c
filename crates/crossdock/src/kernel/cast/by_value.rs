//! Conversion element by element, by way of [`Value`]: whatever the loops do not know, and what they are compared with.

use crate::element::{DType, Value};
use crate::error::Result;
use crate::kernel::cast::Lost;
use crate::kernel::{Casting, load_bytes};
use crate::layout::Layout;
use crate::memory::racy;

/// Converts the elements, in row-major order, up to the first one that does not fit.
///
/// # Errors
///
/// `is_layout` for an indirect array.
///
/// # Safety
///
/// As [`cast`](super::cast).
pub(super) unsafe fn cast(
    src: *const u8,
    from: &DType,
    from_layout: &Layout,
    dst: *mut u8,
    to: &DType,
    to_layout: &Layout,
    casting: Casting,
) -> Result<Option<Lost>> {
    let mut bytes = vec![0; to.itemsize()];
    for (position, (offset, place)) in from_layout.offsets()?.zip(to_layout.offsets()?).enumerate() {
        let (src, dst) = (src.wrapping_offset(offset), dst.wrapping_offset(place));
        // SAFETY: one element, and its place (the caller's word).
        if let Err(error) = unsafe { cast_one(src, from, dst, to, &mut bytes, casting) } {
            return Ok(Some(Lost { position, error }));
        }
    }
    Ok(None)
}

/// Converts one element; `bytes` has the width of what it becomes.
///
/// # Errors
///
/// `is_value` where it does not fit.
///
/// # Safety
///
/// The element may be loaded racily at `src`, and stored racily at `dst`.
pub(super) unsafe fn cast_one(
    src: *const u8,
    from: &DType,
    dst: *mut u8,
    to: &DType,
    bytes: &mut [u8],
    casting: Casting,
) -> Result<()> {
    // SAFETY: one element (the caller's word).
    let value = unsafe { load_bytes(src, from.itemsize(), |bytes| Value::read(from, bytes)) }?;
    let value = if casting == Casting::Saturating { value.saturated(to) } else { value };
    value.write(to, bytes)?;
    // SAFETY: its place in the destination (the caller's word).
    unsafe { racy::copy(bytes.as_ptr(), dst, bytes.len()) };
    Ok(())
}
