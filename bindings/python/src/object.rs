//! The objects of the type `crossdock.Array`: allocation and deallocation.

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
use crate::consumer_state::ConsumerState;
use crate::entry::fetch;
use crate::spare::Spare;

/// A Python object that is an array.
///
/// # Invariants
///
/// 1. It stays at the address that the interpreter allocated: a buffer's shape and strides point
///    into it while the consumer's reference keeps it alive.
/// 2. Only threads that hold the GIL access it.
#[repr(C)]
pub(crate) struct Object {
    base: ffi::PyObject,
    own: Own,
}

/// The fields of an object behind the interpreter's head.
pub(crate) struct Own {
    /// The interpreter's list of weak references.
    weak: *mut ffi::PyObject,
    pub(crate) array: DArray,
    pub(crate) exports: Exports,
    pub(crate) kept: ConsumerState,
    /// Why the elements are a copy, if no copy was requested.
    pub(crate) copied_because: OnceCell<Box<str>>,
}

/// The type, once it exists. It is never freed.
static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// The memory of freed objects: allocations by `PyObject_New` of the size of `Object`.
static SPARE: Spare<ffi::PyObject> = Spare::new();

/// The offset of the interpreter's list of weak references in an object.
pub(crate) const WEAK_REFERENCES: usize = offset_of!(Object, own) + offset_of!(Own, weak);

/// Makes `made` the type of new objects, unless they have one already. Returns the type that they
/// have.
pub(crate) fn publish(made: Bound<'_, PyType>) -> PyResult<Bound<'_, PyType>> {
    let first =
        TYPE.compare_exchange(ptr::null_mut(), made.as_type_ptr(), Ordering::AcqRel, Ordering::Acquire);
    if first.is_ok() {
        // `TYPE` keeps one reference forever.
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

/// Like [`wrap`], for an array that `make` creates in place.
#[inline]
pub(crate) fn wrap_with<'py>(
    py: Python<'py>,
    make: impl for<'a> FnOnce(&'a mut MaybeUninit<DArray>) -> PyResult<&'a mut DArray>,
) -> PyResult<Bound<'py, PyAny>> {
    let object = allocate_with(py, make)?;
    if object.is_null() {
        return Err(fetch(py));
    }
    // SAFETY: `allocate_with` returned a new reference, which is not null (checked above), and `py`
    // proves that the GIL is held.
    Ok(unsafe { Bound::from_owned_ptr(py, object) })
}

/// A new object, or null with an exception.
#[inline]
pub(crate) fn allocate(py: Python<'_>, array: DArray) -> *mut ffi::PyObject {
    match allocate_with(py, |place| Ok::<_, Infallible>(place.write(array))) {
        Ok(object) => object,
        Err(never) => match never {},
    }
}

/// A new object, or null with an exception, for an array that `make` creates in place: moving an
/// array costs as much as one axis of a slice.
#[inline(always)]
pub(crate) fn allocate_with<E>(
    _: Python<'_>,
    make: impl for<'a> FnOnce(&'a mut MaybeUninit<DArray>) -> Result<&'a mut DArray, E>,
) -> Result<*mut ffi::PyObject, E> {
    let of = TYPE.load(Ordering::Relaxed);
    // SAFETY: clause 1 of `take`: the token proves that the GIL is held.
    let object = match unsafe { SPARE.take() } {
        // SAFETY: the module publishes the type before any caller of this function is reachable;
        // Spare 1: the block has the size of `Object` and no other user; the token proves that the
        // GIL is held.
        Some(block) => unsafe { ffi::PyObject_Init(block, of) },
        // SAFETY: the module publishes the type before any caller of this function is reachable;
        // its `basicsize` is that of `Object`, and the token proves that the GIL is held.
        None => unsafe { ffi::PyObject_New::<Object>(of) }.cast(),
    };
    if object.is_null() {
        return Ok(object);
    }
    let own = own_of(object);
    // SAFETY: `object` is not null (checked above) and has the size of `Object`, so the address of
    // a field lies inside the allocation.
    let array = unsafe { &raw mut (*own).array };
    // SAFETY: Object 1: the field is aligned and in bounds of the new allocation; `MaybeUninit`
    // permits that it is uninitialised.
    let place = unsafe { &mut *array.cast::<MaybeUninit<DArray>>() };
    if let Err(error) = make(place) {
        // SAFETY: clauses 1 and 2 of `free`: a new object of the type, whose array was not made,
        // and no reference to it has left this function.
        unsafe { free(object) };
        return Err(error);
    }
    // SAFETY: `object` is a new allocation of the size of `Object`, so the address of the field
    // lies inside it.
    let weak = unsafe { &raw mut (*own).weak };
    // SAFETY: `weak` is the aligned, in-bounds field of the new object, which no other code can
    // access yet.
    unsafe { weak.write(ptr::null_mut()) };
    // SAFETY: `object` is a new allocation of the size of `Object`, so the address of the field
    // lies inside it.
    let exports = unsafe { &raw mut (*own).exports };
    // SAFETY: `exports` is the aligned, in-bounds field of the new object, which no other code can
    // access yet.
    unsafe { exports.write(Exports::new()) };
    // SAFETY: `object` is a new allocation of the size of `Object`, so the address of the field
    // lies inside it.
    let kept = unsafe { &raw mut (*own).kept };
    // SAFETY: `kept` is the aligned, in-bounds field of the new object, which no other code can
    // access yet.
    unsafe { kept.write(ConsumerState::new()) };
    // SAFETY: `object` is a new allocation of the size of `Object`, so the address of the field
    // lies inside it.
    let copied_because = unsafe { &raw mut (*own).copied_because };
    // SAFETY: `copied_because` is the aligned, in-bounds field of the new object, which no other
    // code can access yet.
    unsafe { copied_because.write(OnceCell::new()) };
    Ok(object)
}

