//! Arrays over new memory, and over existing buffers.

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};

use crate::array::{XdArray, hand_over_array, order_of};
use crate::foreign::{given, items, lengths};
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;

/// New elements, all zero.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_zeros(
    dtype: Option<&DType>,
    ndim: usize,
    shape: *const isize,
    order: i32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let dtype = given(dtype, "dtype")?;
        // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers, which nothing writes
        // during the call.
        let shape = unsafe { lengths(shape, ndim, "shape") }?;
        hand_over_array(DArray::zeros(dtype.clone(), shape.as_slice(), order_of(order)?)?)
    })
}

/// A buffer with a dtype and a layout.
///
/// # Safety
///
/// `shape` and `strides` are each null or point to `ndim` numbers that nothing writes during the
/// call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_buffer(
    buffer: Option<&Buffer>,
    dtype: Option<&DType>,
    ndim: usize,
    shape: *const isize,
    strides: *const isize,
    offset: usize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let (buffer, dtype) = (given(buffer, "buffer")?, given(dtype, "dtype")?);
        // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers, which nothing writes
        // during the call.
        let shape = unsafe { lengths(shape, ndim, "shape") }?;
        let layout = if strides.is_null() {
            Layout::contiguous(shape.as_slice(), dtype.itemsize(), Order::RowMajor)?
        } else {
            // SAFETY: `# Safety`: `strides`, which is not null here, points to `ndim` numbers,
            // which nothing writes during the call.
            Layout::new(shape.as_slice(), unsafe { items(strides, ndim, "strides") }?, dtype.itemsize())?
        };
        hand_over_array(DArray::from_buffer(buffer.try_clone()?, dtype.clone(), layout, offset)?)
    })
}
