//! Tables in Arrow IPC files.

use std::path::Path;

use crossdock::exchange::files::arrow_ipc::{IpcCompression, IpcFile, IpcOptions};
use crossdock::table::{Checks, RecordBatch, RecordBatchReader, Schema};
use pyo3::prelude::*;

use crate::table::import::whole;
use crate::table::table_object::Table;
use crate::{descriptors, file_errors};

/// The batches of a file as a table, in place unless they are compressed.
pub(crate) fn of_file(py: Python<'_>, file: &IpcFile) -> PyResult<Table> {
    descriptors::register(py)?;
    // Compressed batches take long to decode.
    let batches =
        py.detach(|| (0..file.len()).map(|index| file.batch(index)).collect::<crossdock::Result<_>>());
    let batches = batches.map_err(|error| file_errors::damaged(&error))?;
    Ok(Table::new(file.schema().clone(), batches))
}

/// Saves a table, or an object that `table` accepts.
pub(crate) fn to_file(
    path: &Path,
    obj: &Bound<'_, PyAny>,
    compression: Option<IpcCompression>,
) -> PyResult<()> {
    let py = obj.py();
    let table = whole(obj)?;
    let mut reader = TableBatches::checked(&table);
    let options = compression.into_iter().fold(IpcOptions::new(), IpcOptions::compression);
    let saved = py.detach(|| options.save(path, &mut reader));
    saved.map_err(|error| file_errors::file(py, &error, path))
}

/// The batches of a table, one after the other.
pub(crate) struct TableBatches<'a> {
    schema: &'a Schema,
    batches: std::slice::Iter<'a, RecordBatch>,
    is_checked: bool,
}

impl<'a> TableBatches<'a> {
    /// For a writer that checks each batch.
    pub(crate) fn unchecked(table: &'a Table) -> Self {
        let (schema, batches) = table.parts();
        Self { schema, batches: batches.iter(), is_checked: false }
    }

    /// Each batch is checked: programs that read the file may rely on the rules of its types.
    fn checked(table: &'a Table) -> Self {
        Self { is_checked: true, ..Self::unchecked(table) }
    }
}

impl RecordBatchReader for TableBatches<'_> {
    fn schema(&self) -> &Schema {
        self.schema
    }

    fn next_batch(&mut self) -> crossdock::Result<Option<RecordBatch>> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        if !self.is_checked {
            return Ok(Some(batch.clone()));
        }
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            let checked = column.and_then(|column| column.check(Checks::Full));
            checked.map_err(|error| error.within(format_args!("column {:?}", field.name())))?;
        }
        Ok(Some(batch.clone()))
    }
}