/// Frees the memory of an object.
///
/// # Safety
///
/// 1. `object` is an object of the type, whose fields are uninitialised or dropped.
/// 2. No other code uses it, and this thread holds the GIL.
#[inline]
unsafe fn free(object: *mut ffi::PyObject) {
    // SAFETY: clause 1 of `# Safety`: `object` is an object of the type, so its head has a valid
    // type pointer.
    let of = unsafe { ffi::Py_TYPE(object) };
    // SAFETY: clauses 1 and 2 of `keep`: an object of the type, as all blocks of the stack, whose
    // fields need no drop, and which no other code uses; the GIL is held (`# Safety`).
    if let Err(object) = unsafe { SPARE.keep(object) } {
        // SAFETY: `PyObject_New` allocated the object; by clauses 1 and 2 of `# Safety` its fields
        // need no drop and no other code uses it.
        unsafe { ffi::PyObject_Free(object.cast()) };
    }
    // SAFETY: an instance of a heap type holds a reference to the type, which goes with the
    // instance; the GIL is held (clause 2).
    unsafe { ffi::Py_DECREF(of.cast()) };
}

/// The array behind `self` of a slot.
///
/// # Safety
///
/// 1. `object` is an initialised object of the type, as in a slot that the interpreter calls.
/// 2. The object outlives `'a`: the caller or the interpreter holds a reference for as long.
#[inline(always)]
pub(crate) unsafe fn this<'a>(object: *mut ffi::PyObject) -> &'a Own {
    // SAFETY: clause 1 of `# Safety`: an initialised object, whose `Own` is at this offset; clause
    // 2: it outlives `'a`. Only shared references to `Own` exist.
    unsafe { &*own_of(object) }
}

/// The address of the `Own` of an object of the type.
#[inline(always)]
fn own_of(object: *mut ffi::PyObject) -> *mut Own {
    object.wrapping_byte_add(offset_of!(Object, own)).cast()
}

/// Whether an object is an array.
///
/// # Safety
///
/// 1. `object` is a live object.
/// 2. This thread holds the GIL.
#[inline(always)]
pub(crate) unsafe fn is_ours(object: *mut ffi::PyObject) -> bool {
    // SAFETY: clauses 1 and 2 of `# Safety`: a live object has a type pointer, which the GIL
    // protects.
    ptr::eq(unsafe { ffi::Py_TYPE(object) }, TYPE.load(Ordering::Relaxed))
}

/// The array of an object, if it is a `crossdock.Array`.
#[inline]
pub(crate) fn downcast<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Own> {
    // SAFETY: `object` is a live object, and its `Bound` proves that this thread holds the GIL.
    let ours = unsafe { is_ours(object.as_ptr()) };
    // SAFETY: `ours` says that it is an object of the type, which has no subtypes; the borrow of
    // `object` keeps it alive for `'a`.
    ours.then(|| unsafe { this(object.as_ptr()) })
}

/// Calls what may run code of owners, while an exception is on its way: Python code must not begin
/// with one, and would lose it.
///
/// # Safety
///
/// 1. This thread holds the GIL.
#[cold]
unsafe fn apart_from_exception(release: impl FnOnce()) {
    let [mut kind, mut value, mut traceback] = [ptr::null_mut(); 3];
    // SAFETY: clause 1 of `# Safety`; the function writes to three pointers.
    unsafe { ffi::PyErr_Fetch(&mut kind, &mut value, &mut traceback) };
    release();
    // SAFETY: the references that the call above gave away, with the GIL held.
    unsafe { ffi::PyErr_Restore(kind, value, traceback) };
}

/// `tp_dealloc`.
///
/// # Safety
///
/// 1. `object` is an initialised object of the type, without a reference to it.
/// 2. The interpreter calls, with the GIL held.
pub(crate) unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    let own = own_of(object);
    // SAFETY: clause 1 of `# Safety`: an initialised object of the type, so `own` points to its
    // fields.
    if !unsafe { (*own).weak }.is_null() {
        // SAFETY: clause 1 of `# Safety`: `object` is complete and has no references, as
        // `tp_dealloc` requires for this call.
        unsafe { ffi::PyObject_ClearWeakRefs(object) };
    }
    // SAFETY: clause 1 of `# Safety`: the fields are initialised and no reference is left, since
    // consumers of buffers hold one; they are dropped once. Panics of owners are caught where
    // owners are called.
    let release = || unsafe { ptr::drop_in_place(own) };
    // SAFETY: clause 2 of `# Safety`: the GIL is held.
    if unsafe { ffi::PyErr_Occurred() }.is_null() {
        release();
    } else {
        // SAFETY: clause 1 of `apart_from_exception` is clause 2 of `# Safety`: the GIL is held.
        unsafe { apart_from_exception(release) };
    }
    // SAFETY: the fields were dropped just now (clause 1 of `free`), and no reference is left while
    // the GIL is held (clause 2).
    unsafe { free(object) };
}
