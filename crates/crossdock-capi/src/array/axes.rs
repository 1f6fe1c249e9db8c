//! Views with other axes, zero-copy.

use crate::array::{XdArray, array_of, hand_over_array, order_of};
use crate::export::policy_of;
use crate::foreign::lengths;
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;

/// Two axes in each other's place.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_swap_axes(
    array: Option<&XdArray>,
    a: usize,
    b: usize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.swap_axes(a, b)?))
}

/// An axis in another place.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_move_axis(
    array: Option<&XdArray>,
    from: usize,
    to: usize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.move_axis(from, to)?))
}

/// A new axis of length 1.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_insert_axis(
    array: Option<&XdArray>,
    axis: usize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.insert_axis(axis)?))
}

/// One index of an axis, without the axis.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_drop_axis(
    array: Option<&XdArray>,
    axis: usize,
    index: usize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.drop_axis(axis, index)?))
}

/// No axes of length 1.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_squeeze(array: Option<&XdArray>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.squeeze()?))
}

/// An axis backwards.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_reverse(
    array: Option<&XdArray>,
    axis: usize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.reverse(axis)?))
}

/// A diagonal of two axes, which becomes the last axis.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_diagonal(
    array: Option<&XdArray>,
    first: usize,
    second: usize,
    offset: isize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.diagonal(first, second, offset)?))
}

/// One axis, in row-major order.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_flatten(array: Option<&XdArray>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.flatten()?))
}

/// All windows of a shape: further axes.
///
/// # Safety
///
/// `window` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_windows(
    array: Option<&XdArray>,
    ndim: usize,
    window: *const isize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let array = array_of(array, "array")?;
        // SAFETY: `# Safety`: null, or `ndim` numbers that nothing writes during the call.
        let window = unsafe { lengths(window, ndim, "window") }?;
        hand_over_array(array.windows(window.as_slice())?)
    })
}

/// The array divided into blocks: further axes.
///
/// # Safety
///
/// `block` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_blocks(
    array: Option<&XdArray>,
    ndim: usize,
    block: *const isize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let array = array_of(array, "array")?;
        // SAFETY: `# Safety`: null, or `ndim` numbers that nothing writes during the call.
        let block = unsafe { lengths(block, ndim, "block") }?;
        hand_over_array(array.blocks(block.as_slice())?)
    })
}

/// Another shape, in an order, copied if the flags permit it.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_reshape_with(
    array: Option<&XdArray>,
    ndim: usize,
    shape: *const isize,
    order: i32,
    flags: u32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let array = array_of(array, "array")?;
        // SAFETY: `# Safety`: null, or `ndim` numbers that nothing writes during the call.
        let shape = unsafe { lengths(shape, ndim, "shape") }?;
        hand_over_array(array.reshape_with(shape.as_slice(), order_of(order)?, policy_of(flags, 0)?)?)
    })
}
