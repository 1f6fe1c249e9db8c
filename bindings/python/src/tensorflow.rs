//! TensorFlow's tensors, some of which end the process when DLPack is requested of them.

use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;

use crate::modules;

/// Refuses tensors whose elements are objects: TensorFlow checks the dtype in C++, and aborts.
///
/// # Errors
///
/// `BufferError` for tensors of text, resources and variants.
pub(crate) fn check(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let is_static = modules::has_static_class(object);
    if is_static || modules::imported(intern!(py, "tensorflow")).is_none() {
        return Ok(());
    }
    if !modules::of_class(object).starts_with("tensorflow.") {
        return Ok(());
    }
    let name = object.getattr(intern!(py, "dtype")).and_then(|dtype| dtype.getattr(intern!(py, "name")));
    let name: String = name.and_then(|name| name.extract()).unwrap_or_default();
    let instead = match name.as_str() {
        "string" => "tensor.numpy().astype(bytes) is an array of its text",
        "resource" => "read the variable behind it, as variable.read_value()",
        "variant" => "it has no elements in memory",
        _ => return Ok(()),
    };
    Err(PyBufferError::new_err(format!(
        "elements of a TensorFlow tensor of dtype {name} are objects, for which its __dlpack__() would end the process; {instead}"
    )))
}

/// The reason why `__dlpack__` of an object must not be called, if there is one.
#[pyfunction]
pub(crate) fn _unsafe_dlpack(object: &Bound<'_, PyAny>) -> Option<String> {
    check(object).err().map(|error| error.value(object.py()).to_string())
}
