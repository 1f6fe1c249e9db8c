//! The type `crossdock.Array`: its slots, which the other files implement.
//!
//! Reasons: `DESIGN.md`, "The type has slots of its own".
//! See also: `DESIGN.md`, "The collector does not traverse arrays".

use std::ffi::{CStr, c_int, c_uint, c_ulong, c_void};
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::entry::Called;
use crate::methods::ArrayTable;
use crate::object::{Object, WEAK_REFERENCES, dealloc, publish, slot};
use crate::{buffer, exchange, operators, other_names, subscript, type_table};

const DOC: &CStr = c"Array()
--

An n-dimensional array on owned or borrowed memory.

Indexing and slicing return views, never copies. For arithmetic, use NumPy: ``np.asarray(x) + 1``.

Create arrays by :func:`asarray`, :func:`array`, :func:`zeros`, :func:`open` and similar functions.";

/// Makes the type.
pub(crate) fn make_type(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let member = |name: &'static CStr, offset: usize| ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: ffi::Py_T_PYSSIZET,
        offset: offset.cast_signed(),
        flags: ffi::Py_READONLY,
        doc: ptr::null(),
    };
    let end = ffi::PyMemberDef { name: ptr::null(), type_code: 0, offset: 0, flags: 0, doc: ptr::null() };
    let mut members = [member(c"__weaklistoffset__", WEAK_REFERENCES), end];
    let base = other_names::make_base(py)?;
    let mut slots = vec![
        slot(ffi::Py_tp_base, base.as_ptr().cast()),
        slot(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_members, members.as_mut_ptr().cast()),
        slot(ffi::Py_tp_new, new as *mut c_void),
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_bf_getbuffer, buffer::get as *mut c_void),
        slot(ffi::Py_bf_releasebuffer, buffer::release as *mut c_void),
        slot(ffi::Py_mp_subscript, subscript::get as *mut c_void),
        slot(ffi::Py_mp_ass_subscript, subscript::set as *mut c_void),
        slot(ffi::Py_mp_length, subscript::len as *mut c_void),
        slot(ffi::Py_sq_item, subscript::item as *mut c_void),
        // `reversed` and `bisect` ask a sequence for its length.
        slot(ffi::Py_sq_length, subscript::len as *mut c_void),
        slot(ffi::Py_tp_iter, subscript::iterate as *mut c_void),
    ];
    slots.extend(type_table::slots::<ArrayTable>());
    slots.extend(operators::slots());
    slots.push(slot(0, ptr::null_mut()));
    let mut spec = ffi::PyType_Spec {
        name: c"crossdock.Array".as_ptr(),
        basicsize: size_of::<Object>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT as c_ulong) as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: every slot has the type that its number says, and the last one is zero. The texts and
    // the tables of methods, to which the type keeps pointers, are static; it copies the members.
    let made = unsafe { ffi::PyType_FromSpec(&mut spec) };
    // SAFETY: `PyType_FromSpec` returns a new reference, or null with an exception set; `py` proves
    // that the GIL is held.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
    let made = made.cast_into::<PyType>()?;
    exchange::offer(&made)?;
    publish(made)
}

unsafe extern "C" fn new(
    _: *mut ffi::PyTypeObject,
    _: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: only the interpreter calls this slot (`tp_new`), with the GIL held until the slot
    // returns.
    let called = unsafe { Called::new() };
    called.enter(|_| {
        let how =
            "crossdock.Array is not called: use crossdock.asarray (in place) or crossdock.array (a copy)";
        Err(PyTypeError::new_err(how))
    })
}
