//! Tables: `Crossdock::Table` and `Crossdock::Column`, on the memory of their producers.
//!
//! | file | contents |
//! |---|---|
//! | `table.rs`, `column.rs` | the two classes |
//! | `content.rs` | what their objects have, until they are released |
//! | `values.rs` | elements of columns as Ruby objects |
//! | `new_column.rs` | columns of Ruby objects, in new memory |
//! | `lent_column.rs` | columns as producers of MemoryViews |
//! | `stream.rs` | streams of Arrow, in both directions |

mod column;
mod content;
mod lent_column;
mod new_column;
mod stream;
mod table;
mod values;

use std::path::Path;

use crossdock::exchange::files::OpenOptions;
use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::table::{RecordBatch, Schema};
use magnus::{IntoValue, RModule, Ruby, TryConvert, Value};

use crate::blocking::without_lock;
use crate::error::{Failure, Result};
use crate::pressure::again;
pub(crate) use crate::tables::stream::OwnBatches;
use crate::tables::table::RubyTable;

/// The table of an Arrow IPC file, with its batches in place unless they are compressed; `None` for
/// a file of another format.
pub(crate) fn opened(ruby: &Ruby, options: &OpenOptions, path: &Path) -> Result<Option<Value>> {
    // Compressed batches take long to decode.
    let read = || {
        let read = without_lock(|| {
            let Some(file) = options.try_open_table(path)? else { return Ok(None) };
            batches(&file).map(Some)
        })?;
        // Each error names the path.
        read.map_err(|error: crossdock::Error| Failure::from(error))
    };
    let Some((schema, batches)) = again(ruby, read)? else { return Ok(None) };
    Ok(Some(RubyTable::new(schema, batches)?.into_value_with(ruby)))
}

/// The table in the bytes of a file, with its batches in place unless they are compressed.
pub(crate) fn of_file(ruby: &Ruby, file: &IpcFile) -> Result<Value> {
    let (schema, batches) = again(ruby, || Ok(without_lock(|| batches(file))??))?;
    Ok(RubyTable::new(schema, batches)?.into_value_with(ruby))
}

fn batches(file: &IpcFile) -> crossdock::Result<(Schema, Vec<RecordBatch>)> {
    let batches = (0..file.len()).map(|index| file.batch(index)).collect::<crossdock::Result<_>>()?;
    Ok((file.schema().clone(), batches))
}

/// The batches of a `Crossdock::Table`; `None` for another object.
pub(crate) fn batches_of(ruby: &Ruby, value: Value) -> Result<Option<OwnBatches>> {
    let Ok(table) = <&RubyTable>::try_convert(value) else { return Ok(None) };
    Ok(Some(OwnBatches::of(&*table.content(ruby)?)))
}

pub(crate) fn init(ruby: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    stream::init(ruby, module)?;
    column::init(ruby, module)?;
    table::init(ruby, module)
}
