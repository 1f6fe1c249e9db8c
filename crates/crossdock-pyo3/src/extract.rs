//! An argument as a typed array: imported, and checked for its dtype, rank and place.

use crossdock::element::Element;
use crossdock::memory::Birth;
use crossdock::{Array, DArray};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::dtype_object::dtype_text;
use crate::errors::exception;
use crate::{arrow, protocols};

/// How an object's memory is imported.
pub(crate) type Lend = fn(&Bound<'_, PyAny>) -> PyResult<DArray>;

/// An array on an object's memory, by the first protocol that exports it.
pub(crate) fn any(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    protocols::lend_unmasked(object)
}

/// As [`any`], by a protocol that promises that no party writes the memory, if there is one. The
/// buffer protocol has no such promise, and Arrow makes it.
pub(crate) fn constant(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let array = any(object)?;
    if array.birth() != Birth::Aliased || !arrow::is_offered(object)? {
        return Ok(array);
    }
    let (dtype, shape) = (array.dtype().clone(), array.shape().to_vec());
    {
        // The first lease, under which others may write, ends before the promise is requested.
        drop(array);
    }
    match arrow::lend(object) {
        Ok(promised) if *promised.dtype() == dtype && promised.shape() == shape => Ok(promised),
        _ => any(object),
    }
}

/// A typed array on an object's memory, on the CPU, as `lend` imports it.
pub(crate) fn typed<T: Element, const D: usize>(
    object: &Bound<'_, PyAny>,
    lend: Lend,
) -> PyResult<Array<T, D>> {
    let array = lend(object)?;
    let (refused, error) = match check::<T, D>(&array) {
        Ok(()) => match Array::try_from(array) {
            Ok(array) => return Ok(array),
            Err(rejected) => (rejected.value, exception(&rejected.error)),
        },
        Err(error) => (array, error),
    };
    // The import ends at once, while the thread is known to hold the GIL.
    drop(refused);
    Err(error)
}

fn check<T: Element, const D: usize>(array: &DArray) -> PyResult<()> {
    if *array.dtype() != T::dtype() {
        let (given, needed) = (dtype_text(array.dtype()), dtype_text(&T::dtype()));
        return Err(PyTypeError::new_err(format!(
            "the elements are {given}, and {needed} is needed; convert them with `astype(\"{needed}\")`"
        )));
    }
    if array.rank() != D {
        let axes = |count: usize| if count == 1 { "1 axis".to_owned() } else { format!("{count} axes") };
        return Err(PyValueError::new_err(format!(
            "the array has {}, of lengths {:?}, and {} needed",
            axes(array.rank()),
            array.shape(),
            if D == 1 { "1 axis is".to_owned() } else { format!("{D} axes are") }
        )));
    }
    if !array.place().is_host() {
        return Err(PyBufferError::new_err(format!(
            "memory on {} is not accessible from the CPU; copy it with `to_device(\"cpu\")`",
            array.place()
        )));
    }
    Ok(())
}
