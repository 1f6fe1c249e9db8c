//! The memory of columns: copies, faults, and the promise that it is constant.

use crossdock::buffer::Buffer;
use crossdock::table::{Checks, Column, ColumnParts, RecordBatch, Schema};
use pyo3::prelude::*;

use crate::errors;

/// The result of an operation that has read the elements, or the fault of their memory: a guarded
/// file that shrank reads as zeros.
pub(super) fn or_fault<T>(chunks: &[Column], result: PyResult<T>) -> PyResult<T> {
    chunks.iter().find_map(Column::fault).map_or(result, |fault| Err(errors::exception(&fault)))
}

/// The elements in new memory. Other libraries rely on the rules of their types, which a damaged
/// file may break.
pub(super) fn copied(column: &Column) -> crossdock::Result<Column> {
    let copy = column.compact()?;
    copy.check(Checks::Full)?;
    Ok(copy)
}

/// The same column, with the caller's promise that no party writes its memory any more.
///
/// # Safety
///
/// The clause of [`Buffer::assume_constant`], for all of the column's buffers.
pub(super) unsafe fn frozen(column: &Column) -> crossdock::Result<Column> {
    let constant = |buffer: &Buffer| {
        // SAFETY: `# Safety`: no party writes the memory from now on.
        buffer.try_clone().map(|buffer| unsafe { buffer.assume_constant() })
    };
    // SAFETY: `# Safety`: the buffers of children are among those of the column.
    let below = |child: &Column| unsafe { frozen(child) };
    let parts = ColumnParts {
        len: column.len(),
        offset: column.offset(),
        validity: column.validity().map(|bits| constant(bits.buffer())).transpose()?,
        buffers: column.buffers().iter().map(constant).collect::<crossdock::Result<_>>()?,
        children: column.children().iter().map(below).collect::<crossdock::Result<_>>()?,
        dictionary: column.dictionary().map(below).transpose()?,
    };
    Column::new(column.column_type().clone(), parts, Checks::Shape)
}

/// A batch with each column replaced.
pub(super) fn mapped(
    schema: &Schema,
    batch: &RecordBatch,
    column: impl Fn(&Column) -> crossdock::Result<Column>,
) -> crossdock::Result<RecordBatch> {
    let columns = batch.columns().map(|each| column(&each?));
    RecordBatch::new(schema.clone(), columns.collect::<crossdock::Result<Vec<_>>>()?, batch.len())
}
