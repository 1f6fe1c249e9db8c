//! The buffer protocol, outwards: `bf_getbuffer` and `bf_releasebuffer`.

use std::ffi::c_int;
use std::ptr;

use crossdock::DArray;
use crossdock::bindings::explain::misread_format;
use crossdock::bindings::pep3118::Flags;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::{PyErr, Python};

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

/// `this` is the array behind the object. Small, so that a consumer's own code stays in the caches
/// of instructions: most ask for all parts, of an array that was described before.
#[inline(always)]
fn fill(this: &Own, object: *mut ffi::PyObject, view: Option<&mut ffi::Py_buffer>, flags: Flags) -> c_int {
    let Some(view) = view else { return fail(no_address) };
    // Cleared first: a release after a refused request must find no object.
    view.obj = ptr::null_mut();
    let readonly = this.array.is_readonly();
    let wanted = if readonly { flags.bits() } else { flags.bits() & !Flags::WRITABLE.bits() };
    match this.exports.plain() {
        Some(parts) if wanted == Flags::FULL_RO.bits() => {
            view.buf = this.array.as_ptr().cast_mut().cast();
            view.len = parts.len;
            view.itemsize = parts.itemsize;
            view.readonly = c_int::from(readonly);
            view.ndim = parts.ndim;
            view.format = parts.format.cast_mut();
            view.shape = parts.shape.cast_mut();
            view.strides = parts.strides.cast_mut();
            view.suboffsets = ptr::null_mut();
            view.internal = ptr::null_mut();
        }
        _ => {
            if let Err(error) = fill_parts(this, view, flags) {
                return fail(|_| error);
            }
        }
    }
    // Last: the atomic step of the lease waits for the stores before it and holds up the loads
    // after it.
    if let Err(error) = this.exports.begin(&this.array) {
        return fail(|_| errors::refusal(&error));
    }
    // SAFETY: `object` is the live object behind `this`, to which the caller holds a reference, and
    // the GIL is held.
    unsafe { ffi::Py_INCREF(object) };
    view.obj = object;
    0
}

#[cold]
fn no_address(_: Python<'_>) -> PyErr {
    PyBufferError::new_err("the address for the buffer is null")
}

/// Fills in the parts that a consumer with these flags gets, all but the object.
#[inline(never)]
fn fill_parts(this: &Own, view: &mut ffi::Py_buffer, flags: Flags) -> Result<(), PyErr> {
    let array = &this.array;
    let refused = |error| Python::attach(|_| errors::refusal(&error));
    let given = flags.given(array.layout(), array.is_readonly()).map_err(refused)?;
    let parts = this.exports.describe(array).map_err(refused)?;
    if let Some(why) = misread_format(array.dtype()).filter(|_| given.format) {
        return Err(Python::attach(|_| misread(array, why)));
    }
    let part = |there: bool, pointer: *const isize| if there { pointer.cast_mut() } else { ptr::null_mut() };
    view.buf = array.as_ptr().cast_mut().cast();
    view.len = parts.len;
    view.itemsize = parts.itemsize;
    view.readonly = c_int::from(array.is_readonly());
    view.ndim = if given.shape { parts.ndim } else { 1 };
    view.format = if given.format { parts.format.cast_mut() } else { ptr::null_mut() };
    view.shape = part(given.shape, parts.shape);
    view.strides = part(given.strides, parts.strides);
    view.suboffsets = part(given.suboffsets, parts.suboffsets);
    view.internal = ptr::null_mut();
    Ok(())
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
