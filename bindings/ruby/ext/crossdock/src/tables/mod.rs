//! Tables: `Crossdock::Table` and `Crossdock::Column`, on the memory of their producers.
//!
//! | file | contents |
//! |---|---|
//! | `table.rs`, `column.rs` | the two classes |
//! | `values.rs` | elements of columns as Ruby objects |
//! | `new_column.rs` | columns of Ruby objects, in new memory |
//! | `lent_column.rs` | columns as producers of MemoryViews |
//! | `stream.rs` | streams of Arrow, in both directions |

mod column;
mod lent_column;
mod new_column;
mod stream;
mod table;
mod values;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crossdock::buffer::{Bitmap, Buffer};
use crossdock::exchange::files::OpenOptions;
use crossdock::table::Column;
use magnus::{IntoValue, RModule, Ruby, Value};

use crate::blocking::without_lock;
use crate::error::{Failure, Result};
use crate::pressure::{ReportedMemory, again};
use crate::tables::table::RubyTable;

/// The table of an Arrow IPC file, with its batches in place unless they are compressed; `None` for
/// a file of another format.
pub(crate) fn opened(ruby: &Ruby, options: &OpenOptions, path: &Path) -> Result<Option<Value>> {
    // Compressed batches take long to decode.
    let read = || {
        let read = without_lock(|| {
            let Some(file) = options.try_open_table(path)? else { return Ok(None) };
            let batches = (0..file.len()).map(|index| file.batch(index));
            let batches = batches.collect::<crossdock::Result<Vec<_>>>();
            batches.map(|batches| Some((file.schema().clone(), batches)))
        })?;
        // Each error names the path.
        read.map_err(|error: crossdock::Error| Failure::from(error))
    };
    let Some((schema, batches)) = again(ruby, read)? else { return Ok(None) };
    Ok(Some(RubyTable::new(schema, batches)?.into_value_with(ruby)))
}

/// Which ranges of which chunks a range of all of them covers: at least one, so that an empty part
/// keeps its type.
fn parts(range: Range<usize>, lens: impl Iterator<Item = usize>) -> Vec<(usize, Range<usize>)> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, len) in lens.enumerate() {
        let (first, end) = (range.start.max(start), range.end.min(start + len));
        if first < end || (parts.is_empty() && range.is_empty() && first <= start + len) {
            parts.push((index, first - start..first.max(end) - start));
        }
        start += len;
    }
    parts
}

/// Notes the bytes of each buffer of a column, by its address.
fn note_buffers(column: &Column, seen: &mut HashMap<usize, usize>) {
    let own = column.buffers().iter().chain(column.validity().map(Bitmap::buffer));
    for buffer in own {
        let nbytes = seen.entry(buffer.address()).or_default();
        *nbytes = Buffer::nbytes(buffer).max(*nbytes);
    }
    for below in column.children().iter().chain(column.dictionary()) {
        note_buffers(below, seen);
    }
}

/// Reports the memory of columns to Ruby's collector.
fn reported<'a>(columns: impl IntoIterator<Item = &'a Column>) -> Result<Option<Arc<ReportedMemory>>> {
    let mut seen = HashMap::new();
    columns.into_iter().for_each(|column| note_buffers(column, &mut seen));
    ReportedMemory::new(seen.into_values().sum())
}

pub(crate) fn init(ruby: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    stream::init(ruby, module)?;
    column::init(ruby, module)?;
    table::init(ruby, module)
}
