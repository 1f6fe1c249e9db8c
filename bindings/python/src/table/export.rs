//! Tables and columns in capsules, in place.

use crossdock::Result;
use crossdock::bindings::arrow::abi::ArrowSchema;
use crossdock::bindings::arrow::{self, Exported, ExportedStruct};
use crossdock::memory::{DeviceKind, LeaseKind, Place};
use crossdock::table::{self, Field, RecordBatch, RecordBatchReader, Schema};
use pyo3::exceptions::{PyBufferError, PyNotImplementedError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::capsule::{Boxed, boxed, unboxed};
use crate::errors;
use crate::words::words;

/// A stream of all batches.
pub(super) fn stream<'py>(
    py: Python<'py>,
    schema: &Schema,
    batches: &[RecordBatch],
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let refused = batches.iter().find_map(|batch| batch.lease(LeaseKind::Read).err());
    refused.map_or(Ok(()), |error| Err(errors::refusal(&error)))?;
    boxed(py, arrow::export_stream_in_words(reader(schema, batches, requested)?, words))
}

/// A stream of all batches, each in the memory of a device of the first one's kind.
pub(super) fn device_stream<'py>(
    py: Python<'py>,
    schema: &Schema,
    batches: &[RecordBatch],
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let refused = batches.iter().find_map(|batch| arrow::export_device_batch(batch).err());
    refused.map_or(Ok(()), |error| Err(errors::refusal(&error)))?;
    let columns = batches.iter().flat_map(RecordBatch::columns);
    let kind = kind_of(columns.filter_map(crossdock::Result::ok));
    boxed(py, arrow::export_device_stream(reader(schema, batches, requested)?, kind, words))
}

/// The batches. What can be refused is refused before there is a stream, whose consumers name a
/// number of the system alone.
fn reader(
    schema: &Schema,
    batches: &[RecordBatch],
    requested: Option<&Bound<'_, PyAny>>,
) -> PyResult<Box<OwnBatches>> {
    check_requested(schema, requested)?;
    refuse_schema(schema)?;
    Ok(Box::new(OwnBatches { schema: schema.clone(), batches: batches.to_vec(), next: 0 }))
}

/// The kind of device of the first column that is not on the CPU.
fn kind_of(mut columns: impl Iterator<Item = table::Column>) -> DeviceKind {
    let other = columns.find(|column| column.place() != Place::CPU);
    other.map_or(DeviceKind::CPU, |column| column.place().kind())
}

/// The type of a batch, a struct.
pub(super) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyAny>> {
    boxed(py, schema_of(schema)?)
}

fn schema_of(schema: &Schema) -> PyResult<ArrowSchema> {
    arrow::export_schema(schema).map_err(|error| errors::refusal(&error))
}

/// The error of an export of the schema, if there is one.
pub(super) fn refuse_schema(schema: &Schema) -> PyResult<()> {
    Boxed::release(&mut schema_of(schema)?);
    Ok(())
}

/// One batch, a struct.
pub(super) fn batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    check_requested(batch.schema(), requested)?;
    both(py, arrow::export_batch(batch))
}

/// One batch in the memory of its device.
pub(super) fn device_batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    check_requested(batch.schema(), requested)?;
    both(py, arrow::export_device_batch(batch))
}

/// One column in the memory of its device, as [`column`].
pub(super) fn device_column<'py>(
    py: Python<'py>,
    field: &Field,
    column: &table::Column,
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    requested_field(requested)?;
    both(py, arrow::export_device_column(field, column))
}

/// The type of a column.
pub(super) fn field<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyAny>> {
    boxed(py, arrow::export_field(field).map_err(|error| errors::refusal(&error))?)
}

/// One column. It comes as its own type, as the protocol permits, whatever is requested.
pub(super) fn column<'py>(
    py: Python<'py>,
    field: &Field,
    column: &table::Column,
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    requested_field(requested)?;
    both(py, arrow::export_column(field, column))
}

/// A stream of the chunks of a column.
pub(super) fn chunks<'py>(
    py: Python<'py>,
    field: &Field,
    chunks: &[table::Column],
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    requested_field(requested)?;
    // Refused here rather than in the stream, as of a table.
    for chunk in chunks {
        drop(arrow::export_column(field, chunk).map_err(|error| errors::refusal(&error))?);
    }
    boxed(py, arrow::export_chunks(field.clone(), chunks.to_vec(), words))
}

/// A stream of the chunks of a column, each in the memory of a device of the first one's kind.
pub(super) fn device_chunks<'py>(
    py: Python<'py>,
    field: &Field,
    chunks: &[table::Column],
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    requested_field(requested)?;
    for chunk in chunks {
        drop(arrow::export_device_column(field, chunk).map_err(|error| errors::refusal(&error))?);
    }
    let kind = kind_of(chunks.iter().cloned());
    boxed(py, arrow::export_device_chunks(field.clone(), chunks.to_vec(), kind, words))
}

/// Refuses arguments of future versions of the interface that are set.
pub(super) fn refuse_unknown(method: &str, others: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, value) in others.into_iter().flatten() {
        if !value.is_none() {
            return Err(PyNotImplementedError::new_err(format!(
                "{method}() does not know the argument {name}"
            )));
        }
    }
    Ok(())
}

fn both<A: ExportedStruct + Boxed>(
    py: Python<'_>,
    exported: Result<Exported<A>>,
) -> PyResult<Bound<'_, PyAny>> {
    let (schema, array) = exported.map_err(|error| errors::refusal(&error))?.into_raw();
    Ok(PyTuple::new(py, [boxed(py, schema)?, boxed(py, array)?])?.into_any())
}

/// The type that a consumer requests, which is moved out of its capsule.
fn requested_field(requested: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Field>> {
    let Some(requested) = requested.filter(|requested| !requested.is_none()) else { return Ok(None) };
    let wanted = unboxed::<ArrowSchema>(requested, "requested_schema")?;
    // SAFETY: by the protocol, a capsule of that name owns a schema, which lives while `requested`
    // is referenced, and which no other party uses; the import marks it as moved.
    let field = unsafe { arrow::import_field(wanted) };
    Ok(Some(field.map_err(|error| errors::refusal(&error))?))
}

/// Batches come with their own types, as the protocol permits: the consumer casts them. A request
/// for other columns is an error.
pub(super) fn check_requested(own: &Schema, requested: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(wanted) = requested_field(requested)? else { return Ok(()) };
    let wanted: Vec<_> = wanted.column_type().fields().map(Field::name).collect();
    let own: Vec<_> = own.fields().iter().map(Field::name).collect();
    if wanted == own {
        return Ok(());
    }
    Err(PyBufferError::new_err(format!(
        "columns {wanted:?} are requested of a table with columns {own:?}; `select` and `rename` give others"
    )))
}

/// The batches of a table, from the first on.
struct OwnBatches {
    schema: Schema,
    batches: Vec<RecordBatch>,
    next: usize,
}

impl RecordBatchReader for OwnBatches {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.next += 1;
        Ok(self.batches.get(self.next - 1).cloned())
    }
}
