//! PyTorch's tensors, whose memory PyTorch may free although a consumer of DLPack holds them.
//!
//! A capsule of PyTorch's holds the tensor object in C++. `t.data = …`, `t.set_(…)` and a module's
//! conversions give that object another storage, and `t.resize_(…)` reallocates the storage that it
//! has. `Tensor.numpy()` is safe from all of these: its array holds a tensor that no other code
//! has, and it marks the storage as not resizable.
//!
//! Reasons: `DESIGN.md`, "An imported tensor cannot be resized".

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyType};

use crate::{errors, modules};

/// Another tensor on the storage of a tensor of PyTorch's, which no other code has. On the CPU the
/// storage can no longer be resized. `None` for other objects, and for tensors that require a
/// gradient, which PyTorch does not export.
pub(crate) fn own_tensor<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if !is_tensor(object) || object.getattr(intern!(py, "requires_grad"))?.is_truthy()? {
        return Ok(None);
    }
    let asked = |error| errors::producer(py, "detach()", error);
    let own = object.call_method0(intern!(py, "detach")).map_err(asked)?;
    match forbid_resizing(&own) {
        // Tensors without a storage are not exported either.
        Err(error) if !errors::is_passed_on(py, &error) => {}
        forbidden => forbidden?,
    }
    Ok(Some(own))
}

fn is_tensor(object: &Bound<'_, PyAny>) -> bool {
    let py = object.py();
    if modules::has_static_class(object) {
        return false;
    }
    let Some(torch) = modules::imported(intern!(py, "torch")) else { return false };
    let Ok(class) = torch.getattr(intern!(py, "Tensor")) else { return false };
    // The metaclass of some subclasses counts other objects as instances.
    let Ok(class) = class.cast_into::<PyType>() else { return false };
    // SAFETY: both are live types, which `object` and `class` keep alive, and `py` proves that this
    // thread holds the GIL.
    unsafe { ffi::PyType_IsSubtype(object.get_type_ptr(), class.as_type_ptr()) != 0 }
}

/// Marks the storage of a tensor on the CPU as not resizable, as `Tensor.numpy()` does.
fn forbid_resizing(tensor: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = tensor.py();
    if !tensor.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
        return Ok(());
    }
    let storage = tensor.call_method0(intern!(py, "untyped_storage"))?;
    if !storage.call_method0(intern!(py, "resizable"))?.is_truthy()? {
        return Ok(());
    }
    let numpy = intern!(py, "numpy");
    let torch = py.import(intern!(py, "torch"))?;
    // A failed call costs more than the rest of the import.
    let is_bfloat16 = tensor.getattr(intern!(py, "dtype"))?.is(torch.getattr(intern!(py, "bfloat16"))?);
    if !is_bfloat16 {
        match tensor.call_method0(numpy) {
            Err(error) if !errors::is_passed_on(py, &error) => {}
            answer => return answer.map(drop),
        }
    }
    // NumPy lacks the dtype. It has bytes, for which a tensor without elements suffices.
    let named =
        [("dtype", torch.getattr(intern!(py, "uint8"))?), ("device", "cpu".into_pyobject(py)?.into_any())];
    let bytes = torch.call_method(intern!(py, "empty"), (0,), Some(&named.into_py_dict(py)?))?;
    bytes.call_method1(intern!(py, "set_"), (&storage,))?.call_method0(numpy)?;
    Ok(())
}
