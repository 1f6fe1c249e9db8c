//! Arrays of any dtype and rank: memory, dtype and layout behind one handle.

pub mod axes;
pub mod convert;
pub mod element;
pub mod make;
pub mod query;
pub mod view;

use std::fmt;

use crossdock::DArray;
use crossdock::bindings::memory_view::ArrayObject;
use crossdock::layout::Order;

use crate::error::{Failure, Result};
use crate::foreign::given;
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};

/// `XD_ROW_MAJOR` of the header.
pub const XD_ROW_MAJOR: i32 = 1;
/// `XD_COLUMN_MAJOR` of the header.
pub const XD_COLUMN_MAJOR: i32 = 2;

/// `xd_array_t`: an array, and an object of which views can be requested.
pub type XdArray = ArrayObject;

/// The array of an argument that must not be null.
///
/// # Errors
///
/// As [`given`].
pub(crate) fn array_of(argument: Option<&XdArray>, name: impl fmt::Display) -> Result<&DArray> {
    Ok(given(argument, name)?.array())
}

/// Moves an array into a handle that C owns.
///
/// # Errors
///
/// As [`hand_over`].
pub(crate) fn hand_over_array(array: DArray) -> Result<Handle<XdArray>> {
    hand_over(ArrayObject::new(array))
}

pub(crate) fn order_of(number: i32) -> Result<Order> {
    match number {
        XD_ROW_MAJOR => Ok(Order::RowMajor),
        XD_COLUMN_MAJOR => Ok(Order::ColumnMajor),
        other => Err(Failure::argument(format!(
            "the argument `order` is {other}; it must be {XD_ROW_MAJOR} (row-major) or {XD_COLUMN_MAJOR} \
            (column-major)"
        ))),
    }
}

/// Another handle.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_clone(array: Option<&XdArray>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.clone()))
}

/// A read-only handle on the same elements.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_readonly(array: Option<&XdArray>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.clone().into_readonly()))
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_free(array: Handle<XdArray>) {
    answer(|| drop(array));
}

/// A handle on the same elements whose views approximate dtypes that no template describes by plain
/// numbers.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_approximated(array: Option<&XdArray>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || hand_over(ArrayObject::approximated(array_of(array, "array")?.clone())))
}
