//! Conversion of elements from one dtype to another.

use crate::element::{DType, Value};
use crate::error::Result;
use crate::kernel::{load_bytes, ordered};
use crate::layout::{Layout, Order};
use crate::memory::{count_copied, racy};

/// Converts the elements of a strided array, one by one and with a check, to contiguous memory in an order of their own. Copies,
/// and counts, as many bytes as the elements have in the dtype that they become.
///
/// # Errors
///
/// `is_value` for the first element, in that order, that does not fit, with its index; `is_layout` for an indirect array.
///
/// # Safety
///
/// `layout`, of elements of the dtype `from`, applied at `src`, reaches only bytes that may be loaded racily;
/// `layout.numel()` elements of the dtype `to` may be stored racily at `dst`; the two do not overlap.
pub(crate) unsafe fn cast(
    src: *const u8,
    from: &DType,
    layout: &Layout,
    dst: *mut u8,
    to: &DType,
    order: Order,
) -> Result<()> {
    let offsets = ordered(layout, order)?.offsets()?;
    let mut bytes = vec![0; to.itemsize()];
    for (position, offset) in offsets.enumerate() {
        let read = |bytes: &[u8]| Value::read(from, bytes);
        // SAFETY: one element (the caller's word).
        let value = unsafe { load_bytes(src.wrapping_offset(offset), from.itemsize(), read) }?;
        value.write(to, &mut bytes).map_err(|error| {
            error.within(format_args!("element {:?}", index_of(layout.shape(), position, order)))
        })?;
        // SAFETY: its place in the destination (the caller's word).
        unsafe { racy::copy(bytes.as_ptr(), dst.wrapping_add(position * bytes.len()), bytes.len()) };
    }
    count_copied(layout.numel() * to.itemsize());
    Ok(())
}

/// The index of the element that comes `position`-th in an order.
#[cold]
fn index_of(shape: &[usize], mut position: usize, order: Order) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    let mut place = |axis: usize| {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    };
    match order {
        Order::RowMajor => (0..shape.len()).rev().for_each(&mut place),
        Order::ColumnMajor => (0..shape.len()).for_each(&mut place),
    }
    index
}
