//! Loads one element as a value from an address, a dtype and a layout.

use std::ptr::NonNull;

use crate::element::{DType, ScalarKind, Value};
use crate::error::Result;
use crate::kernel;
use crate::layout::Layout;

/// What is needed to load a machine word that lies a few additions away.
#[inline(always)]
pub(super) fn quick(dtype: &DType, layout: &Layout, index: &[usize]) -> Option<(ScalarKind, isize)> {
    Some((dtype.as_machine_word()?, layout.quick_offset(index)?))
}

/// # Safety
///
/// The layout, of elements of the dtype, reaches from `ptr` only bytes that may be loaded racily.
#[inline(always)]
pub(crate) unsafe fn load_value(
    ptr: NonNull<u8>,
    dtype: &DType,
    layout: &Layout,
    index: &[usize],
) -> Result<Value> {
    if let Some((kind, offset)) = quick(dtype, layout, index) {
        // SAFETY: one element (the caller's word).
        if let Some(value) = unsafe { Value::load_word(kind, ptr.as_ptr().wrapping_offset(offset)) } {
            return Ok(value);
        }
    }
    let mut value = NO_VALUE;
    // SAFETY: the caller's word.
    unsafe { load_any(ptr, dtype, layout, index, &mut value) }?;
    Ok(value)
}

/// What is there before a slow way writes its value. A slow way that returned one would return it
/// in memory, and the compiler would have the quick way's result there, too, written in parts and
/// read as a whole, for which a processor waits.
pub(super) const NO_VALUE: Value = Value::Bool(false);

/// As [`load_value`], for every dtype and layout.
///
/// # Safety
///
/// As for [`load_value`].
#[inline(never)]
pub(super) unsafe fn load_any(
    ptr: NonNull<u8>,
    dtype: &DType,
    layout: &Layout,
    index: &[usize],
    value: &mut Value,
) -> Result<()> {
    // SAFETY: the caller's word; pointers of a table are not written (RawArray 3).
    let element = unsafe { kernel::element_at(ptr.as_ptr(), layout, index) }?;
    // SAFETY: one element (the caller's word).
    *value = unsafe { kernel::load_bytes(element, dtype.itemsize(), |bytes| Value::read(dtype, bytes)) }?;
    Ok(())
}
