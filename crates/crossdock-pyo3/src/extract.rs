//! An argument as a typed array: imported, and checked for its dtype, rank and place.

use crossdock::buffer::Buffer;
use crossdock::element::Element;
use crossdock::memory::Birth;
use crossdock::{Array, DArray};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule::UNWRITTEN;
use crate::dtype_object::dtype_text;
use crate::errors::{self, exception};
use crate::{arrow, protocols};

/// How an object's memory is imported.
pub(crate) type Lend = fn(&Bound<'_, PyAny>) -> PyResult<DArray>;

/// An array on an object's memory, by the first protocol that exports it.
///
/// Memory that only a promise keeps constant, as that of Arrow columns, gets [`Birth::Aliased`]: a
/// Python program can write the memory of a column that was made over a NumPy array, and no
/// protocol tells.
pub(crate) fn any(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let array = protocols::lend_unmasked(object)?;
    if array.relies_on_promise() && array.place().is_host() { doubted(array) } else { Ok(array) }
}

/// The same elements, read-only, of which `&T` is never given.
fn doubted(array: DArray) -> PyResult<DArray> {
    // The lease waits for the events of the import.
    let pinned = array.buffer().and_then(|(memory, _)| memory.pin());
    let lease = pinned.map_err(|error| errors::refusal(&error))?;
    let (dtype, layout) = (array.dtype().clone(), array.layout().clone());
    let start = array.as_ptr().cast_mut().wrapping_byte_offset(layout.span().low());
    let (low, nbytes) = (layout.span().low().unsigned_abs(), layout.span().nbytes());
    let (place, kept) = (array.place(), (lease, array));
    let release = move || drop(kept);
    // SAFETY: clauses 1 and 2 of `from_foreign`: `kept` keeps the memory of the span, which the
    // array's layout was checked against, and memory on the host is initialised. Clause 4: other
    // parties may write it.
    let buffer = unsafe { Buffer::from_foreign(start, nbytes, place, Birth::Aliased, release) };
    let made = buffer.and_then(|buffer| DArray::from_buffer(buffer.into_readonly(), dtype, layout, low));
    made.map_err(|error| errors::refusal(&error))
}

/// As [`any`], of memory that no party writes: `bytes`, and memory of Crossdock under a Read lease,
/// which an array of Crossdock exports by Arrow with a mark.
pub(crate) fn constant(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let array = any(object)?;
    let method = object.getattr_opt(intern!(object.py(), "__arrow_c_array__"))?;
    let Some(method) = method.filter(|_| array.birth() == Birth::Aliased) else { return Ok(array) };
    let (dtype, shape) = (array.dtype().clone(), array.shape().to_vec());
    // The first lease, under which others may write, ends before the Read lease is requested.
    drop(array);
    match unwritten(&method) {
        Some(unwritten) if *unwritten.dtype() == dtype && unwritten.shape() == shape => Ok(unwritten),
        _ => any(object),
    }
}

/// The column that `__arrow_c_array__` returns, if its capsule has the mark of an array of
/// Crossdock, of any extension.
fn unwritten(method: &Bound<'_, PyAny>) -> Option<DArray> {
    let given = method.call0().ok()?;
    let (_, column): (Bound<'_, PyAny>, Bound<'_, PyCapsule>) = given.extract().ok()?;
    // SAFETY: `column` is a live capsule, and its `Bound` proves that this thread holds the GIL.
    let context = unsafe { ffi::PyCapsule_GetContext(column.as_ptr()) };
    if context.addr() != UNWRITTEN {
        return None;
    }
    arrow::import::on_host(&given).ok()?.into_array().ok()
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
