//! The elements of an array as the bytes of a file: contiguous, in an order.

use std::io::Write;

use crate::array::DArray;
use crate::error::Result;
use crate::exchange::files::new_file::put;
use crate::layout::{AxisSlice, Layout, Order};
use crate::memory::{LeaseKind, count_copied};

/// The bytes that are gathered before a write: enough to amortise the call, few enough to stay in
/// the cache.
const CHUNK: usize = 256 << 10;

/// Writes the elements in this order. Copies, and counts, [`DArray::nbytes`]; never more than 256
/// KiB (or one element) of them at a time. Errors: `is_io`, `is_conflict` while another party holds
/// Write, `is_place` on a device.
pub(super) fn write(writer: &mut impl Write, array: &DArray, order: Order) -> Result<()> {
    // Held until the end, so that no other party takes Write between two chunks.
    let _pin = array.lease(LeaseKind::Pin)?;
    if array.layout().is_contiguous(order)
        && let Ok(bytes) = array.buffer()?.0.read()
    {
        put(writer, &bytes)?;
        count_copied(bytes.len());
        return Ok(());
    }
    gathered(writer, array, order)
}

/// Like `write`, for elements that have gaps, or that another party may write meanwhile. Halves the
/// slowest axis until a piece fits the chunk.
fn gathered(writer: &mut impl Write, array: &DArray, order: Order) -> Result<()> {
    let is_long = |&len: &usize| len > 1;
    let slowest = match order {
        Order::RowMajor => array.shape().iter().position(is_long),
        Order::ColumnMajor => array.shape().iter().rposition(is_long),
    };
    let Some(axis) = slowest.filter(|_| array.nbytes() > CHUNK) else {
        let (piece, _) = array.to_order(order)?.buffer()?;
        return put(writer, &piece.read()?);
    };
    let half = Some((array.shape()[axis] / 2) as isize);
    for (start, stop) in [(None, half), (half, None)] {
        let mut slices = vec![AxisSlice::ALL; axis];
        slices.extend([AxisSlice::Range { start, stop, step: 1 }, AxisSlice::Ellipsis]);
        gathered(writer, &array.slice(slices)?, order)?;
    }
    Ok(())
}

/// Adds the axes of a sub-array after those of the array, in place: for formats whose elements have
/// no axes.
pub(super) fn with_plain_elements(array: &DArray) -> Result<DArray> {
    let Some(subarray) = array.dtype().as_subarray() else { return Ok(array.clone()) };
    let base = subarray.base().clone();
    let inner = Layout::contiguous(subarray.shape(), base.itemsize(), Order::RowMajor)?;
    let layout = array.layout().with_inner(&inner)?;
    let (buffer, offset) = array.buffer()?;
    DArray::from_buffer(buffer, base, layout, offset)
}
