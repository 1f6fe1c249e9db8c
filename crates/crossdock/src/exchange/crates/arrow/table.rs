//! Columns and batches.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array as TheirArray, RecordBatch as TheirBatch, StructArray, make_array};
use arrow_data::ArrayData;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::ArrowArray;
use crate::exchange::protocol::arrow::{Exported, export_batch, export_column, import_batch, import_column};
use crate::table::{Checks, Column, Field, RecordBatch};

impl TryFrom<&dyn TheirArray> for Column {
    type Error = Error;

    /// The same buffers, kept, read-only. O(buffers).
    ///
    /// # Errors
    ///
    /// `is_unsupported` for types nested more than 64 levels deep; `is_malformed` for arrays that
    /// were made by unsafe code and contradict their type.
    fn try_from(theirs: &dyn TheirArray) -> Result<Self> {
        let data = theirs.to_data();
        let mut schema = FFI_ArrowSchema::try_from(data.data_type()).map_err(refused)?;
        let mut array = to_ffi(&data).map_err(refused)?.0;
        // SAFETY: arrow-rs exported both structs just now, as the specification requires; the
        // import marks them as released, so their drops release nothing.
        let imported =
            unsafe { import_column((&raw mut schema).cast(), (&raw mut array).cast(), Checks::Shape) };
        imported.map(|(_, column)| column)
    }
}

impl TryFrom<&Column> for Arc<dyn TheirArray> {
    type Error = Error;

    /// The same buffers, under a Read lease that ends when the last clone of the array is dropped.
    /// O(n): arrow-rs compares offsets, indices and text, on which it relies. It copies buffers
    /// that are not aligned for their elements.
    ///
    /// # Errors
    ///
    /// As [`export_column`]; `is_malformed` for elements that break the rules of the type.
    fn try_from(ours: &Column) -> Result<Self> {
        let field = Field::new("", ours.column_type().clone())?;
        to_theirs(export_column(&field, ours)?).map(make_array)
    }
}

impl TryFrom<&TheirBatch> for RecordBatch {
    type Error = Error;

    /// The same buffers, kept, read-only, with the schema and its metadata. O(buffers).
    ///
    /// # Errors
    ///
    /// As the conversion of a column.
    fn try_from(theirs: &TheirBatch) -> Result<Self> {
        let mut schema = FFI_ArrowSchema::try_from(&*theirs.schema()).map_err(refused)?;
        let mut array = to_ffi(&StructArray::from(theirs.clone()).to_data()).map_err(refused)?.0;
        // SAFETY: arrow-rs exported both structs just now, as the specification requires; the
        // import marks them as released, so their drops release nothing.
        unsafe { import_batch((&raw mut schema).cast(), (&raw mut array).cast(), Checks::Shape) }
    }
}

impl TryFrom<&RecordBatch> for TheirBatch {
    type Error = Error;

    /// The same buffers, under one Read lease that ends when the last clone is dropped. O(n), as
    /// the conversion of a column.
    ///
    /// # Errors
    ///
    /// As the conversion of a column.
    fn try_from(ours: &RecordBatch) -> Result<Self> {
        let exported = export_batch(ours)?;
        let schema = arrow_schema::Schema::try_from(their_schema(&exported)).map_err(refused)?;
        let rows = StructArray::from(to_theirs(exported)?);
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(ours.len()));
        Self::try_new_with_options(Arc::new(schema), rows.columns().to_vec(), &options).map_err(refused)
    }
}

/// The schema of an export, in the other declaration of the struct.
fn their_schema(exported: &Exported<ArrowArray>) -> &FFI_ArrowSchema {
    let schema = std::ptr::from_ref(exported.schema()).cast::<FFI_ArrowSchema>();
    // SAFETY: both types are the C struct `ArrowSchema` of the specification, and the result
    // borrows `exported`, which has it.
    unsafe { &*schema }
}

/// An export as arrow-rs data, whose elements it has compared.
fn to_theirs(exported: Exported<ArrowArray>) -> Result<ArrayData> {
    let (mut schema, mut array) = exported.into_raw();
    // SAFETY: both types are the C struct `ArrowArray` of the specification; the source is marked
    // as released.
    let array = unsafe { FFI_ArrowArray::from_raw((&raw mut array).cast()) };
    // SAFETY: both types are the C struct `ArrowSchema` of the specification; the source is marked
    // as released.
    let schema = unsafe { FFI_ArrowSchema::from_raw((&raw mut schema).cast()) };
    // SAFETY: the structs were exported as the specification requires, and match. What arrow-rs
    // relies on beyond the sizes of buffers is compared below, before the data is used.
    let data = unsafe { from_ffi(array, &schema) }.map_err(refused)?;
    // The elements stay as they are compared: the export holds a Read lease.
    data.validate_full().map_err(refused)?;
    Ok(data)
}

#[cold]
fn refused(error: arrow_schema::ArrowError) -> Error {
    Error::caused(Kind::Malformed, format!("arrow-rs refuses the column: {error}"), error)
}
