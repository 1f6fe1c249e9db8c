//! Tables in Arrow IPC files.

use crossdock::exchange::files::arrow_ipc::IpcFile;
use pyo3::prelude::*;

use crate::errors::Raise;
use crate::shared;
use crate::table::table_object::Table;

/// The batches of a file as a table, in place unless they are compressed.
pub(crate) fn of_file(py: Python<'_>, file: &IpcFile) -> PyResult<Table> {
    shared::register(py)?;
    // Compressed batches take long to decode.
    let batches =
        py.detach(|| (0..file.len()).map(|index| file.batch(index)).collect::<crossdock::Result<_>>());
    Ok(Table::new(file.schema().clone(), batches.raise()?))
}
