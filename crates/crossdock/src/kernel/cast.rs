//! Conversion of elements from one dtype to another.

use crate::element::{DType, Value};
use crate::error::{Error, Result};
use crate::kernel::{Casting, element_at, load_bytes};
use crate::layout::Layout;
use crate::memory::{count_copied, racy};

/// Converts the elements of one strided array to another dtype, into another array of the same shape. Copies, and counts, as many bytes
/// as the elements have in the dtype that they become.
///
/// # Errors
///
/// `is_value` for the first element, in row-major order, that `casting` refuses, with its index: what comes before it, and no more, was
/// certainly written. `is_layout` for an indirect array.
///
/// # Safety
///
/// `from_layout`, of elements of the dtype `from`, applied at `src`, reaches only bytes that may be loaded racily; `to_layout`, of
/// elements of the dtype `to`, applied at `dst`, only bytes that may be stored racily; the two do not overlap. The shapes are equal.
pub(crate) unsafe fn cast(
    src: *const u8,
    from: &DType,
    from_layout: &Layout,
    dst: *mut u8,
    to: &DType,
    to_layout: &Layout,
    _casting: Casting,
) -> Result<()> {
    let mut bytes = vec![0; to.itemsize()];
    for position in 0..to_layout.len() {
        let index = index_of(from_layout.shape(), position);
        let read = |bytes: &[u8]| Value::read(from, bytes);
        // SAFETY: the caller's word.
        let src = unsafe { element_at(src.cast_mut(), from_layout, &index) }?;
        // SAFETY: the caller's word.
        let dst = unsafe { element_at(dst, to_layout, &index) }?;
        // SAFETY: one element (the caller's word).
        let value = unsafe { load_bytes(src, from.itemsize(), read) }?;
        value.write(to, &mut bytes).map_err(|error| in_element(error, &index))?;
        // SAFETY: its place in the destination (the caller's word).
        unsafe { racy::copy(bytes.as_ptr(), dst, bytes.len()) };
    }
    count_copied(to_layout.nbytes());
    Ok(())
}

/// An error, with the index of the element that it is about, if the array has any axes.
#[cold]
pub(super) fn in_element(error: Error, index: &[usize]) -> Error {
    if index.is_empty() { error } else { error.within(format_args!("element {index:?}")) }
}

/// The index of the element that comes `position`-th in row-major order.
pub(crate) fn index_of(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    }
    index
}
