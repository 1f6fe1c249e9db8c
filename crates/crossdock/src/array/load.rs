//! Loads one element as a value from an address, a dtype and a layout.

use std::ptr::NonNull;

use crate::element::{DType, ScalarKind, Value};
use crate::error::Result;
use crate::kernel;
use crate::layout::Layout;

/// The kind and the offset of an element that is a machine word at an easily computed offset.
#[inline(always)]
pub(super) fn quick(dtype: &DType, layout: &Layout, index: &[usize]) -> Option<(ScalarKind, isize)> {
    Some((dtype.as_machine_word()?, layout.quick_offset(index)?))
}

/// # Safety
///
/// 1. `layout`, of elements of `dtype`, reaches from `ptr` only bytes that may be loaded racily.
/// 2. Pointers that `layout` follows from `ptr` may be read, and are never written.
#[inline(always)]
pub(crate) unsafe fn load_value(
    ptr: NonNull<u8>,
    dtype: &DType,
    layout: &Layout,
    index: &[usize],
) -> Result<Value> {
    if let Some((kind, offset)) = quick(dtype, layout, index) {
        // SAFETY: `quick` returned the offset of an element of `kind`, whose bytes may be loaded
        // racily (clause 1 of `# Safety`).
        if let Some(value) = unsafe { Value::load_word(kind, ptr.as_ptr().wrapping_offset(offset)) } {
            return Ok(value);
        }
    }
    let mut value = NO_VALUE;
    // SAFETY: `layout` reaches from `ptr` only bytes that may be loaded racily (clause 1 of `#
    // Safety`), and follows only pointers that are never written (clause 2).
    unsafe { load_any(ptr, dtype, layout, index, &mut value) }?;
    Ok(value)
}

/// The initial value that the slow path overwrites. A slow path that returned a `Value` would
/// return it in memory; the compiler would then put the quick path's result there too, written in
/// parts and read as a whole, which stalls store forwarding.
pub(super) const NO_VALUE: Value = Value::Bool(false);

/// [`load_value`] for every dtype and layout, without the quick path.
///
/// # Safety
///
/// 1. `layout`, of elements of `dtype`, reaches from `ptr` only bytes that may be loaded racily.
/// 2. Pointers that `layout` follows from `ptr` may be read, and are never written.
#[inline(never)]
pub(super) unsafe fn load_any(
    ptr: NonNull<u8>,
    dtype: &DType,
    layout: &Layout,
    index: &[usize],
    value: &mut Value,
) -> Result<()> {
    // SAFETY: clause 2 of `# Safety`: the pointers that `layout` follows from `ptr` may be read,
    // and are never written.
    let element = unsafe { kernel::element_at(ptr.as_ptr(), layout, index) }?;
    // SAFETY: `element` is the address of an element of `itemsize` bytes, which may be loaded
    // racily (clause 1 of `# Safety`).
    *value = unsafe { kernel::load_bytes(element, dtype.itemsize(), |bytes| Value::read(dtype, bytes)) }?;
    Ok(())
}
