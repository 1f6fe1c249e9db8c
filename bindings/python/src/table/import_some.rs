//! Tables without the columns that cannot be imported.

use crossdock::bindings::arrow::{self, ArrowArrayStream};
use crossdock::bindings::table::remaining;
use crossdock::table::{Checks, RecordBatchReader as _};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::capsule::unboxed;
use crate::descriptors;
use crate::errors::{self, text};
use crate::table::import::{capsules, column, of_columns, stream_of, text_of, whole};
use crate::table::import_device;
use crate::table::table_object::Table;

/// A column of another library, with its name.
type NamedObject<'py> = (String, Bound<'py, PyAny>);

/// The table of an object without the columns that cannot be imported.
pub(super) fn table(obj: &Bound<'_, PyAny>) -> PyResult<Table> {
    let py = obj.py();
    descriptors::register(py)?;
    if obj.is_instance_of::<Table>() {
        return whole(obj);
    }
    if let Ok(columns) = obj.cast::<PyDict>() {
        let all = columns.iter().map(|(name, object)| Ok((text_of(&name)?, object)));
        return each(all.collect::<PyResult<_>>()?);
    }
    match imported(obj) {
        Err(error) if !errors::is_passed_on(py, &error) => match by_names(obj)? {
            Some(columns) => each(columns),
            None => Err(error),
        },
        done => done,
    }
}

/// The columns that can be imported, by the methods of the object itself.
fn imported(obj: &Bound<'_, PyAny>) -> PyResult<Table> {
    let py = obj.py();
    // For memory of a device, the other methods can only refuse, or copy silently.
    if let Some((schema, batches)) = import_device::table(obj)? {
        return Ok(Table::new(schema, batches));
    }
    if obj.hasattr(intern!(py, "__arrow_c_stream__"))? {
        return of_stream(obj);
    }
    match obj.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        Some(method) => of_batch(&method),
        None => whole(obj),
    }
}

/// The columns of a frame by their names, if it has them.
fn by_names<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Option<Vec<NamedObject<'py>>>> {
    for attribute in ["column_names", "columns"] {
        let Some(names) = obj.getattr_opt(attribute)? else { continue };
        let Ok(names) = names.try_iter() else { continue };
        let names = names.collect::<PyResult<Vec<_>>>()?;
        if names.iter().all(|name| name.is_instance_of::<PyString>()) {
            let columns = names.into_iter().map(|name| Ok((text_of(&name)?, obj.get_item(name)?)));
            return columns.collect::<PyResult<_>>().map(Some);
        }
    }
    Ok(None)
}

/// The columns that can be imported.
fn each(columns: Vec<NamedObject<'_>>) -> PyResult<Table> {
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for (name, object) in columns {
        match column(&object) {
            Ok(column) => kept.push((name, column)),
            Err(error) if !errors::is_passed_on(object.py(), &error) => {
                refused.push((name, error.value(object.py()).to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(of_columns(kept)?.without(refused))
}

fn of_stream(obj: &Bound<'_, PyAny>) -> PyResult<Table> {
    let given = stream_of(obj)?;
    let stream = unboxed::<ArrowArrayStream>(&given, "__arrow_c_stream__")?;
    // SAFETY: the struct belongs to the capsule, and no other consumer has it: the import marks it
    // as moved. Its content is as the protocol requires.
    let stream = unsafe { arrow::import_stream_skipping(stream, Checks::Shape) };
    let (mut stream, refused) = stream.map_err(|error| errors::refusal(&error))?;
    let read = move || crossdock::Result::Ok((stream.schema().clone(), remaining(&mut stream)?));
    let (schema, batches) = obj.py().detach(read).map_err(|error| errors::refusal(&error))?;
    Ok(Table::new(schema, batches).without(texts(&refused)))
}

fn of_batch(method: &Bound<'_, PyAny>) -> PyResult<Table> {
    let given =
        method.call0().map_err(|error| errors::producer(method.py(), "__arrow_c_array__()", error))?;
    let (schema, array) = capsules(&given)?;
    // SAFETY: the structs belong to the capsules, and no other consumer has them: the import marks
    // them as moved. Their content is as the protocol requires.
    let imported = unsafe { arrow::import_batch_skipping(schema, array, Checks::Shape) };
    let (batch, refused) = imported.map_err(|error| errors::refusal(&error))?;
    Ok(Table::new(batch.schema().clone(), vec![batch]).without(texts(&refused)))
}

fn texts(refused: &[(String, crossdock::Error)]) -> Vec<(String, String)> {
    refused.iter().map(|(name, error)| (name.clone(), text(error))).collect()
}
