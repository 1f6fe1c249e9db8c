//! The type that the wheel has for bytes, which an extension has not.

use crossdock::DArray;
use pyo3::prelude::*;

use crate::object::downcast;

/// The array behind an object of this extension: it is imported with the leases that it has.
pub(crate) fn lent(object: &Bound<'_, PyAny>) -> Option<PyResult<DArray>> {
    downcast(object).map(|own| Ok(own.array.clone()))
}
