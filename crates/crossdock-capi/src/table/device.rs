//! Columns, batches and readers by Arrow's C Device interface.

use std::mem::MaybeUninit;

use crossdock::bindings::arrow::abi::{ArrowDeviceArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ArrowDeviceArrayStream};
use crossdock::memory::DeviceKind;
use crossdock::table::RecordBatch;

use crate::foreign::given;
use crate::guard::{ErrorOut, fallible};
use crate::handle::{Handle, hand_over};
use crate::table::column::XdColumn;
use crate::table::reader::XdReader;
use crate::table::{exported, imported};
use crate::words::table_words;

/// Imports a column that may be on a device.
///
/// # Safety
///
/// The contract of [`arrow::take_over_device`] holds for `schema` and `array`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_column_from_arrow_device(
    schema: *mut ArrowSchema,
    array: *mut ArrowDeviceArray,
    checks: i32,
    error: ErrorOut<'_>,
) -> Handle<XdColumn> {
    fallible(error, || {
        let import = |checks| {
            // SAFETY: `# Safety` is the contract of `import_device_column`, which accepts null for
            // either struct and releases the other.
            unsafe { arrow::import_device_column(schema, array, checks) }
        };
        let (field, column) = imported(schema, array, checks, import)?;
        XdColumn::hand_over(field, column)
    })
}

/// Exports a column by the C Device interface.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_to_arrow_device(
    column: Option<&XdColumn>,
    schema: Option<&mut MaybeUninit<ArrowSchema>>,
    array: Option<&mut MaybeUninit<ArrowDeviceArray>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let column = given(column, "column")?;
        let export = || Ok(arrow::export_device_column(column.field(), column.column())?.into_raw());
        exported(schema, array, export)
    })
}

/// Imports a batch that may be on a device.
///
/// # Safety
///
/// The contract of [`arrow::take_over_device`] holds for `schema` and `array`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_batch_from_arrow_device(
    schema: *mut ArrowSchema,
    array: *mut ArrowDeviceArray,
    checks: i32,
    error: ErrorOut<'_>,
) -> Handle<RecordBatch> {
    fallible(error, || {
        let import = |checks| {
            // SAFETY: `# Safety` is the contract of `import_device_batch`, which accepts null for
            // either struct and releases the other.
            unsafe { arrow::import_device_batch(schema, array, checks) }
        };
        hand_over(imported(schema, array, checks, import)?)
    })
}

/// Exports a batch by the C Device interface.
#[unsafe(no_mangle)]
pub extern "C" fn xd_batch_to_arrow_device(
    batch: Option<&RecordBatch>,
    schema: Option<&mut MaybeUninit<ArrowSchema>>,
    array: Option<&mut MaybeUninit<ArrowDeviceArray>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let batch = given(batch, "batch")?;
        exported(schema, array, || Ok(arrow::export_device_batch(batch)?.into_raw()))
    })
}

/// Imports a stream of batches that may be on a device.
///
/// # Safety
///
/// The contract of [`arrow::import_device_stream`] holds for `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_reader_from_arrow_device(
    stream: *mut ArrowDeviceArrayStream,
    checks: i32,
    error: ErrorOut<'_>,
) -> Handle<XdReader> {
    fallible(error, || {
        XdReader::imported(stream, checks, |checks| {
            // SAFETY: `# Safety` is the contract of `import_device_stream`.
            unsafe { arrow::import_device_stream(stream, checks) }
        })
    })
}

/// Exports the remaining batches as a stream of a kind of device.
#[unsafe(no_mangle)]
pub extern "C" fn xd_reader_to_arrow_device(
    reader: Option<&XdReader>,
    kind: i32,
    stream: Option<&mut MaybeUninit<ArrowDeviceArrayStream>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (reader, stream) = (given(reader, "reader")?, given(stream, "stream")?);
        reader.export(|source| {
            stream.write(arrow::export_device_stream(source, DeviceKind(kind), table_words))
        })?;
        Ok(true)
    })
}
