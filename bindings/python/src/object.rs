//! The objects of the type `crossdock.Array`: their beginning and their end.

use std::cell::OnceCell;
use std::convert::Infallible;
use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crossdock::DArray;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::buffer::Exports;
use crate::entry::{Attached, fetch};
use crate::kept::Kept;

/// A Python object that is an array.
///
/// # Invariants
///
/// 1. It lies where the interpreter put it, and stays there: a buffer's shape and strides point into it, as long as the consumer's
///    reference keeps it.
/// 2. Touched by threads that hold the interpreter alone.
#[repr(C)]
pub(crate) struct Object {
    base: ffi::PyObject,
    own: Own,
}

/// What of an object is ours.
pub(crate) struct Own {
    /// The interpreter's list of weak references.
    weak: *mut ffi::PyObject,
    pub(crate) array: DArray,
    pub(crate) exports: Exports,
    pub(crate) kept: Kept,
    /// Why the elements are a copy, where nobody had asked for one.
    pub(crate) copied_because: OnceCell<Box<str>>,
}

/// The type, once it is made. It is never freed.
static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// Where an object has the interpreter's list of weak references.
pub(crate) const WEAK_REFERENCES: usize = offset_of!(Object, own) + offset_of!(Own, weak);

/// Makes `made` the type of new objects, unless they have one already. Returns the type that they
/// have.
pub(crate) fn publish(made: Bound<'_, PyType>) -> PyResult<Bound<'_, PyType>> {
    let first =
        TYPE.compare_exchange(ptr::null_mut(), made.as_type_ptr(), Ordering::AcqRel, Ordering::Acquire);
    if first.is_ok() {
        // `TYPE` keeps one reference for ever.
        std::mem::forget(made.clone());
        return Ok(made);
    }
    // SAFETY: `TYPE` is not null, since the exchange failed, and its type is never freed.
    let known = unsafe { Bound::from_borrowed_ptr(made.py(), TYPE.load(Ordering::Acquire).cast()) };
    Ok(known.cast_into()?)
}

/// One slot of the type.
pub(crate) fn slot(number: c_int, function: *mut c_void) -> ffi::PyType_Slot {
    ffi::PyType_Slot { slot: number, pfunc: function }
}

/// A new object.
#[inline]
pub(crate) fn wrap(py: Python<'_>, array: DArray) -> PyResult<Bound<'_, PyAny>> {
    wrap_with(py, |place| Ok(place.write(array)))
}

/// As [`wrap`], around the array that `make` makes in it.
#[inline]
pub(crate) fn wrap_with<'py>(
    py: Python<'py>,
    make: impl for<'a> FnOnce(&'a mut MaybeUninit<DArray>) -> PyResult<&'a mut DArray>,
) -> PyResult<Bound<'py, PyAny>> {
    let object = allocate_with(make)?;
    if object.is_null() {
        return Err(fetch(py));
    }
    // SAFETY: a new reference.
    Ok(unsafe { Bound::from_owned_ptr(py, object) })
}

/// A new object, or null with an exception. The caller holds the interpreter.
#[inline]
pub(crate) fn allocate(array: DArray) -> *mut ffi::PyObject {
    match allocate_with(|place| Ok::<_, Infallible>(place.write(array))) {
        Ok(object) => object,
        Err(never) => match never {},
    }
}

