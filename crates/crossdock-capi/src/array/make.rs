//! Arrays over new memory, and over existing buffers.

use std::ffi::c_char;

use crossdock::DArray;
use crossdock::array::ArrayOptions;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};

use crate::array::{XdArray, hand_over_array, order_of};
use crate::error::Result;
use crate::foreign::{given, items, lengths};
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;
use crate::save::named;
use crate::value::{XdValue, to_element};

/// New elements, all zero, in the place or pool of the options.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
pub(crate) unsafe fn zeros(
    dtype: Option<&DType>,
    ndim: usize,
    shape: *const isize,
    order: i32,
    options: ArrayOptions,
) -> Result<Handle<XdArray>> {
    let dtype = given(dtype, "dtype")?.clone();
    // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers, which nothing writes during
    // the call.
    let shape = unsafe { lengths(shape, ndim, "shape") }?;
    hand_over_array(DArray::zeros(dtype, shape.as_slice(), options.order(order_of(order)?))?)
}

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
    // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers that nothing writes during
    // the call.
    fallible(error, || unsafe { zeros(dtype, ndim, shape, order, ArrayOptions::new()) })
}

/// New elements, all of one value.
///
/// # Safety
///
/// 1. `shape` is null or points to `ndim` numbers that nothing writes during the call.
/// 2. The payload of `value` is what its kind says, and so are its items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_full(
    dtype: Option<&DType>,
    ndim: usize,
    shape: *const isize,
    value: Option<&XdValue>,
    order: i32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let (dtype, value) = (given(dtype, "dtype")?, given(value, "value")?);
        // SAFETY: clause 1: null, or `ndim` numbers that nothing writes during the call.
        let shape = unsafe { lengths(shape, ndim, "shape") }?;
        // SAFETY: clause 2 is the contract of `to_element`.
        let value = unsafe { to_element(value, dtype) }?;
        hand_over_array(DArray::full(dtype.clone(), shape.as_slice(), value, order_of(order)?)?)
    })
}

/// Arrays of one shape as the fields of records, copied.
///
/// # Safety
///
/// During the call, nothing writes what the pointers lead to: `names` is null or a list of `count`
/// pointers, each null or to a C string; `arrays` is null or a list of `count` handles, each null
/// or an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_columns(
    count: usize,
    names: *const *const c_char,
    arrays: *const Option<&XdArray>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        if count > 0 {
            given(std::ptr::NonNull::new(names.cast_mut()), "names")?;
        }
        // SAFETY: `# Safety` is that of `named`.
        let columns = unsafe { named(count, names, arrays) }?;
        let columns: Vec<_> = columns.iter().map(|(name, array)| (*name, array)).collect();
        hand_over_array(DArray::from_columns(&columns)?)
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
