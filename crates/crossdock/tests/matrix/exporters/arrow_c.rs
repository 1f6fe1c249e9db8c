//! Exports by Arrow's C structs.

use std::ffi::CStr;

use crossdock::DArray;
use crossdock::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::exchange::protocol::arrow::{self, ExportOptions};
use crossdock::view::CopyPolicy;

use super::{At, ConsumerView, Inspect, No, reason};
use crate::classes::bytes_at;

/// A column of lists, and of a struct if the elements are records.
pub(super) fn column(array: &DArray, policy: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let exported = arrow::export_device(array, &ExportOptions::new().copy(policy))?;
    let (schema, column) = (exported.schema(), &exported.array().array);
    inspect(ConsumerView {
        at: At::Address(first(column).addr()),
        because: reason(exported.copied_because()),
        elements: &|| elements(schema, column),
    });
    Ok(())
}

/// A child of a struct.
fn below<S>(children: *mut *mut S, k: usize) -> &'static S {
    // SAFETY: callers pass an index below `n_children` of a live export, whose list has that many
    // entries.
    let child = unsafe { children.wrapping_add(k).read() };
    // SAFETY: the entry points to a child, which lives as long as the export; callers keep that
    // alive.
    unsafe { &*child }
}

/// The address of the first byte that does not belong to a bitmap.
fn first(column: &ArrowArray) -> *const u8 {
    if column.n_children > 0 {
        return first(below(column.children, 0));
    }
    // SAFETY: a column of values has two buffers, the bitmap and the elements, and the export is
    // alive.
    unsafe { column.buffers.wrapping_add(1).read() }.cast()
}

/// What a C consumer reads from the structs, the fields of a record one after another.
fn elements(schema: &ArrowSchema, column: &ArrowArray) -> Vec<Vec<u8>> {
    let children = (0..column.n_children as usize)
        .map(|k| elements(below(schema.children, k), below(column.children, k)));
    // SAFETY: the library exports the format as a C string, which lives as long as the schema.
    let width = match unsafe { CStr::from_ptr(schema.format) }.to_bytes() {
        b"C" => 1,
        b"S" => 2,
        b"+s" => {
            let mut records = vec![vec![]; column.length as usize];
            for field in children {
                records.iter_mut().zip(field).for_each(|(record, bytes)| record.extend(bytes));
            }
            return records;
        }
        _ => return children.flatten().collect(),
    };
    let data = first(column);
    let element = |k: usize| {
        // SAFETY: the column has `length` elements of `width` bytes behind `data`, and `k` is below
        // the length.
        unsafe { bytes_at(data.wrapping_add(k * width), width) }
    };
    (column.offset as usize..(column.offset + column.length) as usize).map(element).collect()
}
