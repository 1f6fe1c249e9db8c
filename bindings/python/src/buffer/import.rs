//! The buffer protocol, inwards: an array on the buffer that another object exports.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::{ptr, slice};

use crossdock::DArray;
use crossdock::bindings::pep3118::{Described, Flags, import_to};
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::memory::Birth;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::entry::fetch;
use crate::errors::{self, Raise};
use crate::owner::{Blank, Owner};
use crate::{masked, moment, overlap, records, words};

/// Whether the interpreter knows an object as an exporter of buffers.
#[inline]
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: `object` is a live object, and its `Bound` proves that this thread holds the GIL.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
}

/// The bytes of an object's buffer, which have to lie without gaps.
pub(crate) fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Buffer> {
    let array = lend(object, None)?;
    if !array.is_contiguous(Order::RowMajor) {
        let text = format!("data of shape {:?} with strides {:?} have gaps", array.shape(), array.strides());
        return Err(PyBufferError::new_err(text));
    }
    Ok(array.buffer().raise()?.0)
}

/// An array on an object's buffer. `with` goes after the buffer was released.
pub(crate) fn lend(object: &Bound<'_, PyAny>, with: Option<Owner>) -> PyResult<DArray> {
    let mut place = MaybeUninit::uninit();
    lend_to(&mut place, object, with)?;
    // SAFETY: `lend_to` returned an array, so it initialised the place.
    Ok(unsafe { place.assume_init() })
}

/// As [`lend`], made where it is to stay.
pub(crate) fn lend_to<'a>(
    place: &'a mut MaybeUninit<DArray>,
    object: &Bound<'_, PyAny>,
    with: Option<Owner>,
) -> PyResult<&'a mut DArray> {
    masked::check(object)?;
    let may_ask_again = with.is_none();
    match request_to(place, object, with, Flags::FULL_RO) {
        Ok(array) if records::is_certain(array.dtype()) => {}
        Ok(array) => {
            if let Some(dtype) = known_records(object) {
                describe_as(array, &dtype);
            }
        }
        Err(error) if may_ask_again => {
            let Some(dtype) = known_records(object) else { return Err(error) };
            // NumPy writes no format for some records, and lends their memory without one.
            let array = request_to(place, object, None, Flags::STRIDES)?;
            describe_as(array, &dtype);
        }
        Err(error) => return Err(error),
    }
    // SAFETY: `request_to` returned an array each time, so it initialised the place.
    let array = unsafe { place.assume_init_mut() };
    overlap::protect(array);
    Ok(array)
}

/// The dtype of the records that an object exports, if NumPy says one. Callers may be in
/// [`Called::enter_fast`](crate::entry::Called::enter_fast), which this is not for.
#[cold]
fn known_records(object: &Bound<'_, PyAny>) -> Option<DType> {
    Python::attach(|_| records::of(object).unwrap_or(None))
}

/// Gives the elements the dtype that NumPy itself has for them, if it is of their size.
fn describe_as(array: &mut DArray, dtype: &DType) {
    if array.dtype() != dtype
        && array.dtype().itemsize() == dtype.itemsize()
        && let Ok(described) = array.view_as(dtype)
    {
        *array = described;
    }
}

/// An array on the buffer that an object exports for these flags.
fn request_to<'a>(
    place: &'a mut MaybeUninit<DArray>,
    object: &Bound<'_, PyAny>,
    with: Option<Owner>,
    flags: Flags,
) -> PyResult<&'a mut DArray> {
    let view = Blank::new(object.py());
    // SAFETY: `object` is live, and the `Py_buffer` stays at its address until it is released
    // (Blank 1).
    if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_ptr(), flags.bits()) } != 0 {
        return Err(Python::attach(|py| errors::producer(py, "the buffer", fetch(py))));
    }
    // The exporter owns the memory behind the struct, which must not move until the buffer is
    // released.
    // SAFETY: the struct is initialised, and no other code writes it now (Blank 1).
    let filled = unsafe { &*view.as_ptr() };
    let ffi::Py_buffer { buf, len, itemsize, readonly, ndim, format, shape, strides, suboffsets, .. } =
        *filled;
    // SAFETY: `PyObject_GetBuffer` returned 0 and filled `view`, and only this function has it, so
    // it is released once.
    let owner = unsafe { Owner::buffer(view) };
    // One axis alone may go without a length: that of all items.
    let rank = usize::try_from(ndim).ok().filter(|&rank| rank <= 1 || !shape.is_null());
    let rank = rank.ok_or_else(|| {
        let lengths = if shape.is_null() { "no lengths" } else { "lengths" };
        PyBufferError::new_err(format!("importing a buffer: it has {ndim} axes, and {lengths} of them"))
    })?;
    // SAFETY: PEP 3118: null, or one number for each axis, valid until the buffer is released.
    let numbers = |pointer: *mut isize| unsafe { list(pointer, rank) };
    let described = Described {
        buf: buf.cast(),
        len,
        itemsize,
        format: match format.is_null() {
            true => None,
            // SAFETY: PEP 3118: a C string, valid until the buffer is released.
            false => Some(unsafe { CStr::from_ptr(format) }.to_bytes()),
        },
        // No axes are no numbers, wherever they are.
        shape: if ndim == 0 { Some(&[]) } else { numbers(shape) },
        strides: if ndim == 0 { Some(&[]) } else { numbers(strides) },
        suboffsets: numbers(suboffsets),
    };
    let readonly = readonly != 0;
    let constant = readonly && object.is_exact_instance_of::<PyBytes>();
    let birth = if constant { Birth::Constant } else { Birth::Aliased };
    // SAFETY: PEP 3118: until the owner releases the buffer, the elements and the pointers of an
    // indirect array are where the description says. `bytes` never changes; other exporters may
    // write their memory, which `Birth::Aliased` says.
    let array = unsafe { import_to(place, &described, readonly, birth, move || drop((owner, with))) };
    let array = array.map_err(|error| errors::refusal(&error))?;
    // NumPy exports its dates through buffers only as eight opaque bytes.
    if readonly
        && len == 8
        && *array.dtype() == DType::U8
        && !constant
        && Python::attach(|_| moment::is_scalar(object))?
    {
        // SAFETY: the array was initialised above and nothing else refers to it; after an error the
        // caller does not read the place.
        unsafe { ptr::drop_in_place(array) };
        return Err(PyBufferError::new_err(format!(
            "the buffer of one of NumPy's dates or durations is bytes that do not say so: {}",
            words::COPY_OF_DATE
        )));
    }
    Ok(array)
}

/// # Safety
///
/// The pointer is null, or leads to `len` numbers that outlive the result.
unsafe fn list<'a>(pointer: *mut isize, len: usize) -> Option<&'a [isize]> {
    // SAFETY: not null in this branch, so it leads to `len` numbers that outlive the result.
    if pointer.is_null() { None } else { Some(unsafe { slice::from_raw_parts(pointer, len) }) }
}
