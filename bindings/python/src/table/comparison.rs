//! `==` of tables and columns, which is refused, with the expression that compares.
//!
//! Reasons: `DESIGN.md`, "`==` compares whole arrays, and nothing else".

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::convert::is_value;
use crate::object::downcast;

/// `==` and `!=`: an object is equal to itself. NumPy's arrays and the like compare by their own
/// rules, and other data are refused with this remedy.
pub(super) fn compared<'py>(
    this: &Bound<'py, PyAny>,
    other: &Bound<'py, PyAny>,
    how: CompareOp,
    remedy: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = this.py();
    let theirs = || py.NotImplemented().into_bound(py);
    let sign = match how {
        CompareOp::Eq => "==",
        CompareOp::Ne => "!=",
        _ => return Ok(theirs()),
    };
    // The interpreter compares by identity.
    if this.is(other) {
        return Ok(theirs());
    }
    if other.hasattr(intern!(py, "__array_ufunc__"))? {
        return Ok(theirs());
    }
    if !is_data(other)? {
        return Ok(theirs());
    }
    let name = this.get_type().qualname()?;
    Err(PyTypeError::new_err(format!(
        "a crossdock.{name} is equal to itself alone: {}",
        remedy.replace("==", sign)
    )))
}

fn is_data(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let is_container = object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyDict>();
    if is_container || is_value(object) || downcast(object).is_some() {
        return Ok(true);
    }
    for name in [intern!(py, "__arrow_c_array__"), intern!(py, "__arrow_c_stream__")] {
        if object.hasattr(name)? {
            return Ok(true);
        }
    }
    Ok(false)
}
