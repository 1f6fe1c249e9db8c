//! The buffer protocol, outwards: `bf_getbuffer` and `bf_releasebuffer`.

use std::ffi::c_int;
use std::ptr;

use crossdock::DArray;
use crossdock::bindings::pep3118::Flags;
use pyo3::PyErr;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;

use crate::entry::{Called, fail};
use crate::errors;
use crate::object::{Own, this};

#[cold]
fn misread(array: &DArray, why: &str) -> PyErr {
    PyBufferError::new_err(format!(
        "{why}, and these are elements of {}: numpy.asarray(x) gives them in place, and x.tobytes() their bytes",
        array.dtype()
    ))
}

/// `bf_getbuffer`.
///
/// # Safety
///
/// 1. The interpreter calls this slot, with the GIL held until it returns.
/// 2. `object` is an object of the type.
pub(crate) unsafe extern "C" fn get(
    object: *mut ffi::PyObject,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: clause 1 of `# Safety`: the interpreter called this slot with the GIL held.
    let called = unsafe { Called::new() };
    // SAFETY: clause 2 of `# Safety`: `object` is of the type; the interpreter keeps it alive until
    // the slot returns.
    let this = unsafe { this(object) };
    // SAFETY: PEP 3118: null, or a struct that belongs to this function during the call.
    let view = unsafe { view.as_mut() };
    called.enter_fast(|_| fill(this, object, view, Flags::from_bits(flags)))
}

/// `this` is the array behind the object.
#[inline(always)]
fn fill(this: &Own, object: *mut ffi::PyObject, view: Option<&mut ffi::Py_buffer>, flags: Flags) -> c_int {
    let Some(view) = view else {
        return fail(|_| PyBufferError::new_err("the address for the buffer is null"));
    };
    // Cleared first: a release after a refused request must find no object.
    view.obj = ptr::null_mut();
    let array = &this.array;
    let given = match flags.given(array.layout(), array.is_readonly()) {
        Ok(given) => given,
        Err(error) => return fail(|_| errors::refusal(&error)),
    };
    let parts = match this.exports.describe(array) {
        Ok(parts) => parts,
        Err(error) => return fail(|_| errors::refusal(&error)),
    };
    if let Some(why) = parts.misread.filter(|_| given.format) {
        return fail(|_| misread(array, why));
    }
    let readonly = match this.exports.begin(array) {
        Ok(readonly) => readonly,
        Err(error) => return fail(|_| errors::refusal(&error)),
    };
    let part = |there: bool, pointer: *const isize| if there { pointer.cast_mut() } else { ptr::null_mut() };
    view.buf = array.as_ptr().cast_mut().cast();
    view.len = array.nbytes().cast_signed();
    view.itemsize = array.layout().itemsize().cast_signed();
    view.readonly = c_int::from(readonly);
    view.ndim = if given.shape { array.rank() as c_int } else { 1 };
    view.format = if given.format { parts.format.cast_mut() } else { ptr::null_mut() };
    view.shape = part(given.shape, parts.shape);
    view.strides = part(given.strides, parts.strides);
    view.suboffsets = part(given.suboffsets, parts.suboffsets);
    view.internal = ptr::null_mut();
    // SAFETY: `object` is the live object behind `this`, to which the caller holds a reference, and
    // the GIL is held.
    unsafe { ffi::Py_INCREF(object) };
    view.obj = object;
    0
}

/// `bf_releasebuffer`.
///
/// # Safety
///
/// 1. The interpreter calls this slot once for each buffer that [`get`] filled in, with the GIL
///    held.
/// 2. `object` is an object of the type.
pub(crate) unsafe extern "C" fn release(object: *mut ffi::PyObject, _: *mut ffi::Py_buffer) {
    // SAFETY: clause 2 of `# Safety`: `object` is of the type, and alive. Dropping the lease frees
    // no memory here: the object still has a handle.
    unsafe { this(object) }.exports.end();
}
