//! Objects with `__buffer__` (PEP 688), for interpreters before 3.12, which do not call it.

use crossdock::DArray;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::buffer;
use crate::owner::Owner;

/// The request flags for every property of a buffer, readable and writable.
const FULL: i32 = 0x11C;

/// The view that `__buffer__` returned, which `__release_buffer__` gets back.
#[pyclass(frozen, module = "crossdock")]
struct Given {
    object: Py<PyAny>,
    view: Py<PyAny>,
}

impl Drop for Given {
    fn drop(&mut self) {
        // The interpreter drops it, with the GIL held.
        Python::attach(|py| {
            let release = self.object.bind(py).getattr(intern!(py, "__release_buffer__"));
            if let Ok(release) = release
                && let Err(error) = release.call1((&self.view,))
            {
                error.write_unraisable(py, Some(self.object.bind(py)));
            }
        });
    }
}

/// Whether an object's class has the method.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!buffer::is_offered(object) && object.get_type().hasattr(intern!(object.py(), "__buffer__"))?)
}

/// An array on the view that `__buffer__` returns, which is released by `__release_buffer__`.
pub(crate) fn lend(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let py = object.py();
    let view = object.call_method1(intern!(py, "__buffer__"), (FULL,))?;
    if !view.is_instance_of::<PyMemoryView>() {
        let name = view.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("__buffer__() gave {name}, and no memoryview")));
    }
    let given = Bound::new(py, Given { object: object.clone().unbind(), view: view.clone().unbind() })?;
    buffer::lend(&view, Some(Owner::object(given.as_any())))
}
