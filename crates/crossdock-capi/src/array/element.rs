//! One element at a time, by value.

use std::mem::MaybeUninit;

use crate::array::{XdArray, array_of};
use crate::foreign::{emptied, given, lengths};
use crate::guard::{ErrorOut, fallible};
use crate::value::{Owned, XdValue, to_element};

/// One element.
///
/// # Safety
///
/// As the header says of lists: there are as many indices as the array has axes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_get(
    array: Option<&XdArray>,
    index: *const isize,
    value: Option<&mut MaybeUninit<XdValue>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let value = emptied(value, XdValue::NIL);
        let (array, value) = (array_of(array, "array")?, given(value, "value")?);
        // SAFETY: the caller's word.
        let index = unsafe { lengths(index, array.rank(), "index") }?;
        *value = Owned::of(array.get(index.as_slice())?)?.into_c();
        Ok(true)
    })
}

/// Writes one element.
///
/// # Safety
///
/// As for [`xd_array_get`], and what the value's kind says of it is true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_set(
    array: Option<&XdArray>,
    index: *const isize,
    value: Option<&XdValue>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (array, value) = (array_of(array, "array")?, given(value, "value")?);
        // SAFETY: the caller's word.
        let index = unsafe { lengths(index, array.rank(), "index") }?;
        // SAFETY: the caller's word.
        let value = unsafe { to_element(value, array.dtype()) }?;
        array.set(index.as_slice(), &value)?;
        Ok(true)
    })
}
