//! Properties of an array.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

use crossdock::bindings::explain;
use crossdock::buffer::Buffer;
use crossdock::element::DType;

use crate::array::{XdArray, array_of, order_of};
use crate::backing::{XD_BACKING_OTHER, backing_of, number_of_birth};
use crate::error::Failure;
use crate::foreign::{emptied, shown, string, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::lease::Lease;

/// The number of axes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_ndim(array: Option<&XdArray>) -> usize {
    answer(|| array.map_or(0, |array| array.array().rank()))
}

/// The lengths of the axes. Valid as long as the array.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_shape(array: Option<&XdArray>) -> *const isize {
    // No length exceeds `isize::MAX`, so the cast keeps its value.
    answer(|| array.map_or(ptr::null(), |array| array.array().shape().as_ptr().cast()))
}

/// The strides in bytes. Valid as long as the array.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_strides(array: Option<&XdArray>) -> *const isize {
    answer(|| array.map_or(ptr::null(), |array| array.array().strides().as_ptr()))
}

/// The dtype. Valid as long as the array, and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_dtype(array: Option<&XdArray>) -> *const DType {
    answer(|| array.map_or(ptr::null(), |array| array.array().dtype()))
}

/// The number of elements.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_len(array: Option<&XdArray>) -> usize {
    answer(|| array.map_or(0, |array| array.array().len()))
}

/// The bytes of all elements, without gaps.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_nbytes(array: Option<&XdArray>) -> usize {
    answer(|| array.map_or(0, |array| array.array().nbytes()))
}

/// Whether this handle is read-only.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_is_readonly(array: Option<&XdArray>) -> bool {
    answer(|| array.is_some_and(|array| array.array().is_readonly()))
}

/// Whether elements are reached through tables of pointers.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_is_indirect(array: Option<&XdArray>) -> bool {
    answer(|| array.is_some_and(|array| array.array().is_indirect()))
}

/// Whether the elements are contiguous in this order.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_is_contiguous(array: Option<&XdArray>, order: i32) -> bool {
    answer(|| match (array, order_of(order)) {
        (Some(array), Ok(order)) => array.array().is_contiguous(order),
        _ => false,
    })
}

/// The address of element 0. It grants no access.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_address(array: Option<&XdArray>) -> usize {
    answer(|| array.map_or(0, |array| array.array().as_ptr().addr()))
}

/// The bytes from the lowest to the highest that the array reaches, and the offset of element 0 in
/// them.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_buffer(
    array: Option<&XdArray>,
    offset: Option<&mut MaybeUninit<usize>>,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || {
        let offset = emptied(offset, 0);
        let (buffer, first) = array_of(array, "array")?.buffer()?;
        let handle = hand_over(buffer)?;
        if let Some(offset) = offset {
            *offset = first;
        }
        Ok(handle)
    })
}

/// A lease of the elements.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_lease(array: Option<&XdArray>, kind: i32, error: ErrorOut<'_>) -> Handle<Lease> {
    fallible(error, || hand_over(Lease::of_array(array_of(array, "array")?, kind)?))
}

/// The elements as text. Long axes are elided in the middle.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_to_text(array: Option<&XdArray>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || shown(array_of(array, "array")?.display()))
}

/// The protocols that export the array, and what consumers in other libraries do with it: in all
/// libraries where `library` is null.
///
/// # Safety
///
/// `library` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_explain(
    array: Option<&XdArray>,
    library: *const c_char,
    error: ErrorOut<'_>,
) -> *mut c_char {
    fallible(error, || {
        let array = array_of(array, "array")?;
        let library = match library.is_null() {
            true => None,
            // SAFETY: `# Safety`: `library`, which is not null here, is a C string; the result is
            // used during this call only, while nothing writes it.
            false => Some(unsafe { text(library, "library") }?),
        };
        if let Some(library) = library
            && explain::profiles().all(|profile| profile.library != library)
        {
            let mut known: Vec<_> = explain::profiles().map(|profile| profile.library).collect();
            known.sort_unstable();
            known.dedup();
            let known = known.join(", ");
            return Err(Failure::argument(format!(
                "the argument `library` is {library:?}, which is not known; known are {known}"
            )));
        }
        string(explain::text(array, library))
    })
}

/// The kind of memory; `XD_BACKING_OTHER` for null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_backing(array: Option<&XdArray>) -> i32 {
    answer(|| array.map_or(XD_BACKING_OTHER, |array| backing_of(array.array().backing())))
}

/// Which other parties may access the memory; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_birth(array: Option<&XdArray>) -> i32 {
    answer(|| array.map_or(0, |array| number_of_birth(array.array().birth())))
}

/// Whether no mapped file behind the elements has shrunk.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_is_whole(array: Option<&XdArray>, error: ErrorOut<'_>) -> bool {
    fallible(error, || match array_of(array, "array")?.fault() {
        Some(fault) => Err(fault.into()),
        None => Ok(true),
    })
}