/// A new object, or null with an exception, around the array that `make` makes in it: each move of an array costs as much as an axis of
/// a slice does. The caller holds the interpreter.
#[inline(always)]
pub(crate) fn allocate_with<E>(
    make: impl for<'a> FnOnce(&'a mut MaybeUninit<DArray>) -> Result<&'a mut DArray, E>,
) -> Result<*mut ffi::PyObject, E> {
    let of = TYPE.load(Ordering::Relaxed);
    // SAFETY: the type was made before anything that calls this could be called; the object has room for an `Object`.
    let object: *mut ffi::PyObject = unsafe { ffi::PyObject_New::<Object>(of) }.cast();
    if object.is_null() {
        return Ok(object);
    }
    let own = own_of(object);
    // SAFETY: the interpreter has written the head of the object, which is not touched; the rest is ours to initialise.
    let array = unsafe { &raw mut (*own).array };
    // SAFETY: as above: room for an array, in which there is none yet.
    let place = unsafe { &mut *array.cast::<MaybeUninit<DArray>>() };
    if let Err(error) = make(place) {
        // SAFETY: an object with nothing in it.
        unsafe { free(object) };
        return Err(error);
    }
    // SAFETY: as above.
    let weak = unsafe { &raw mut (*own).weak };
    // SAFETY: as above.
    unsafe { weak.write(ptr::null_mut()) };
    // SAFETY: as above.
    let exports = unsafe { &raw mut (*own).exports };
    // SAFETY: as above.
    unsafe { exports.write(Exports::new()) };
    // SAFETY: as above.
    let kept = unsafe { &raw mut (*own).kept };
    // SAFETY: as above.
    unsafe { kept.write(Kept::new()) };
    // SAFETY: as above.
    let copied_because = unsafe { &raw mut (*own).copied_because };
    // SAFETY: as above.
    unsafe { copied_because.write(OnceCell::new()) };
    Ok(object)
}

/// Gives the memory of an object back.
///
/// # Safety
///
/// An object of the type, in which there is nothing any more; nobody uses it.
#[inline]
unsafe fn free(object: *mut ffi::PyObject) {
    // SAFETY: an object has a type.
    let of = unsafe { ffi::Py_TYPE(object) };
    // SAFETY: the interpreter's memory, as it was allocated by `PyObject_New`.
    unsafe { ffi::PyObject_Free(object.cast()) };
    // SAFETY: an object of a type from a spec holds a reference to it.
    unsafe { ffi::Py_DECREF(of.cast()) };
}

/// The array behind `self` of a slot.
///
/// # Safety
///
/// The interpreter calls a slot of the type with it, and the reference lives no longer than the call.
#[inline(always)]
pub(crate) unsafe fn this<'a>(object: *mut ffi::PyObject) -> &'a Own {
    // SAFETY: an object of the type (the caller's word).
    unsafe { &*own_of(object) }
}

/// Where that lies in an object of the type.
#[inline(always)]
fn own_of(object: *mut ffi::PyObject) -> *mut Own {
    object.wrapping_byte_add(offset_of!(Object, own)).cast()
}

/// Whether an object is an array.
///
/// # Safety
///
/// An object, while the interpreter is held.
#[inline(always)]
pub(crate) unsafe fn is_ours(object: *mut ffi::PyObject) -> bool {
    // SAFETY: an object has a type.
    ptr::eq(unsafe { ffi::Py_TYPE(object) }, TYPE.load(Ordering::Relaxed))
}

/// The array that an object is, if it is one of ours.
#[inline]
pub(crate) fn downcast<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Own> {
    // SAFETY: an object, and the interpreter is held.
    let ours = unsafe { is_ours(object.as_ptr()) };
    // SAFETY: of our type, which has no subtypes; it lives as long as the reference to it.
    ours.then(|| unsafe { this(object.as_ptr()) })
}

/// `tp_dealloc`.
///
/// # Safety
///
/// The interpreter calls it, with an object of the type to which there is no reference.
pub(crate) unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls.
    let _attached = unsafe { Attached::new() };
    let own = own_of(object);
    // SAFETY: an object of the type.
    if !unsafe { (*own).weak }.is_null() {
        // SAFETY: as above.
        unsafe { ffi::PyObject_ClearWeakRefs(object) };
    }
    // SAFETY: initialised when it was made, and nobody uses it any more: consumers of buffers hold references. Owners that panic are
    // caught where they are called.
    unsafe { ptr::drop_in_place(own) };
    // SAFETY: the interpreter calls, and nothing is left.
    unsafe { free(object) };
}
