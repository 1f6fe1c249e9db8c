//! Imports of batches that leave out the columns that cannot be imported, each with the reason.

use crate::error::{Error, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crate::exchange::protocol::arrow::foreign::ForeignStruct;
use crate::exchange::protocol::arrow::import::within;
use crate::exchange::protocol::arrow::stream::{schema_struct, streaming};
use crate::exchange::protocol::arrow::stream_abi::ArrowArrayStream;
use crate::exchange::protocol::arrow::table_import::{batch_of, children_of};
use crate::exchange::protocol::arrow::table_schema::{KnownFields, read_known, schema_of};
use crate::exchange::protocol::arrow::table_stream::ImportedBatches;
use crate::table::{Checks, RecordBatch};

/// Imports a batch as [`import_batch`](super::import_batch) does, and leaves out the columns that
/// cannot be imported. Returns those too: each with its name, and the error.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::arrow;
/// use crossdock::table::{Checks, Column, RecordBatch};
///
/// let column = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2])?)?;
/// let batch = RecordBatch::from_columns([("price", column.clone()), ("later", column)])?;
/// let (mut schema, mut array) = arrow::export_batch(&batch)?.into_raw();
/// let unknown = std::ffi::CString::from(c"+format of the future");
/// // SAFETY: just exported: the schema has two children.
/// let later = unsafe { &mut **schema.children.add(1) };
/// let known = std::mem::replace(&mut later.format, unknown.as_ptr());
/// // SAFETY: just exported, and not consumed yet.
/// let (batch, skipped) =
///     unsafe { arrow::import_batch_skipping(&mut schema, &mut array, Checks::Shape) }?;
/// assert_eq!(batch.schema().to_string(), "price: float64");
/// assert_eq!(skipped[0].0, "later");
/// assert!(skipped[0].1.to_string().contains("format of the future"));
/// # let _ = known;
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// As [`import_batch`](super::import_batch), of the batch itself.
///
/// # Safety
///
/// The clauses of [`take_over`](super::take_over).
pub unsafe fn import_batch_skipping(
    schema: *mut ArrowSchema,
    array: *mut ArrowArray,
    checks: Checks,
) -> Result<(RecordBatch, Vec<(String, Error)>)> {
    // SAFETY: `# Safety`: `schema` is null, or points to a struct that was released or meets
    // ForeignStruct 1.
    let schema = unsafe { ForeignStruct::moved_from(schema) };
    // SAFETY: `# Safety`: `array` is null, or points to a struct that was released or meets
    // ForeignStruct 1.
    let array = unsafe { ForeignStruct::moved_from(array) };
    let imported = schema.and_then(|schema| {
        let KnownFields { field, kept, mut refused } = read_known(&schema)?;
        let (field, column, more) = children_of(&field, &kept, array?, checks, true)?;
        refused.extend(more);
        Ok((batch_of(&field, column)?, refused))
    });
    imported.map_err(within)
}

/// Imports a stream of batches as [`import_stream`](super::import_stream) does, and leaves out the
/// columns whose types cannot be imported. Returns those too: each with its name, and the error. A
/// column that is refused later, in one of the batches, is an error of that batch.
///
/// # Errors
///
/// As [`import_stream`](super::import_stream), of the stream itself.
///
/// # Safety
///
/// The clauses of [`import_stream`](super::import_stream).
pub unsafe fn import_stream_skipping(
    stream: *mut ArrowArrayStream,
    checks: Checks,
) -> Result<(ImportedBatches, Vec<(String, Error)>)> {
    // SAFETY: clauses 1 to 3 of `import_stream`: `stream` is null, or points to a struct that was
    // released or meets ForeignStruct 1.
    let foreign = unsafe { ForeignStruct::moved_from(stream) };
    let imported = foreign.and_then(|mut foreign| {
        let KnownFields { field, kept, refused } = read_known(&schema_struct(&mut foreign)?)?;
        let schema = schema_of(&field)?;
        Ok((ImportedBatches::of_some(foreign, field, schema, kept, checks), refused))
    });
    imported.map_err(streaming)
}
