//! Shapes, axes and orders in Python arguments.

use crossdock::element::DType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::parameters::{integer, integers};

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
    let lengths = integers(shape)?.ok_or_else(|| {
        let name = shape.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("a shape is an integer or a sequence of integers, not {shape} ({name})"))
    })?;
    let extent = |len: isize| {
        usize::try_from(len)
            .map_err(|_| PyValueError::new_err(format!("an axis of length {len} in shape {lengths:?}")))
    };
    lengths.iter().map(|&len| extent(len)).collect()
}

/// The numbers of `x.f(1, 2)`, or of `x.f((1, 2))`.
pub(crate) fn spread(given: &[Bound<'_, PyAny>]) -> PyResult<Vec<isize>> {
    match given {
        [only] => match integers(only)? {
            Some(numbers) => Ok(numbers),
            None => Err(PyTypeError::new_err(format!("integers are needed, not {only}"))),
        },
        several => several.iter().map(integer).collect(),
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
