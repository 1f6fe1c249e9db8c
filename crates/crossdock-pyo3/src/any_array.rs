//! An array of any dtype and rank, as an argument and as a result.

use std::ops::Deref;

use crossdock::element::Element;
use crossdock::{Array, DArray};
use pyo3::prelude::*;

use crate::array_type;
use crate::extract;
use crate::object::wrap;

/// An array of any dtype and rank.
///
/// As an argument it imports an array zero-copy, from any device, and holds neither a lease nor a
/// claim: it may have the same memory as another argument. Its methods take a lease at each
/// access, and `read` and `write`, which lead to `&T` and `&mut T`, fail for imported memory other
/// than `bytes`; `pin` and `share` load and store by value.
///
/// As a result it becomes a Python object that lends its memory by the
/// buffer protocol, DLPack and Arrow: `np.asarray`, `torch.from_dlpack` and `pa.array` take it.
#[derive(Clone, Debug)]
pub struct AnyArray(pub DArray);

impl Deref for AnyArray {
    type Target = DArray;

    fn deref(&self) -> &DArray {
        &self.0
    }
}

impl From<DArray> for AnyArray {
    fn from(array: DArray) -> Self {
        Self(array)
    }
}

impl<T: Element, const D: usize> From<Array<T, D>> for AnyArray {
    fn from(array: Array<T, D>) -> Self {
        Self(array.into())
    }
}

impl<'py> FromPyObject<'_, 'py> for AnyArray {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        extract::any(&object).map(Self)
    }
}

impl<'py> IntoPyObject<'py> for AnyArray {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        array_type::ensure(py)?;
        wrap(py, self.0)
    }
}
