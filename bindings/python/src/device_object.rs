//! `crossdock.Device`: the name of a device, with DLPack's numbers.
//!
//! Reasons: `DESIGN.md`, "A device is its name, and a dtype has DLPack's numbers".

use std::ffi::{CStr, c_uint, c_ulong, c_void};
use std::ptr;

use crossdock::memory::Place;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::entry::Called;
use crate::errors::Raise;
use crate::numbers::{of_place, place_of};
use crate::object::slot;

const DOC: &CStr = c"Device(obj, /)
--

The name of a device, with DLPack's numbers for it.

It is a ``str``: it equals the name and has its hash. Libraries that exchange devices by
``__dlpack_device__`` accept it.

Parameters
----------
obj : str, tuple of int, or object
    A name (``'cuda:0'``), DLPack's pair of device type and number, an object with
    ``__dlpack_device__``, or a device whose text is such a name (``torch.device('cuda', 0)``).

Examples
--------
>>> import crossdock
>>> crossdock.zeros(3).device
'cpu'
>>> crossdock.Device((2, 1))
'cuda:1'
>>> crossdock.Device('cuda:1').__dlpack_device__()
(2, 1)";

const NUMBERS_DOC: &CStr = c"__dlpack_device__($self, /)
--

DLPack's numbers of the device: its type, and which one of that type.

Returns
-------
tuple of int

Examples
--------
>>> import crossdock
>>> crossdock.Device('cpu').__dlpack_device__()
(1, 0)";

/// The type, which is made once.
pub(crate) fn device_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(TYPE.get_or_try_init(py, || make_type(py).map(Bound::unbind))?.bind(py))
}

/// The object of a place.
pub(crate) fn device_object(py: Python<'_>, place: Place) -> PyResult<Bound<'_, PyAny>> {
    static CPU: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = device_type(py)?;
    if place != Place::CPU {
        return named(class, place);
    }
    Ok(CPU.get_or_try_init(py, || named(class, place).map(Bound::unbind))?.bind(py).clone())
}

/// An instance with the text of a place.
fn named<'py>(class: &Bound<'py, PyType>, place: Place) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let args = (place.to_string(),).into_pyobject(py)?;
    let base = py.get_type::<PyString>().as_type_ptr();
    // SAFETY: `base` is the type `str`, which lives as long as the interpreter.
    let new = unsafe { ffi::PyType_GetSlot(base, ffi::Py_tp_new) };
    // SAFETY: a non-null slot of this number is a `newfunc`, and `str` has one.
    let new = unsafe { std::mem::transmute::<*mut c_void, ffi::newfunc>(new) };
    // SAFETY: `class` is a subtype of `str` that adds nothing to its struct, `args` is a live
    // tuple, and null stands for no named arguments; the GIL is held.
    let made = unsafe { new(class.as_type_ptr(), args.as_ptr(), ptr::null_mut()) };
    // SAFETY: `tp_new` returns a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

fn make_type(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    // The type keeps pointers to its methods.
    let methods = Box::leak(Box::new([
        ffi::PyMethodDef {
            ml_name: c"__dlpack_device__".as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: dlpack_device },
            ml_flags: ffi::METH_NOARGS,
            ml_doc: NUMBERS_DOC.as_ptr(),
        },
        ffi::PyMethodDef::zeroed(),
    ]));
    let mut slots = [
        slot(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_new, new as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(0, ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"crossdock.Device".as_ptr(),
        // That of the base.
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT as c_ulong) as c_uint,
        slots: slots.as_mut_ptr(),
    };
    let base = py.get_type::<PyString>();
    // SAFETY: every slot has the type that its number says, and the last one is zero. The texts are
    // static and the methods leaked, so both outlive the type; the base is a live type.
    let made = unsafe { ffi::PyType_FromSpecWithBases(&mut spec, base.as_ptr()) };
    // SAFETY: `PyType_FromSpecWithBases` returns a new reference, or null with an exception set;
    // `py` proves that the GIL is held.
    Ok(unsafe { Bound::from_owned_ptr_or_err(py, made) }?.cast_into()?)
}

unsafe extern "C" fn new(
    class: *mut ffi::PyTypeObject,
    args: *mut ffi::PyObject,
    named_args: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: only the interpreter calls this slot (`tp_new`), with the GIL held until the slot
    // returns.
    let called = unsafe { Called::new() };
    called.enter(|py| {
        // SAFETY: the interpreter passes the type to make an instance of, which is live.
        let class = unsafe { Bound::from_borrowed_ptr(py, class.cast()) };
        // SAFETY: the interpreter passes a live tuple of arguments.
        let args = unsafe { Bound::from_borrowed_ptr(py, args) };
        // SAFETY: the interpreter passes null or a live dictionary.
        let named_args = unsafe { Bound::from_borrowed_ptr_or_opt(py, named_args) };
        let is_named = match &named_args {
            Some(named_args) => !named_args.cast::<PyDict>()?.is_empty(),
            None => false,
        };
        let args = args.cast::<PyTuple>()?;
        if args.len() != 1 || is_named {
            return Err(PyTypeError::new_err("Device() takes one argument, which has no name"));
        }
        Ok(named(class.cast::<PyType>()?, place_of(&args.get_item(0)?)?)?.into_ptr())
    })
}

unsafe extern "C" fn dlpack_device(this: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: only the interpreter calls this method, with the GIL held until it returns.
    let called = unsafe { Called::new() };
    called.enter(|py| {
        // SAFETY: the interpreter passes the object whose method it calls, which is live.
        let this = unsafe { Bound::from_borrowed_ptr(py, this) };
        let place: Place = this.cast::<PyString>()?.to_cow()?.parse().raise()?;
        Ok(of_place(place).into_pyobject(py)?.into_ptr())
    })
}
