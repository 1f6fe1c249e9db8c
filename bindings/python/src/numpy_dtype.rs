//! NumPy's dtype for a dtype of this library. NumPy is imported at the first use.

use crossdock::bindings::dialect::typestr;
use crossdock::element::{DType, ScalarKind};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;

/// Dtypes that NumPy itself lacks, and that DLPack and `ml_dtypes` have.
pub(crate) const EXTENDED: [DType; 13] = [
    DType::BF16,
    DType::native(ScalarKind::Complex32),
    DType::native(ScalarKind::Float8E3M4),
    DType::native(ScalarKind::Float8E4M3),
    DType::native(ScalarKind::Float8E4M3B11Fnuz),
    DType::native(ScalarKind::Float8E4M3Fn),
    DType::native(ScalarKind::Float8E4M3Fnuz),
    DType::native(ScalarKind::Float8E5M2),
    DType::native(ScalarKind::Float8E5M2Fnuz),
    DType::native(ScalarKind::Float8E8M0Fnu),
    DType::native(ScalarKind::Float6E2M3Fn),
    DType::native(ScalarKind::Float6E3M2Fn),
    DType::native(ScalarKind::Float4E2M1Fn),
];

/// The NumPy dtype that is equal to a dtype. Imports NumPy, and `ml_dtypes` for what NumPy lacks.
///
/// # Errors
///
/// `TypeError` if NumPy has no such type.
pub(crate) fn dtype<'py>(py: Python<'py>, dtype: &DType) -> PyResult<Bound<'py, PyAny>> {
    for_export(py, dtype).map_err(|error| match error.is_instance_of::<PyBufferError>(py) {
        true => PyTypeError::new_err(error.value(py).to_string()),
        false => error,
    })
}

/// [`dtype`], for an export of elements.
pub(crate) fn for_export<'py>(py: Python<'py>, dtype: &DType) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    if let Ok(text) = typestr::print(dtype) {
        if dtype.as_scalar().is_some() {
            return numpy.call_method1("dtype", (text,));
        }
        let literal = py.import("ast")?.call_method1("literal_eval", (text,))?;
        return numpy.call_method1("dtype", (literal,));
    }
    let unknown = || {
        let text = format!("NumPy has no type for elements of {}: x.astype(...) converts them", dtype);
        PyBufferError::new_err(text)
    };
    if !EXTENDED.contains(dtype) {
        return Err(unknown());
    }
    let types = py.import("ml_dtypes").map_err(|_| {
        let text = format!("NumPy has no {} by itself: install ml_dtypes", dtype);
        PyBufferError::new_err(text)
    })?;
    let class = types.getattr(dtype.to_string()).map_err(|_| unknown())?;
    numpy.call_method1("dtype", (class,))
}
