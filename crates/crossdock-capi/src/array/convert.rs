//! Copies, conversions and comparisons: all elements at once.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::Casting;
use crossdock::element::DType;

use crate::array::{XdArray, array_of, hand_over_array, order_of};
use crate::dtype::byte_order_of;
use crate::error::{Failure, Result};
use crate::foreign::{emptied, given};
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;
use crate::value::{XdValue, to_element};

/// `XD_CASTING_CHECKED` of the header.
pub const XD_CASTING_CHECKED: i32 = 0;
/// `XD_CASTING_SATURATING` of the header.
pub const XD_CASTING_SATURATING: i32 = 1;

pub(crate) fn casting_of(number: i32) -> Result<Casting> {
    match number {
        XD_CASTING_CHECKED => Ok(Casting::Checked),
        XD_CASTING_SATURATING => Ok(Casting::Saturating),
        other => Err(Failure::argument(format!(
            "the argument `casting` is {other}; it must be {XD_CASTING_CHECKED} (values that do not fit are \
            errors) or {XD_CASTING_SATURATING} (they become the nearest limit)"
        ))),
    }
}

/// A contiguous copy.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_copy(array: Option<&XdArray>, order: i32, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.to_order(order_of(order)?)?))
}

/// A contiguous copy, converted.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_cast(
    array: Option<&XdArray>,
    dtype: Option<&DType>,
    order: i32,
    casting: i32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let (array, dtype) = (array_of(array, "array")?, given(dtype, "dtype")?);
        hand_over_array(array.cast(dtype, order_of(order)?, casting_of(casting)?)?)
    })
}

/// Writes the elements of another array over those of this one, as if the source were copied first.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_assign(
    array: Option<&XdArray>,
    source: Option<&XdArray>,
    casting: i32,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (array, source) = (array_of(array, "array")?, array_of(source, "source")?);
        array.assign(source, casting_of(casting)?)?;
        Ok(true)
    })
}

/// Writes one value over every element.
///
/// # Safety
///
/// The payload of `value` is what its kind says, and so are its items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_fill(
    array: Option<&XdArray>,
    value: Option<&XdValue>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (array, value) = (array_of(array, "array")?, given(value, "value")?);
        // SAFETY: `# Safety` is the contract of `to_element`: the payload of `value`, and of its
        // items, is what its kind says.
        array.fill(&unsafe { to_element(value, array.dtype()) }?)?;
        Ok(true)
    })
}

/// Whether two arrays have the same shape and equal elements.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_equals(
    array: Option<&XdArray>,
    other: Option<&XdArray>,
    equal: Option<&mut MaybeUninit<bool>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let equal = emptied(equal, false);
        let (array, other) = (array_of(array, "array")?, array_of(other, "other")?);
        *given(equal, "equal")? = array.equals(other)?;
        Ok(true)
    })
}

/// The same values with all numbers in one byte order.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_to_byte_order(
    array: Option<&XdArray>,
    order: c_char,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.to_byte_order(byte_order_of(order)?)?))
}

/// Whether two arrays have the same shape and elements that are close.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_all_close(
    array: Option<&XdArray>,
    other: Option<&XdArray>,
    rtol: f64,
    atol: f64,
    equal_nan: bool,
    close: Option<&mut MaybeUninit<bool>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let close = emptied(close, false);
        let (array, other) = (array_of(array, "array")?, array_of(other, "other")?);
        *given(close, "close")? = array.all_close(other, rtol, atol, equal_nan)?;
        Ok(true)
    })
}

/// The index of the first element that differs.
///
/// # Safety
///
/// `index` is null, or points to as many numbers as the array has axes, which only this call
/// accesses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_first_difference(
    array: Option<&XdArray>,
    other: Option<&XdArray>,
    index: *mut isize,
    differ: Option<&mut MaybeUninit<bool>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let differ = emptied(differ, false);
        let (array, other) = (array_of(array, "array")?, array_of(other, "other")?);
        let differ = given(differ, "differ")?;
        if let Some(found) = array.first_difference(other)? {
            *differ = true;
            if !index.is_null() {
                for (axis, &at) in found.iter().enumerate() {
                    // SAFETY: `# Safety`: the list has a number for each axis.
                    unsafe { index.wrapping_add(axis).write(at.cast_signed()) };
                }
            }
        }
        Ok(true)
    })
}
