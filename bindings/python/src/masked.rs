//! NumPy's masked arrays: a dtype has no word for what is masked, and a buffer has the values
//! alone.

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;

/// Refuses an array of NumPy of which elements are masked. Objects of classes written in C are
/// none.
///
/// # Errors
///
/// `BufferError` if an element is masked.
#[inline]
pub(crate) fn check(object: &Bound<'_, PyAny>) -> PyResult<()> {
    // SAFETY: `object` is an object, and this thread holds the GIL.
    let class = unsafe { ffi::Py_TYPE(object.as_ptr()) };
    // SAFETY: `class` is the type of an object that is referenced here.
    let flags = unsafe { ffi::PyType_GetFlags(class) };
    if flags & ffi::Py_TPFLAGS_HEAPTYPE == 0 { Ok(()) } else { check_class(object) }
}

#[cold]
fn check_class(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    // SAFETY: a string, and this thread holds the GIL.
    let module = unsafe { ffi::PyImport_GetModule(intern!(py, "numpy.ma").as_ptr()) };
    // SAFETY: a new reference, or null with or without an exception.
    let Some(module) = (unsafe { Bound::from_owned_ptr_or_opt(py, module) }) else {
        // Without the module there are no masked arrays.
        drop(PyErr::take(py));
        return Ok(());
    };
    if !object.is_instance(&module.getattr(intern!(py, "MaskedArray"))?)? {
        return Ok(());
    }
    let is_masked = match module.call_method1(intern!(py, "is_masked"), (object,)) {
        Ok(answer) => answer.is_truthy()?,
        // A mask of records has a truth value for each field, which cannot be reduced.
        Err(_) => {
            let bytes: Vec<u8> = object.getattr(intern!(py, "mask"))?.call_method0("tobytes")?.extract()?;
            bytes.iter().any(|&byte| byte != 0)
        }
    };
    if !is_masked {
        return Ok(());
    }
    Err(PyBufferError::new_err(
        "elements are masked, which no dtype says: x.filled(value) fills them, x.data has the values alone, and \
         crossdock.to_arrow(x.data, validity=~x.mask) makes them null",
    ))
}
