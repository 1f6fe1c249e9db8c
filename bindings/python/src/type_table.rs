//! Attributes and methods of a type as tables of Rust functions, and what the interpreter is given.

use std::ffi::{CStr, c_void};
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::entry::{Called, fail};
use crate::object::{Own, slot, this};

pub(crate) type Getter = for<'py> fn(Python<'py>, &Own) -> PyResult<Bound<'py, PyAny>>;
pub(crate) type Method = for<'py> fn(Python<'py>, &Own, Arguments<'py>) -> PyResult<Bound<'py, PyAny>>;

/// The attributes and methods of the type of arrays.
pub(crate) trait TypeTable {
    /// Name, getter, documentation.
    const ATTRIBUTES: &'static [(&'static CStr, Getter, &'static CStr)];
    /// Name, function, documentation with the signature.
    const METHODS: &'static [(&'static CStr, Method, &'static CStr)];
    /// `call::<Self, 0>`, `call::<Self, 1>`, …: one for each method.
    const CALLS: &'static [Call];
}

/// A method as the interpreter calls it.
pub(crate) type Call = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// The slots of the tables, which are leaked and so live forever.
pub(crate) fn slots<T: TypeTable>() -> [ffi::PyType_Slot; 2] {
    const { assert!(T::CALLS.len() == T::METHODS.len(), "one call for each method") };
    let attribute = |(index, &(name, _, doc)): (usize, &(&'static CStr, Getter, &'static CStr))| {
        let closure = ptr::without_provenance_mut(index);
        ffi::PyGetSetDef { name: name.as_ptr(), get: Some(get::<T>), set: None, doc: doc.as_ptr(), closure }
    };
    let end = ffi::PyGetSetDef::default();
    let attributes: Vec<_> = T::ATTRIBUTES.iter().enumerate().map(attribute).chain([end]).collect();
    let method =
        |(&(name, _, doc), &call): (&(&'static CStr, Method, &'static CStr), &Call)| ffi::PyMethodDef {
            ml_name: name.as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: doc.as_ptr(),
        };
    let end = ffi::PyMethodDef::zeroed();
    let methods: Vec<_> = T::METHODS.iter().zip(T::CALLS).map(method).chain([end]).collect();
    [
        slot(ffi::Py_tp_getset, Vec::leak(attributes).as_mut_ptr().cast()),
        slot(ffi::Py_tp_methods, Vec::leak(methods).as_mut_ptr().cast()),
    ]
}

/// The getter of every attribute: `closure` is its index in the table.
unsafe extern "C" fn get<T: TypeTable>(
    object: *mut ffi::PyObject,
    closure: *mut c_void,
) -> *mut ffi::PyObject {
    // SAFETY: only the interpreter calls this getter, with the GIL held until it returns.
    let called = unsafe { Called::new() };
    // SAFETY: the interpreter checks that `object` is an instance of the type that has this getter.
    let this = unsafe { this(object) };
    called.enter_fast(|py| match T::ATTRIBUTES[closure.addr()].1(py, this) {
        Ok(value) => value.into_ptr(),
        Err(error) => fail(|_| error),
    })
}

/// A method by its index in the table, since the interpreter passes only the arguments.
///
/// # Safety
///
/// 1. The interpreter calls this as a method with `METH_FASTCALL | METH_KEYWORDS` of the type, with
///    the GIL held until it returns.
pub(crate) unsafe extern "C" fn call<T: TypeTable, const METHOD: usize>(
    object: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: clause 1 of `# Safety`: the interpreter called this method with the GIL held, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 1 of `# Safety`: the interpreter checks that `object` is an instance of the
    // type that has this method.
    let this = unsafe { this(object) };
    called.enter(|py| {
        let (_, method, docstring) = T::METHODS[METHOD];
        // SAFETY: clauses 1 and 2 of `Arguments::new`: these flags make the interpreter pass
        // arguments and names in this form (clause 1 of `# Safety`).
        let arguments = unsafe { Arguments::new(py, docstring, args, count, names) };
        Ok(method(py, this, arguments)?.into_ptr())
    })
}
