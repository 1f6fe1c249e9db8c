//! NumPy's masked arrays: neither a dtype nor a buffer expresses which elements are masked.

use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;

use crate::{modules, words};

/// Refuses a NumPy array with masked elements. Instances of static classes are never masked arrays.
///
/// # Errors
///
/// `BufferError` if an element is masked.
#[inline]
pub(crate) fn check(object: &Bound<'_, PyAny>) -> PyResult<()> {
    if modules::has_static_class(object) { Ok(()) } else { check_class(object) }
}

#[cold]
fn check_class(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    // Without the module there are no masked arrays.
    let Some(module) = modules::imported(intern!(py, "numpy.ma")) else { return Ok(()) };
    if !object.is_instance(&module.getattr(intern!(py, "MaskedArray"))?)? {
        return Ok(());
    }
    let is_masked = match module.call_method1(intern!(py, "is_masked"), (object,)) {
        Ok(answer) => answer.is_truthy()?,
        // A mask of records has a boolean for each field, which cannot be reduced.
        Err(_) => {
            let bytes: Vec<u8> = object.getattr(intern!(py, "mask"))?.call_method0("tobytes")?.extract()?;
            bytes.iter().any(|&byte| byte != 0)
        }
    };
    if !is_masked {
        return Ok(());
    }
    Err(PyBufferError::new_err(format!(
        "elements are masked, which no dtype says: x.filled(value) fills them, x.data has the values alone{}",
        words::MASK_AS_NULLS
    )))
}
