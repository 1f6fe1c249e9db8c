//! Batches: columns of equal length.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::bindings::arrow::{self, abi::ArrowArray, abi::ArrowSchema};
use crossdock::table::{RecordBatch, Schema};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::error::{Failure, Result, XD_ERROR_BOUNDS};
use crate::foreign::{Item, given, items, shown, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::lease::Lease;
use crate::table::column::{XdColumn, range};
use crate::table::schema::XdSchema;
use crate::table::{exported, imported};

/// Imports a batch.
///
/// # Safety
///
/// The contract of [`arrow::take_over`] holds for `schema` and `array`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_batch_from_arrow(
    schema: *mut ArrowSchema,
    array: *mut ArrowArray,
    checks: i32,
    error: ErrorOut<'_>,
) -> Handle<RecordBatch> {
    fallible(error, || {
        let import = |checks| {
            // SAFETY: `# Safety` is the contract of `import_batch`, which accepts null for
            // either struct and releases the other.
            unsafe { arrow::import_batch(schema, array, checks) }
        };
        hand_over(imported(schema, array, checks, import)?)
    })
}

/// Exports a batch.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_to_arrow(
    batch: Option<&RecordBatch>,
    schema: Option<&mut MaybeUninit<ArrowSchema>>,
    array: Option<&mut MaybeUninit<ArrowArray>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let batch = given(batch, "batch")?;
        exported(schema, array, || Ok(arrow::export_batch(batch)?.into_raw()))
    })
}

/// Columns under their names, in place.
///
/// # Safety
///
/// `columns` is null or points to `count` pointers, each null or a live column, which nothing
/// writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_batch_from_columns(
    count: usize,
    columns: *const Option<&XdColumn>,
    error: ErrorOut<'_>,
) -> Handle<RecordBatch> {
    fallible(error, || {
        // SAFETY: `# Safety`: `columns` is null or points to `count` pointers; the list is used
        // during this call only.
        let columns = unsafe { items(columns, count, "columns") }?;
        let columns = columns.iter().enumerate();
        let columns = columns.map(|(index, &column)| given(column, Item("columns", index)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let schema = Schema::new(columns.iter().map(|column| column.field().clone()));
        let len = columns.first().map_or(0, |column| column.column().len());
        hand_over(RecordBatch::new(schema, columns.iter().map(|column| column.column().clone()), len)?)
    })
}

/// An array of records as a batch, by a copy.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_from_records(array: Option<&XdArray>, error: ErrorOut<'_>) -> Handle<RecordBatch> {
    fallible(error, || hand_over(RecordBatch::from_records(array_of(array, "array")?)?))
}

/// The rows as an array of records, by a copy.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_to_records(batch: Option<&RecordBatch>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || hand_over_array(given(batch, "batch")?.to_records()?))
}

/// Another handle.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_clone(batch: Option<&RecordBatch>, error: ErrorOut<'_>) -> Handle<RecordBatch> {
    fallible(error, || hand_over(given(batch, "batch")?.clone()))
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_free(batch: Handle<RecordBatch>) {
    answer(|| drop(batch));
}

// ===== facts

/// The number of rows.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_len(batch: Option<&RecordBatch>) -> usize {
    answer(|| batch.map_or(0, RecordBatch::len))
}

/// The number of columns.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_column_count(batch: Option<&RecordBatch>) -> usize {
    answer(|| batch.map_or(0, |batch| batch.schema().fields().len()))
}

/// What the columns are.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_schema(batch: Option<&RecordBatch>, error: ErrorOut<'_>) -> Handle<XdSchema> {
    fallible(error, || XdSchema::hand_over(given(batch, "batch")?.schema()))
}

/// The batch for people.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_to_text(batch: Option<&RecordBatch>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || shown(given(batch, "batch")?))
}

// ===== in place

fn column_at(batch: &RecordBatch, index: usize) -> Result<Handle<XdColumn>> {
    let column = batch.column(index)?;
    XdColumn::hand_over(batch.schema().fields()[index].clone(), column)
}

/// A column by its index.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_column(
    batch: Option<&RecordBatch>,
    index: usize,
    error: ErrorOut<'_>,
) -> Handle<XdColumn> {
    fallible(error, || column_at(given(batch, "batch")?, index))
}

/// The first column with a name.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_batch_column_named(
    batch: Option<&RecordBatch>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<XdColumn> {
    fallible(error, || {
        let batch = given(batch, "batch")?;
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let name = unsafe { text(name, "name") }?;
        match batch.schema().index_of(name) {
            Some(index) => column_at(batch, index),
            None => Err(batch.column_named(name).err().map_or_else(
                || Failure::of_kind(XD_ERROR_BOUNDS, format!("there is no column {name:?}")),
                Failure::from,
            )),
        }
    })
}

/// Some of the rows.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_slice(
    batch: Option<&RecordBatch>,
    start: usize,
    len: usize,
    error: ErrorOut<'_>,
) -> Handle<RecordBatch> {
    fallible(error, || hand_over(given(batch, "batch")?.slice(range(start, len))?))
}

/// The columns at these indices.
///
/// # Safety
///
/// `indices` is null or points to `count` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_batch_select(
    batch: Option<&RecordBatch>,
    count: usize,
    indices: *const usize,
    error: ErrorOut<'_>,
) -> Handle<RecordBatch> {
    fallible(error, || {
        let batch = given(batch, "batch")?;
        // SAFETY: `# Safety`: `indices` is null or points to `count` numbers; the list is used
        // during this call only.
        let indices = unsafe { items(indices, count, "indices") }?;
        hand_over(batch.select(indices)?)
    })
}

/// The same columns under other names.
///
/// # Safety
///
/// `names` is null or points to `count` pointers, each null or a C string, and nothing writes them
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_batch_rename(
    batch: Option<&RecordBatch>,
    count: usize,
    names: *const *const c_char,
    error: ErrorOut<'_>,
) -> Handle<RecordBatch> {
    fallible(error, || {
        let batch = given(batch, "batch")?;
        // SAFETY: `# Safety`: `names` is null or points to `count` pointers; the list is used
        // during this call only.
        let names = unsafe { items(names, count, "names") }?;
        let names = names.iter().enumerate().map(|(index, &name)| {
            // SAFETY: `# Safety`: each name is null or a C string, unwritten during the call.
            unsafe { text(name, Item("names", index)) }
        });
        hand_over(batch.rename(names.collect::<Result<Vec<_>>>()?)?)
    })
}

/// One lease of all the memory.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_lease(
    batch: Option<&RecordBatch>,
    kind: i32,
    error: ErrorOut<'_>,
) -> Handle<Lease> {
    fallible(error, || {
        let batch = given(batch, "batch")?;
        hand_over(Lease::of_table(kind, |kind| batch.lease(kind))?)
    })
}
