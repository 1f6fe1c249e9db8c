//! An array of any dtype and rank, as an argument and as a result.

use std::ops::Deref;

use crossdock::element::Element;
use crossdock::{Array, DArray};
use pyo3::prelude::*;

use crate::array_type;
use crate::object::wrap;
use crate::protocols;

/// An array of any dtype and rank.
///
/// As an argument it imports an array zero-copy, from any device, and holds no lease: its methods
/// take one for each access. As a result it becomes a Python object that lends its memory by the
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
        protocols::lend_unmasked(&object).map(Self)
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
