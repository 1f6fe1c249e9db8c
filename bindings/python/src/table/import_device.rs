//! Tables and columns in the memory of devices: `__arrow_c_device_stream__` and
//! `__arrow_c_device_array__` of other objects.

use crossdock::bindings::arrow::abi::{ArrowDeviceArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ArrowDeviceArrayStream};
use crossdock::bindings::table::remaining;
use crossdock::table::{Checks, Column, Field, RecordBatch, RecordBatchReader, Schema};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arrow::pair;
use crate::capsule::unboxed;
use crate::errors;

/// What an object exports by the C Device interface; `None` if it does not, or refuses and has a
/// method for the CPU.
pub(super) fn table(object: &Bound<'_, PyAny>) -> PyResult<Option<(Schema, Vec<RecordBatch>)>> {
    let py = object.py();
    if let Some(given) = asked(object, intern!(py, "__arrow_c_device_stream__"))? {
        let stream = unboxed::<ArrowDeviceArrayStream>(&given, "__arrow_c_device_stream__")?;
        // SAFETY: the struct belongs to the capsule, and no other consumer has it: the import marks
        // it as moved. Its content is as the protocol requires.
        let stream = unsafe { arrow::import_device_stream(stream, Checks::Shape) };
        let mut stream = stream.map_err(|error| errors::refusal(&error))?;
        let read = move || crossdock::Result::Ok((stream.schema().clone(), remaining(&mut stream)?));
        return py.detach(read).map(Some).map_err(|error| errors::refusal(&error));
    }
    if object.hasattr(intern!(py, "__arrow_c_stream__"))? {
        return Ok(None);
    }
    let Some(given) = asked(object, intern!(py, "__arrow_c_device_array__"))? else { return Ok(None) };
    let (schema, array) = capsules(&given)?;
    // SAFETY: the structs belong to the capsules, and no other consumer has them: the import marks
    // them as moved. Their content is as the protocol requires.
    let batch = unsafe { arrow::import_device_batch(schema, array, Checks::Shape) };
    let batch = batch.map_err(|error| errors::refusal(&error))?;
    Ok(Some((batch.schema().clone(), vec![batch])))
}

/// As [`table`], of a column.
pub(super) fn column(object: &Bound<'_, PyAny>) -> PyResult<Option<(Field, Vec<Column>)>> {
    let py = object.py();
    if let Some(given) = asked(object, intern!(py, "__arrow_c_device_array__"))? {
        let (schema, array) = capsules(&given)?;
        // SAFETY: the structs belong to the capsules, and no other consumer has them: the import
        // marks them as moved. Their content is as the protocol requires.
        let imported = unsafe { arrow::import_device_column(schema, array, Checks::Shape) };
        let (field, column) = imported.map_err(|error| errors::refusal(&error))?;
        return Ok(Some((field, vec![column])));
    }
    if object.hasattr(intern!(py, "__arrow_c_array__"))? {
        return Ok(None);
    }
    let Some(given) = asked(object, intern!(py, "__arrow_c_device_stream__"))? else { return Ok(None) };
    let stream = unboxed::<ArrowDeviceArrayStream>(&given, "__arrow_c_device_stream__")?;
    // SAFETY: the struct belongs to the capsule, and no other consumer has it: the import marks it
    // as moved. Its content is as the protocol requires.
    let imported = unsafe { arrow::import_device_chunks(stream, Checks::Shape) };
    imported.map(Some).map_err(|error| errors::refusal(&error))
}

/// What a method gives. `None` if there is none, or if it refuses and the object has a method for
/// the CPU.
fn asked<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let Some(method) = object.getattr_opt(name)? else { return Ok(None) };
    match method.call0() {
        Ok(given) => Ok(Some(given)),
        Err(error) if errors::is_passed_on(py, &error) => Err(error),
        Err(_) if object.hasattr(intern!(py, "__arrow_c_stream__"))? => Ok(None),
        Err(_) if object.hasattr(intern!(py, "__arrow_c_array__"))? => Ok(None),
        Err(error) => Err(errors::producer(py, &format!("{name}()"), error)),
    }
}

/// The addresses of the structs in the two capsules of `__arrow_c_device_array__`.
fn capsules(given: &Bound<'_, PyAny>) -> PyResult<(*mut ArrowSchema, *mut ArrowDeviceArray)> {
    let (schema, array) = pair(given)?;
    Ok((unboxed(&schema, "__arrow_c_device_array__")?, unboxed(&array, "__arrow_c_device_array__")?))
}
