//! Columns in chunks: ranges of them, and their memory.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crossdock::buffer::{Bitmap, Buffer};
use crossdock::table::Column;

use crate::error::Result;
use crate::pressure::ReportedMemory;

/// Which ranges of which chunks a range of all of them covers: at least one, so that an empty part
/// keeps its type.
pub(super) fn parts(range: Range<usize>, lens: impl Iterator<Item = usize>) -> Vec<(usize, Range<usize>)> {
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
pub(super) fn reported<'a>(
    columns: impl IntoIterator<Item = &'a Column>,
) -> Result<Option<Arc<ReportedMemory>>> {
    let mut seen = HashMap::new();
    columns.into_iter().for_each(|column| note_buffers(column, &mut seen));
    ReportedMemory::new(seen.into_values().sum())
}
