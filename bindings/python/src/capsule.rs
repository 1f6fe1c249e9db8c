//! Capsules: pointers that travel through Python under a name.

use std::ffi::{CStr, c_void};

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::entry::{Attached, fetch};

/// A capsule around a pointer that is not null, with what is called when nobody has the capsule any more.
pub(crate) fn capsule<'py, T>(
    py: Python<'py>,
    pointer: *mut T,
    name: Option<&'static CStr>,
    destructor: Option<unsafe extern "C" fn(*mut ffi::PyObject)>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = name.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: a pointer, a name that is null or static, and a destructor for it.
    let made = unsafe { ffi::PyCapsule_New(pointer.cast(), name, destructor) };
    // SAFETY: a new reference, or null with an exception. (What it leads to stays on loan then, for there is no memory for a capsule.)
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// What a capsule leads to that still has its first name.
///
/// # Safety
///
/// An object, while the interpreter is held.
pub(crate) unsafe fn pointer<T>(capsule: *mut ffi::PyObject, name: Option<&CStr>) -> Option<*mut T> {
    let name = name.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: the caller's word.
    if unsafe { ffi::PyCapsule_IsValid(capsule, name) } == 0 {
        return None;
    }
    // SAFETY: valid under this name, as just checked.
    let pointer: *mut c_void = unsafe { ffi::PyCapsule_GetPointer(capsule, name) };
    Some(pointer.cast())
}

/// Gives a capsule another name.
pub(crate) fn rename(py: Python<'_>, capsule: &Bound<'_, PyAny>, name: &'static CStr) -> PyResult<()> {
    // SAFETY: an object, and a static name; what is no capsule is an exception.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name.as_ptr()) } != 0 {
        return Err(fetch(py));
    }
    Ok(())
}

/// What is handed over in a box: moved out by a consumer who marks it, or given back with the capsule.
pub(crate) trait Boxed {
    const NAME: &'static CStr;

    /// Gives back what is still there.
    fn release(&mut self);
}

/// A capsule around a struct, which consumers move out of it.
pub(crate) fn boxed<S: Boxed>(py: Python<'_>, theirs: S) -> PyResult<Bound<'_, PyAny>> {
    capsule(py, Box::into_raw(Box::new(theirs)), Some(S::NAME), Some(drop_boxed::<S>))
}

unsafe extern "C" fn drop_boxed<S: Boxed>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls.
    let _attached = unsafe { Attached::new() };
    // SAFETY: with the capsule.
    if let Some(theirs) = unsafe { pointer::<S>(capsule, Some(S::NAME)) } {
        // SAFETY: of `boxed`, and dropped here alone.
        let mut theirs = unsafe { Box::from_raw(theirs) };
        theirs.release();
    }
}

/// The struct in a capsule that an object gave, to be moved out of there.
pub(crate) fn unboxed<S: Boxed>(object: &Bound<'_, PyAny>, from: &str) -> PyResult<*mut S> {
    // SAFETY: an object, and the interpreter is held.
    unsafe { pointer(object.as_ptr(), Some(S::NAME)) }.ok_or_else(|| {
        let name = S::NAME.to_string_lossy();
        PyValueError::new_err(format!("{from}() gave no capsule of the name {name:?}"))
    })
}
