//! What the Python package `crossdock.array_api` is made of besides the functions of the module.

use crossdock::layout::Order;
use crossdock::{Array, Casting, DArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::detach::{detached, making};
use crate::dtype::read_dtype;
use crate::errors::Raise;
use crate::object::{downcast, wrap};

/// A converted copy. Floats are truncated to integers, and numbers out of range are clamped.
#[pyfunction]
#[pyo3(signature = (x, dtype, /))]
pub(crate) fn _saturated<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = read_dtype(dtype)?;
    let own = downcast(x).ok_or_else(|| PyTypeError::new_err("_saturated() takes a crossdock.Array"))?;
    let cast = |array: &DArray| array.cast(&dtype, Order::RowMajor, Casting::Saturating);
    wrap(py, detached(py, &own.array, cast).raise()?)
}

/// `num` evenly spaced `float64` from `start` on. The last one is `stop` if `endpoint` is true.
#[pyfunction]
#[pyo3(signature = (start, stop, num, endpoint, /))]
pub(crate) fn _linspace(
    py: Python<'_>,
    start: f64,
    stop: f64,
    num: usize,
    endpoint: bool,
) -> PyResult<Bound<'_, PyAny>> {
    wrap(py, making(py, num.saturating_mul(8), || spaced(start, stop, num, endpoint)).raise()?)
}

fn spaced(start: f64, stop: f64, num: usize, endpoint: bool) -> crossdock::Result<DArray> {
    let array = Array::<f64, 1>::zeros([num])?;
    let gaps = if endpoint { num.saturating_sub(1) } else { num } as f64;
    let mut write = array.write()?;
    for (index, element) in write.iter_mut().enumerate() {
        let part = index as f64 / gaps;
        // The difference of two finite numbers may overflow; the two products do not.
        *element = match stop - start {
            _ if index == 0 => start,
            _ if index as f64 == gaps => stop,
            distance if distance.is_finite() => start + distance * part,
            _ => start * (1.0 - part) + stop * part,
        };
    }
    drop(write);
    Ok(array.into())
}
