//! Exports columns and batches of any type as Arrow's C structs, in place.

use core::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::buffer::{Bitmap, Buffer};
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::ArrowArray;
use crate::exchange::protocol::arrow::c_structs::{ArrayParts, BufferAddresses, ColumnOwners, Unsent};
use crate::exchange::protocol::arrow::export::Exported;
use crate::exchange::protocol::arrow::table_schema::{as_struct, new_schema};
use crate::memory::{LeaseKind, Protocols};
use crate::table::{Column, Field, RecordBatch, Storage, TableLease};

/// The offsets of columns without elements: one zero, of either width. Some consumers take the
/// bytes of such a column to be empty, and refuse the offsets of a slice.
static NO_OFFSETS: i64 = 0;

/// Exports a column of any type, in place, under one Read lease of all its memory: no party writes
/// it until the column is released. Slices are exported as they are, with their offset. O(buffers).
///
/// Consumers rely on the offsets, views, indices and text. [`Column::check`] with
/// [`Checks::Full`](crate::table::Checks::Full) compares them first, where their source is not
/// trusted.
///
/// # Errors
///
/// `is_dtype` if the field is of another type; `is_unsupported` for dtypes that Arrow does not have
/// and names with a NUL; `is_conflict` while a Share or Write lease is held, or where another party
/// may write the memory (a mapped file): copy such a column first; `is_place` for memory of a
/// device.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::arrow;
/// use crossdock::table::{Column, Field};
///
/// let array = Array::from_vec(vec![1i64, 2, 3], [3])?;
/// let column = Column::from_array(array.clone())?;
/// let exported = arrow::export_column(&Field::new("count", column.column_type().clone())?, &column)?;
/// assert_eq!((exported.array().length, array.write().is_err()), (3, true));
/// drop(exported); // releases both structs
/// assert!(array.write().is_ok());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn export_column(field: &Field, column: &Column) -> Result<Exported<ArrowArray>> {
    let schema = new_schema(field).map_err(exporting)?;
    Ok(Exported::of_column(schema, new_column(field, column, false)?))
}

/// The struct of an exported column, of any device if `on_device`.
pub(super) fn new_column(field: &Field, column: &Column, on_device: bool) -> Result<Unsent<ArrowArray>> {
    if field.column_type() != column.column_type() {
        let (wanted, found) = (field.column_type(), column.column_type());
        let text = format!("column {:?} is of type {found}, but its field requires {wanted}", field.name());
        return Err(Error::new(Kind::DType, text));
    }
    let named = [(field.name(), column)];
    let leases =
        if on_device { TableLease::on_any_device(named) } else { TableLease::of(named, LeaseKind::Read) };
    let leases = leases.map_err(exporting)?;
    leases.mark_exported(Protocols::ARROW);
    Ok(new_array(column, &Arc::new(leases)))
}

/// Exports a batch, in place, as a struct of its columns, under one Read lease. As
/// [`export_column`].
///
/// # Errors
///
/// As [`export_column`]; then no lease is held.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::arrow;
/// use crossdock::table::{Checks, Column, RecordBatch};
///
/// let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2])?)?;
/// let batch = RecordBatch::from_columns([("price", price)])?;
/// let (mut schema, mut array) = arrow::export_batch(&batch)?.into_raw();
/// // SAFETY: just exported, and not consumed yet.
/// let imported = unsafe { arrow::import_batch(&mut schema, &mut array, Checks::Shape) }?;
/// assert_eq!(imported.schema(), batch.schema());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn export_batch(batch: &RecordBatch) -> Result<Exported<ArrowArray>> {
    let schema = as_struct(batch.schema()).and_then(|field| new_schema(&field)).map_err(exporting)?;
    Ok(Exported::of_column(schema, new_batch(batch, false).map_err(exporting)?))
}

/// The struct of an exported batch, of any device if `on_device`.
pub(super) fn new_batch(batch: &RecordBatch, on_device: bool) -> Result<Unsent<ArrowArray>> {
    let leases = match on_device {
        true => TableLease::on_any_device(batch.named_columns())?,
        false => batch.lease(LeaseKind::Read)?,
    };
    leases.mark_exported(Protocols::ARROW);
    let leases = Arc::new(leases);
    // With room for all: a fallible `collect` does not know their number, and moves them as it
    // grows.
    let mut children = Vec::with_capacity(batch.schema().fields().len());
    for column in batch.columns_in_place() {
        children.push(new_array(&*column?, &leases));
    }
    let buffers = [ptr::null()].into_iter().collect();
    let parts = ArrayParts { len: batch.len(), null_count: Some(0), buffers, ..ArrayParts::default() };
    Ok(parts.over(children, false))
}

/// The struct of an exported column, which `leases` covers.
fn new_array(column: &Column, leases: &Arc<TableLease>) -> Unsent<ArrowArray> {
    let ty = column.column_type();
    let address = |buffer: &Buffer| buffer.as_ptr().cast::<c_void>();
    let mut buffers = BufferAddresses::default();
    if ty.has_validity() {
        buffers.push(column.validity().map_or(ptr::null(), |bits| address(bits.buffer())));
    }
    column.buffers().iter().for_each(|buffer| buffers.push(address(buffer)));
    let mut sizes: Box<[i64]> = Box::default();
    match ty.storage() {
        Storage::Bytes(..) | Storage::List(_) if column.is_empty() => {
            buffers.as_mut_slice()[1] = ptr::from_ref(&NO_OFFSETS).cast();
        }
        Storage::Views(_) => {
            sizes = column.buffers()[1..].iter().map(|buffer| buffer.nbytes() as i64).collect();
            buffers.push(sizes.as_ptr().cast());
        }
        _ => {}
    }
    let null_count = match column.validity() {
        // Not counted here: the consumer counts if it needs the number.
        Some(_) => None,
        None if ty.storage() == Storage::Null => Some(column.len()),
        None => Some(0),
    };
    debug_assert!(column.validity().map(Bitmap::start).is_none_or(|start| start == column.offset()));
    let parts = ArrayParts {
        len: column.len(),
        null_count,
        offset: if column.is_empty() { 0 } else { column.offset() },
        buffers,
        keep: ColumnOwners { leases: Some(leases.clone()), sizes, ..ColumnOwners::default() },
    };
    let below = column.children().iter().chain(column.dictionary());
    let mut structs =
        Vec::with_capacity(column.children().len() + usize::from(column.dictionary().is_some()));
    below.for_each(|column| structs.push(new_array(column, leases)));
    parts.over(structs, column.dictionary().is_some())
}

#[cold]
pub(super) fn exporting(error: Error) -> Error {
    error.within("exporting an Arrow column")
}
