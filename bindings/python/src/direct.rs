//! Parts of the interpreter's objects that are read in place: the items of a tuple, and small
//! integers. A call of the stable interface for each takes a third of a subscript.
//!
//! The interpreter publishes where the items of a tuple begin, and it has one object for each small
//! integer, side by side. Both are tried out when the module is imported; where they are otherwise,
//! the interface is called.

use std::ffi::c_long;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The distance of the first item in a tuple; 0 if unknown.
static ITEMS: AtomicUsize = AtomicUsize::new(0);

/// The address of the object of [`LEAST`]; 0 if the small integers have no objects side by side.
static INTEGERS: AtomicUsize = AtomicUsize::new(0);

/// The small integers: `LEAST..LEAST + COUNT`.
const LEAST: isize = -5;
const COUNT: usize = 262;

/// The distance of one small integer from the next, a power of two.
const DISTANCE: usize = 32;

/// Tries out where the interpreter keeps these parts.
pub(crate) fn find(py: Python<'_>) -> PyResult<()> {
    ITEMS.store(items_in(py)?.unwrap_or(0), Ordering::Relaxed);
    INTEGERS.store(integers(py)?.unwrap_or(0), Ordering::Relaxed);
    Ok(())
}

fn items_in(py: Python<'_>) -> PyResult<Option<usize>> {
    let of = py.get_type::<PyTuple>();
    let size: usize = of.getattr("__itemsize__")?.extract()?;
    let offset: usize = of.getattr("__basicsize__")?.extract()?;
    if size != size_of::<*mut ffi::PyObject>() || !offset.is_multiple_of(align_of::<*mut ffi::PyObject>()) {
        return Ok(None);
    }
    let tried = PyTuple::new(py, [py.None(), py.Ellipsis(), py.NotImplemented()])?;
    let known = [py.None().as_ptr(), py.Ellipsis().as_ptr(), py.NotImplemented().as_ptr()];
    let found = known.iter().enumerate().all(|(position, &known)| {
        // SAFETY: the type has this basic size and an item size of a pointer, so that a tuple of
        // three items has as many bytes from `offset` on.
        ptr::eq(unsafe { item_at(tried.as_ptr(), offset, position) }, known)
    });
    Ok(found.then_some(offset))
}

fn integers(py: Python<'_>) -> PyResult<Option<usize>> {
    let object = |number: isize| {
        // SAFETY: `py` proves that the GIL is held.
        let made = unsafe { ffi::PyLong_FromLong(number as c_long) };
        // SAFETY: `PyLong_FromLong` returns a new reference, or null with an exception.
        unsafe { Bound::from_owned_ptr_or_err(py, made) }
    };
    // All are alive at once, so that no two have one address unless they are one object.
    let numbers = (0..COUNT.cast_signed()).map(|index| object(LEAST + index));
    let first = numbers.collect::<PyResult<Vec<_>>>()?;
    let Some(begin) = first.first().map(|object| object.as_ptr().addr()) else { return Ok(None) };
    for (index, known) in first.iter().enumerate() {
        let again = object(LEAST + index.cast_signed())?;
        let value: isize = known.extract()?;
        let is_side_by_side = known.as_ptr().addr() == begin + index * DISTANCE;
        if !again.is(known) || !is_side_by_side || value != LEAST + index.cast_signed() {
            return Ok(None);
        }
    }
    Ok(Some(begin))
}

/// # Safety
///
/// 1. The object is alive, and has an item at this position from `offset` bytes on.
#[inline(always)]
unsafe fn item_at(tuple: *mut ffi::PyObject, offset: usize, position: usize) -> *mut ffi::PyObject {
    let items = tuple.wrapping_byte_add(offset).cast::<*mut ffi::PyObject>();
    // SAFETY: clause 1 of `# Safety`.
    unsafe { items.wrapping_add(position).read() }
}

/// Whether the type of an object is this one, and no subtype.
///
/// # Safety
///
/// 1. The object is alive, and the GIL is held.
#[inline(always)]
pub(crate) unsafe fn is_exact(object: *mut ffi::PyObject, of: *const ffi::PyTypeObject) -> bool {
    // SAFETY: clause 1 of `# Safety`: the object is alive, so its head has a type pointer.
    ptr::eq(unsafe { ffi::Py_TYPE(object) }, of)
}

/// The number of items, if the object is a tuple and of no subtype.
///
/// # Safety
///
/// 1. The object is alive, and the GIL is held.
#[inline(always)]
pub(crate) unsafe fn tuple_len(object: *mut ffi::PyObject) -> Option<usize> {
    let exact = &raw const ffi::PyTuple_Type;
    // SAFETY: clause 1 of `is_exact` is clause 1 of `# Safety`.
    if !unsafe { is_exact(object, exact) } {
        return None;
    }
    // SAFETY: a tuple, as checked above, begins with `PyVarObject`, which has its length.
    Some(unsafe { ffi::Py_SIZE(object) }.unsigned_abs())
}

/// The item of a tuple, as a borrowed reference.
///
/// # Safety
///
/// 1. `tuple_len` found more items than `position`.
/// 2. The tuple is alive, and the GIL is held.
#[inline(always)]
pub(crate) unsafe fn tuple_item(tuple: *mut ffi::PyObject, position: usize) -> *mut ffi::PyObject {
    match ITEMS.load(Ordering::Relaxed) {
        // SAFETY: clauses 1 and 2 of `# Safety`: a live tuple with this item.
        0 => unsafe { ffi::PyTuple_GetItem(tuple, position.cast_signed()) },
        // SAFETY: clause 1 of `item_at`: clauses 1 and 2 of `# Safety`, and `find` saw that the
        // items of a tuple are from `offset` bytes on.
        offset => unsafe { item_at(tuple, offset, position) },
    }
}

/// The value of an object that is an `int` and of no subtype. `None` for other objects, and for
/// integers of more than a C `long`.
///
/// # Safety
///
/// 1. The object is alive, and the GIL is held.
#[inline(always)]
pub(crate) unsafe fn integer(object: *mut ffi::PyObject) -> Option<isize> {
    let distance = object.addr().wrapping_sub(INTEGERS.load(Ordering::Relaxed));
    // The interpreter keeps the objects there until it ends, so that no other object has one of
    // these addresses.
    if distance < COUNT * DISTANCE && distance.is_multiple_of(DISTANCE) {
        return Some((distance / DISTANCE).cast_signed() + LEAST);
    }
    let exact = &raw const ffi::PyLong_Type;
    // SAFETY: clause 1 of `is_exact` is clause 1 of `# Safety`.
    if !unsafe { is_exact(object, exact) } {
        return None;
    }
    let mut overflow = 0;
    // SAFETY: `is_exact` just confirmed that the object is an `int`, which is alive (clause 1 of
    // `# Safety`); `overflow` is a local variable.
    let value = unsafe { ffi::PyLong_AsLongAndOverflow(object, &mut overflow) };
    (overflow == 0).then_some(value as isize)
}
