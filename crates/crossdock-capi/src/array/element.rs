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
/// `index` is null or points to as many numbers as the array has axes, which nothing writes during
/// the call.
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
        // SAFETY: `# Safety`: `index` is null or points to `array.rank()` numbers, which nothing
        // writes during the call.
        let index = unsafe { lengths(index, array.rank(), "index") }?;
        *value = Owned::of(array.get(index.as_slice())?)?.into_c();
        Ok(true)
    })
}

/// Writes one element.
///
/// # Safety
///
/// 1. `index` is null or points to as many numbers as the array has axes, which nothing writes
///    during the call.
/// 2. The payload of `value` is what its kind says, and so are its items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_set(
    array: Option<&XdArray>,
    index: *const isize,
    value: Option<&XdValue>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (array, value) = (array_of(array, "array")?, given(value, "value")?);
        // SAFETY: clause 1 of `# Safety`: `index` is null or points to `array.rank()` numbers,
        // which nothing writes during the call.
        let index = unsafe { lengths(index, array.rank(), "index") }?;
        // SAFETY: clause 2 of `# Safety` is the contract of `to_element`: the payload of `value`,
        // and of its items, is what its kind says.
        let value = unsafe { to_element(value, array.dtype()) }?;
        array.set(index.as_slice(), &value)?;
        Ok(true)
    })
}
