//! Conversion element by element, by way of [`Value`]: for dtypes that the loops do not know, and
//! as the reference for those that they do.

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
/// Clauses 1 to 4 of [`cast`](super::cast).
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
        // SAFETY: clauses 1 and 2 of `cast`: `offsets` yields the elements of both layouts, and
        // `bytes` has the item size of `to`.
        if let Err(error) = unsafe { cast_one(src, from, dst, to, &mut bytes, casting) } {
            return Ok(Some(Lost { position, error }));
        }
    }
    Ok(None)
}

/// Converts one element. `bytes` has the item size of `to`.
///
/// # Errors
///
/// `is_value` where it does not fit.
///
/// # Safety
///
/// 1. `from.itemsize()` bytes at `src` may be loaded racily.
/// 2. `bytes.len()` bytes at `dst` may be stored racily.
pub(super) unsafe fn cast_one(
    src: *const u8,
    from: &DType,
    dst: *mut u8,
    to: &DType,
    bytes: &mut [u8],
    casting: Casting,
) -> Result<()> {
    // SAFETY: clause 1 of `# Safety`: the `from.itemsize()` bytes at `src`, those of one element,
    // may be loaded racily.
    let value = unsafe { load_bytes(src, from.itemsize(), |bytes| Value::read(from, bytes)) }?;
    let value = if casting == Casting::Saturating { value.saturated(to) } else { value };
    value.write(to, bytes)?;
    // SAFETY: clause 2 of `# Safety`: the destination has `bytes.len()` bytes; the source is a
    // slice that `bytes` borrows.
    unsafe { racy::copy(bytes.as_ptr(), dst, bytes.len()) };
    Ok(())
}
