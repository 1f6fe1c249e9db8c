//! Arrow, inwards: objects with `__arrow_c_array__`, `__arrow_c_device_array__` or `__arrow_c_stream__`.

use crossdock::DArray;
use crossdock::exchange::protocol::arrow::abi::{
    ArrowArray, ArrowArrayStream, ArrowDeviceArray, ArrowSchema,
};
use crossdock::exchange::protocol::arrow::{self, Imported, Stream};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::capsule::{Boxed, unboxed};
use crate::errors;
use crate::object::wrap;

/// What [`take`] is to give.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Truth values beside the elements, false where one is null.
    pub(crate) validity: bool,
    /// A list with an item for each chunk.
    pub(crate) chunks: bool,
}

/// Whether an object has one of the methods.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.hasattr(intern!(py, "__arrow_c_array__"))?
        || object.hasattr(intern!(py, "__arrow_c_device_array__"))?
        || object.hasattr(intern!(py, "__arrow_c_stream__"))?)
}

/// The chunks that an object lends, at most so many: one, unless it is a stream.
fn ask(object: &Bound<'_, PyAny>, most: usize) -> PyResult<Vec<Imported>> {
    let py = object.py();
    if let Some(method) = object.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let pair =
            pair(&method.call0().map_err(|error| errors::producer(py, "__arrow_c_array__()", error))?)?;
        let schema = unboxed::<ArrowSchema>(&pair.0, "__arrow_c_array__")?;
        let array = unboxed::<ArrowArray>(&pair.1, "__arrow_c_array__")?;
        // SAFETY: structs on loan, which nobody else consumes: what the capsules hold is marked as moved. What they say of their memory is
        // the protocol's word.
        let imported = unsafe { arrow::take_over(schema, array) };
        return Ok(vec![imported.map_err(|error| errors::refusal(&error))?]);
    }
    if let Some(method) = object.getattr_opt(intern!(py, "__arrow_c_device_array__"))? {
        let pair = pair(
            &method.call0().map_err(|error| errors::producer(py, "__arrow_c_device_array__()", error))?,
        )?;
        let schema = unboxed::<ArrowSchema>(&pair.0, "__arrow_c_device_array__")?;
        let array = unboxed::<ArrowDeviceArray>(&pair.1, "__arrow_c_device_array__")?;
        // SAFETY: as above.
        let imported = unsafe { arrow::take_over_device(schema, array) };
        return Ok(vec![imported.map_err(|error| errors::refusal(&error))?]);
    }
    let method = object.getattr(intern!(py, "__arrow_c_stream__")).map_err(|_| not_arrow(object))?;
    let capsule = method.call0().map_err(|error| errors::producer(py, "__arrow_c_stream__()", error))?;
    let stream = unboxed::<ArrowArrayStream>(&capsule, "__arrow_c_stream__")?;
    // SAFETY: as above.
    let stream = unsafe { Stream::take_over(stream) }.map_err(|error| errors::refusal(&error))?;
    stream.take(most).map(|chunk| chunk.map_err(|error| errors::refusal(&error))).collect()
}

fn pair<'py>(given: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    given.extract().map_err(|_| {
        let names = (ArrowSchema::NAME.to_string_lossy(), ArrowArray::NAME.to_string_lossy());
        PyTypeError::new_err(format!("a column comes as two capsules, {:?} and {:?}", names.0, names.1))
    })
}

#[cold]
fn not_arrow(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!(
        "{name} has none of __arrow_c_array__, __arrow_c_device_array__ and __arrow_c_stream__"
    ))
}

/// The only chunk that an object lends.
fn only(object: &Bound<'_, PyAny>) -> PyResult<Imported> {
    let mut chunks = ask(object, 2)?;
    match (chunks.pop(), chunks.is_empty()) {
        (Some(chunk), true) => Ok(chunk),
        (Some(_), false) => Err(PyBufferError::new_err(
            "the elements come in more than one chunk, and chunks lie apart: crossdock.from_arrow(obj, chunks=True) gives an array for \
             each; or let their library make one of them (combine_chunks(), rechunk()), by a copy",
        )),
        (None, _) => Err(PyBufferError::new_err(
            "the stream has no chunk (left), and so there is no array: crossdock.from_arrow(obj, chunks=True) gives an empty list",
        )),
    }
}

/// An array in place on the one column that an object lends.
pub(crate) fn lend(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    only(object)?.into_array().map_err(|error| errors::refusal(&error))
}

/// The columns that an object lends as records, by a copy. None where it lends no struct.
pub(crate) fn records(object: &Bound<'_, PyAny>) -> PyResult<Option<DArray>> {
    let chunk = only(object)?;
    match chunk.child_names() {
        Some(_) => chunk.into_records().map(Some).map_err(|error| errors::refusal(&error)),
        None => Ok(None),
    }
}

/// What an object lends: a column as an array, or the columns of a struct by name; of each chunk where that is wanted.
pub(crate) fn take<'py>(object: &Bound<'py, PyAny>, wanted: Wanted) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if wanted.chunks {
        let items: Vec<_> = ask(object, usize::MAX)?
            .into_iter()
            .map(|chunk| arrays(py, chunk, wanted))
            .collect::<PyResult<_>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    arrays(py, only(object)?, wanted)
}

fn arrays(py: Python<'_>, chunk: Imported, wanted: Wanted) -> PyResult<Bound<'_, PyAny>> {
    let raise = |error| errors::refusal(&error);
    if chunk.child_names().is_none() {
        return if wanted.validity {
            let (values, valid) = chunk.into_array_with_validity().map_err(raise)?;
            with_validity(py, values, valid)
        } else {
            wrap(py, chunk.into_array().map_err(raise)?)
        };
    }
    let columns = PyDict::new(py);
    if wanted.validity {
        for (name, values, valid) in chunk.into_columns_with_validity().map_err(raise)? {
            columns.set_item(name, with_validity(py, values, valid)?)?;
        }
    } else {
        for (name, values) in chunk.into_columns().map_err(raise)? {
            columns.set_item(name, wrap(py, values)?)?;
        }
    }
    Ok(columns.into_any())
}

fn with_validity(py: Python<'_>, values: DArray, valid: Option<DArray>) -> PyResult<Bound<'_, PyAny>> {
    let valid = match valid {
        Some(valid) => wrap(py, valid)?,
        None => py.None().into_bound(py),
    };
    Ok(PyTuple::new(py, [wrap(py, values)?, valid])?.into_any())
}
