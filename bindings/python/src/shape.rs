//! Shapes, axes and orders in Python arguments.

use crossdock::element::DType;
use crossdock::layout::Order;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The order for one of NumPy's letters.
pub(crate) fn order(text: &str) -> PyResult<Order> {
    match text {
        "C" => Ok(Order::RowMajor),
        "F" => Ok(Order::ColumnMajor),
        other => Err(PyValueError::new_err(format!(
            "order {other:?} is neither 'C' (row-major) nor 'F' (column-major)"
        ))),
    }
}

/// The number of elements in a number of bytes.
pub(crate) fn elements(nbytes: usize, dtype: &DType) -> PyResult<usize> {
    let size = dtype.itemsize();
    let len = nbytes.checked_div(size).filter(|len| len * size == nbytes);
    len.ok_or_else(|| {
        PyValueError::new_err(format!("{nbytes} bytes are no whole number of elements of {size} bytes"))
    })
}

/// The lengths of the axes, from one integer or a sequence.
pub(crate) fn extents(shape: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let lengths: Vec<isize> = match shape.extract() {
        Ok(len) => vec![len],
        Err(error) if error.is_instance_of::<PyOverflowError>(shape.py()) => return Err(too_long(shape)),
        Err(_) => shape.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(shape.py()) {
                return too_long(shape);
            }
            let name = shape.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
            PyTypeError::new_err(format!(
                "a shape is an integer or a sequence of integers, not {shape} ({name})"
            ))
        })?,
    };
    let extent = |len: isize| {
        usize::try_from(len)
            .map_err(|_| PyValueError::new_err(format!("an axis of length {len} in shape {lengths:?}")))
    };
    lengths.iter().map(|&len| extent(len)).collect()
}

fn too_long(shape: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!("an axis of shape {shape} is longer than {} elements", isize::MAX))
}

/// The numbers of `x.f(1, 2)`, or of `x.f((1, 2))`.
pub(crate) fn spread(mut given: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<isize>> {
    match given.as_slice() {
        [only] if only.extract::<isize>().is_err() => given.remove(0).extract(),
        _ => given.iter().map(|number| number.extract()).collect(),
    }
}

/// A shape of `len` elements, in which -1 stands for the length that follows from the others.
pub(crate) fn inferred(shape: &[isize], len: usize) -> PyResult<Vec<usize>> {
    let wrong = || PyValueError::new_err(format!("{len} elements do not go into the shape {shape:?}"));
    let unknown = shape.iter().filter(|&&extent| extent == -1).count();
    let known: usize = shape
        .iter()
        .filter(|&&extent| extent != -1)
        .try_fold(1_usize, |product, &extent| product.checked_mul(usize::try_from(extent).ok()?))
        .ok_or_else(wrong)?;
    let rest = match unknown {
        0 => 0,
        1 if known > 0 && len.is_multiple_of(known) => len / known,
        _ => return Err(wrong()),
    };
    Ok(shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(rest)).collect())
}
