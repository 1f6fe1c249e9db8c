//! The modules of other libraries: which are imported, and which one defines an object's class.
//! Nothing here imports a module.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A module, if it has been imported.
pub(crate) fn imported<'py>(name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    let py = name.py();
    // SAFETY: `name` is a live string, and `py` proves that this thread holds the GIL.
    let module = unsafe { ffi::PyImport_GetModule(name.as_ptr()) };
    // SAFETY: `PyImport_GetModule` returns a new reference, or null with or without an exception;
    // `py` proves that the GIL is held.
    let module = unsafe { Bound::from_owned_ptr_or_opt(py, module) };
    if module.is_none() {
        drop(PyErr::take(py));
    }
    module
}

/// Whether the class of an object is static: one that a C extension compiled in, such as NumPy's
/// arrays. Classes of PyTorch, TensorFlow and Python code are not.
#[inline]
pub(crate) fn has_static_class(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: `object` is a live object, and its `Bound` proves that this thread holds the GIL.
    let class = unsafe { ffi::Py_TYPE(object.as_ptr()) };
    // SAFETY: `class` is the type of `object`, which keeps it alive, and the GIL is held.
    let flags = unsafe { ffi::PyType_GetFlags(class) };
    flags & ffi::Py_TPFLAGS_HEAPTYPE == 0
}

/// The name of the module that defines the class of an object; empty if the class has none.
pub(crate) fn of_class(object: &Bound<'_, PyAny>) -> String {
    let module = object.get_type().getattr(intern!(object.py(), "__module__"));
    module.and_then(|module| module.extract()).unwrap_or_default()
}
