//! Capsules: pointers that travel through Python under a name.

use std::ffi::{CStr, c_void};

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::entry::fetch;

/// A capsule around a pointer that is not null. `destructor` runs when the last reference goes.
pub(crate) fn capsule<'py, T>(
    py: Python<'py>,
    pointer: *mut T,
    name: Option<&'static CStr>,
    destructor: Option<unsafe extern "C" fn(*mut ffi::PyObject)>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = name.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: `name` is null or static, so it outlives the capsule; `destructor` is for such a
    // capsule, and `py` proves that the GIL is held.
    let made = unsafe { ffi::PyCapsule_New(pointer.cast(), name, destructor) };
    // SAFETY: `PyCapsule_New` returns a new reference, or null with an exception. If it fails, the
    // pointer leaks, since there is no memory for a capsule.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// The pointer in a capsule that still has its original name.
///
/// # Safety
///
/// 1. `capsule` is a live object, of any type.
/// 2. This thread holds the GIL.
pub(crate) unsafe fn pointer<T>(capsule: *mut ffi::PyObject, name: Option<&CStr>) -> Option<*mut T> {
    let name = name.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: clauses 1 and 2 of `# Safety`: a live object and the GIL. `name` is null or a C
    // string.
    if unsafe { ffi::PyCapsule_IsValid(capsule, name) } == 0 {
        return None;
    }
    // SAFETY: `PyCapsule_IsValid` just confirmed that `capsule` is a capsule of this name, and the
    // GIL is held (clause 2).
    let pointer: *mut c_void = unsafe { ffi::PyCapsule_GetPointer(capsule, name) };
    Some(pointer.cast())
}

/// Renames a capsule.
pub(crate) fn rename(py: Python<'_>, capsule: &Bound<'_, PyAny>, name: &'static CStr) -> PyResult<()> {
    // SAFETY: `capsule` is a live object and `name` is static; for another type than a capsule the
    // call sets an exception.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name.as_ptr()) } != 0 {
        return Err(fetch(py));
    }
    Ok(())
}

/// The context of a capsule whose memory this library itself keeps from being written, as a number
/// that is no address in a process.
pub(crate) const UNWRITTEN: usize = 0x6372_6f73_7364_6f63_u64 as usize;

/// Marks a capsule of [`boxed`]: until its struct is released, no party writes the memory. Python
/// code has no access to the mark.
pub(crate) fn mark_unwritten(capsule: &Bound<'_, PyAny>) -> PyResult<()> {
    let mark = std::ptr::without_provenance_mut(UNWRITTEN);
    // SAFETY: `capsule` is a live object, whose `Bound` proves that this thread holds the GIL; for
    // another type than a capsule the call sets an exception. The context is not dereferenced.
    match unsafe { ffi::PyCapsule_SetContext(capsule.as_ptr(), mark) } {
        0 => Ok(()),
        _ => Err(fetch(capsule.py())),
    }
}

/// A struct that is exported in a boxed capsule. A consumer moves it out and marks it as moved;
/// otherwise the capsule releases it.
pub(crate) trait Boxed {
    const NAME: &'static CStr;

    /// Releases the struct, unless it was moved out.
    fn release(&mut self);
}

/// A capsule around a struct, which a consumer moves out of it.
pub(crate) fn boxed<S: Boxed>(py: Python<'_>, theirs: S) -> PyResult<Bound<'_, PyAny>> {
    capsule(py, Box::into_raw(Box::new(theirs)), Some(S::NAME), Some(drop_boxed::<S>))
}

unsafe extern "C" fn drop_boxed<S: Boxed>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter passes the capsule that it destroys, which is live during this call,
    // and holds the GIL.
    if let Some(theirs) = unsafe { pointer::<S>(capsule, Some(S::NAME)) } {
        // SAFETY: the pointer came from `Box::into_raw` in `boxed`, and a capsule's destructor runs
        // once.
        let mut theirs = unsafe { Box::from_raw(theirs) };
        theirs.release();
    }
}

/// The address of the struct in a producer's capsule, for the caller to move it out.
pub(crate) fn unboxed<S: Boxed>(object: &Bound<'_, PyAny>, from: &str) -> PyResult<*mut S> {
    // SAFETY: `object` is a live object, and its `Bound` proves that this thread holds the GIL.
    unsafe { pointer(object.as_ptr(), Some(S::NAME)) }.ok_or_else(|| {
        let name = S::NAME.to_string_lossy();
        PyValueError::new_err(format!("{from}() gave no capsule of the name {name:?}"))
    })
}
