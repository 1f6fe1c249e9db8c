//! Arrays on the memory of other objects: the buffer protocol and DLPack, inwards.

use std::ffi::CStr;
use std::slice;

use crossdock::DArray;
use crossdock::array::CopyPolicy;
use crossdock::exchange::protocol::pep3118::{Described, Flags, import};
use crossdock::memory::Birth;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::dlpack;
use crate::entry::fetch;
use crate::errors;
use crate::functions::copied;
use crate::memory;
use crate::owner::Owner;

/// An array, and why it is a copy where none was asked for.
pub(crate) struct Taken {
    pub(crate) array: DArray,
    pub(crate) copied_because: Option<String>,
}

/// An array of an object's elements: on its memory, or a copy where the policy says so.
pub(crate) fn take(object: &Bound<'_, PyAny>, policy: CopyPolicy) -> PyResult<Taken> {
    let in_place = lend(object);
    let array = match (in_place, policy) {
        (Ok(array), CopyPolicy::Always) => copied(object.py(), &array)?,
        (Ok(array), _) => array,
        (Err(error), CopyPolicy::Never) => return Err(error),
        (Err(error), policy) => {
            // What has no memory of its own to share has elements all the same.
            let array = crate::nested::read(object, None).map_err(|_| error.clone_ref(object.py()))?;
            let because = (policy == CopyPolicy::IfNeeded).then(|| error.value(object.py()).to_string());
            return Ok(Taken { array, copied_because: because });
        }
    };
    Ok(Taken { array, copied_because: None })
}

/// An array on an object's memory.
fn lend(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    if let Some(array) = memory::lent(object) {
        return array;
    }
    // SAFETY: an object, and the interpreter is held.
    if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0 {
        let error = match buffer(object) {
            Ok(array) => return Ok(array),
            Err(error) => error,
        };
        // There are those whose elements buffers cannot say, and DLPack can.
        return match dlpack::is_offered(object)? {
            true => dlpack::import(object, None, None).map_err(|_| error),
            false => Err(error),
        };
    }
    if dlpack::is_offered(object)? {
        return dlpack::import(object, None, None);
    }
    let name = object.get_type().qualname()?;
    Err(PyTypeError::new_err(format!(
        "{name} shares no memory: it has neither a buffer (PEP 3118) nor __dlpack__; crossdock.array copies what has elements"
    )))
}

/// An array on an object's buffer.
fn buffer(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let py = object.py();
    let mut view = Box::new(ffi::Py_buffer::new());
    // SAFETY: an object, and a struct that stays where it is until it is released.
    if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, Flags::FULL_RO.bits()) } != 0 {
        let error = fetch(py);
        if error.is_instance_of::<PyBufferError>(py) {
            return Err(error);
        }
        let text = format!("the buffer was refused: {}", error.value(py));
        let refused = PyBufferError::new_err(text);
        refused.set_cause(py, Some(error));
        return Err(refused);
    }
    // What it points to is the exporter's, and stays where it is until the buffer is released.
    let ffi::Py_buffer { buf, len, itemsize, readonly, ndim, format, shape, strides, suboffsets, .. } = *view;
    // SAFETY: just filled in.
    let owner = unsafe { Owner::buffer(view) };
    // One axis alone may go without a length: that of all items.
    let rank = usize::try_from(ndim).ok().filter(|&rank| rank <= 1 || !shape.is_null());
    let rank = rank.ok_or_else(|| {
        let lengths = if shape.is_null() { "no lengths" } else { "lengths" };
        PyBufferError::new_err(format!("importing a buffer: it has {ndim} axes, and {lengths} of them"))
    })?;
    // SAFETY: null, or as many numbers as there are axes, until the buffer is released (the protocol's word).
    let numbers = |pointer: *mut isize| unsafe { list(pointer, rank) };
    let described = Described {
        buf: buf.cast(),
        len,
        itemsize,
        format: match format.is_null() {
            true => None,
            // SAFETY: a C string, until the buffer is released (the protocol's word).
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
    // SAFETY: until the owner gives the buffer back, the elements are memory to be used so, and pointers lead on as they say (the
    // protocol's word). Nobody writes what `bytes` has; what others have, they write by instructions of their own, of which this
    // program's memory model knows nothing.
    let array = unsafe { import(&described, readonly, birth, move || drop(owner)) };
    array.map_err(|error| errors::refusal(&error))
}

/// # Safety
///
/// Null, or so many numbers that outlive the result.
unsafe fn list<'a>(pointer: *mut isize, len: usize) -> Option<&'a [isize]> {
    // SAFETY: the caller's word.
    if pointer.is_null() { None } else { Some(unsafe { slice::from_raw_parts(pointer, len) }) }
}
