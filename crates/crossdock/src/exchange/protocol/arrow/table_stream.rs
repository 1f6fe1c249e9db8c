//! Streams of batches by Arrow's C Stream interface, in both directions.

use core::ffi::{c_char, c_int, c_void};
use std::ffi::CString;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::error::advice::{Advice, Words};
use crate::error::{Error, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crate::exchange::protocol::arrow::c_structs::Unsent;
use crate::exchange::protocol::arrow::export::on_place;
use crate::exchange::protocol::arrow::field::unsupported;
use crate::exchange::protocol::arrow::foreign::{ForeignStruct, ReleasableStruct};
use crate::exchange::protocol::arrow::stream::{fill_next, next_array, schema_struct, streaming};
use crate::exchange::protocol::arrow::stream_abi::{ArrowArrayStream, ArrowDeviceArrayStream};
use crate::exchange::protocol::arrow::table_device::{DeviceColumn, place_of};
use crate::exchange::protocol::arrow::table_export::new_batch;
use crate::exchange::protocol::arrow::table_import::{batch_of, children_of, column_of};
use crate::exchange::protocol::arrow::table_schema::{export_schema, read_field, schema_of};
use crate::memory::{DeviceKind, Place};
use crate::table::{Checks, Field, RecordBatch, RecordBatchReader, Schema};

/// Batches of a producer's stream, each imported in place when it is requested.
///
/// Batches may outlive the stream, which is released when this is dropped.
pub struct ImportedBatches {
    foreign: ForeignBatches,
    field: Field,
    schema: Schema,
    /// The numbers of the fields in the producer's schema, unless they are all of them.
    kept: Option<Vec<usize>>,
    checks: Checks,
    is_over: bool,
}

/// The producer's stream.
enum ForeignBatches {
    Host(ForeignStruct<ArrowArrayStream>),
    Device(ForeignStruct<ArrowDeviceArrayStream>),
}

/// Imports a stream of batches, and requests their schema. The struct is moved: the source is
/// marked as released when this returns.
///
/// # Errors
///
/// `is_malformed` for a null pointer, a struct that was released or lacks functions, and as
/// [`import_column`](super::import_column) of the schema; `is_unsupported` if the columns are no
/// structs; `is_io`, with the producer's message, if the producer failed.
///
/// # Safety
///
/// 1. The pointer is null, or points to a struct that a producer exported to the caller, that
///    follows the specification of the C Stream interface, and that no other party uses.
/// 2. The schema and the columns that its functions fill in meet the clauses of
///    [`take_over`](super::take_over).
/// 3. Its functions may be called on any thread.
pub unsafe fn import_stream(stream: *mut ArrowArrayStream, checks: Checks) -> Result<ImportedBatches> {
    // SAFETY: clauses 1 to 3 of `# Safety`: `stream` is null, or points to a struct that was
    // released or meets ForeignStruct 1.
    let foreign = unsafe { ForeignStruct::moved_from(stream) };
    let imported = foreign.and_then(|mut foreign| {
        let field = read_field(&schema_struct(&mut foreign)?)?;
        let schema = schema_of(&field)?;
        Ok(ImportedBatches::new(ForeignBatches::Host(foreign), field, schema, checks))
    });
    imported.map_err(streaming)
}

/// As [`import_stream`], by the C Device interface: batches in memory of any device that has
/// addresses.
///
/// # Errors
///
/// As [`import_stream`] and [`take_over_device`](super::take_over_device).
///
/// # Safety
///
/// The clauses of [`import_stream`], where columns meet those of
/// [`take_over_device`](super::take_over_device).
pub unsafe fn import_device_stream(
    stream: *mut ArrowDeviceArrayStream,
    checks: Checks,
) -> Result<ImportedBatches> {
    // SAFETY: clauses 1 to 3 of `import_stream`: `stream` is null, or points to a struct that was
    // released or meets ForeignStruct 1.
    let foreign = unsafe { ForeignStruct::moved_from(stream) };
    let imported = foreign.and_then(|mut foreign| {
        let field = read_field(&schema_struct(&mut foreign)?)?;
        let (schema, foreign) = (schema_of(&field)?, ForeignBatches::Device(foreign));
        Ok(ImportedBatches::new(foreign, field, schema, checks))
    });
    imported.map_err(streaming)
}

/// Requests the next column of a stream of a device; `None` after the last.
pub(super) fn next_device_column(
    foreign: &mut ForeignStruct<ArrowDeviceArrayStream>,
) -> Result<Option<DeviceColumn>> {
    let mut array = ArrowDeviceArray::empty();
    fill_next(foreign, &mut array)?;
    if array.array.release.is_none() {
        return Ok(None);
    }
    // SAFETY: `get_next` filled in `array` without an error, so it meets the clauses of
    // `take_over_device` (those of `import_device_stream`); no other party has this variable.
    unsafe { DeviceColumn::moved_from(&mut array) }.map(Some)
}

impl ImportedBatches {
    fn new(foreign: ForeignBatches, field: Field, schema: Schema, checks: Checks) -> Self {
        Self { foreign, field, schema, kept: None, checks, is_over: false }
    }

    /// Batches of some of the columns: those with these numbers.
    pub(super) fn of_some(
        foreign: ForeignStruct<ArrowArrayStream>,
        field: Field,
        schema: Schema,
        kept: Vec<usize>,
        checks: Checks,
    ) -> Self {
        let foreign = ForeignBatches::Host(foreign);
        Self { foreign, field, schema, kept: Some(kept), checks, is_over: false }
    }

    fn request(&mut self) -> Result<Option<RecordBatch>> {
        let column = match &mut self.foreign {
            ForeignBatches::Host(foreign) => next_array(foreign)?.map(|array| match &self.kept {
                None => column_of(&self.field, array, self.checks),
                Some(kept) => {
                    let (_, column, _) = children_of(&self.field, kept, array, self.checks, false)?;
                    Ok(column)
                }
            }),
            ForeignBatches::Device(foreign) => {
                next_device_column(foreign)?.map(|array| array.import(&self.field, self.checks))
            }
        };
        let Some(column) = column.transpose()? else { return Ok(None) };
        batch_of(&self.field, column).map(Some)
    }
}

impl RecordBatchReader for ImportedBatches {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.request();
        self.is_over = !matches!(next, Ok(Some(_)));
        next.map_err(streaming)
    }
}

impl fmt::Debug for ImportedBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImportedBatches({})", self.field.column_type())
    }
}

/// What an exported stream gives out.
pub(super) trait StreamSource: Send {
    fn schema(&self) -> Result<ArrowSchema>;

    /// The next array and, if it is wanted, its place; `None` after the last.
    fn next(&mut self, on_device: bool) -> Result<Option<(Unsent<ArrowArray>, Place)>>;
}

impl StreamSource for Box<dyn RecordBatchReader + Send> {
    fn schema(&self) -> Result<ArrowSchema> {
        export_schema((**self).schema())
    }

    fn next(&mut self, on_device: bool) -> Result<Option<(Unsent<ArrowArray>, Place)>> {
        match self.next_batch()? {
            Some(batch) if batch.schema() == (**self).schema() => {
                let columns = batch.named_columns().map(|(_, column)| column);
                let place = if on_device { place_of(columns)? } else { Place::CPU };
                Ok(Some((new_batch(&batch, on_device)?, place)))
            }
            Some(_) => Err(Error::malformed("a batch of the reader has another schema than the reader")),
            None => Ok(None),
        }
    }
}

/// The `private_data` of an exported stream.
///
/// # Invariants
///
/// 1. It is a box, owned by the one struct whose `release` is [`release_stream`], wherever that
///    struct is moved.
struct StreamBody {
    source: Box<dyn StreamSource>,
    /// The kind of device of all arrays.
    kind: DeviceKind,
    /// The words of the advice in errors.
    words: Words,
    /// The reason why the last call failed.
    error: Option<CString>,
}

/// Exports batches as a stream: the consumer requests each, and releases the struct once, on any
/// thread, from wherever it moved it. Batches are exported in place, as by
/// [`export_batch`](super::export_batch).
///
/// A batch that the reader, or its export, refuses is an error of the stream: code 5 (`EIO`), with
/// the text; 12 (`ENOMEM`) if memory ran out. A panic of the reader is code 22 (`EINVAL`).
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::arrow;
/// use crossdock::table::{Batches, Checks, Column, RecordBatch, RecordBatchReader};
///
/// let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2])?)?;
/// let batch = RecordBatch::from_columns([("price", price)])?;
/// let batches: Batches = [batch.slice(..1)?, batch.slice(1..)?].into_iter().collect();
/// let mut stream = arrow::export_stream(Box::new(batches));
/// // SAFETY: just exported, and not consumed yet.
/// let mut imported = unsafe { arrow::import_stream(&mut stream, Checks::Shape) }?;
/// let mut rows = 0;
/// while let Some(batch) = imported.next_batch()? {
///     rows += batch.len();
/// }
/// assert_eq!(rows, 2);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn export_stream(reader: Box<dyn RecordBatchReader + Send>) -> ArrowArrayStream {
    export_stream_in_words(reader, Advice::in_rust)
}

/// As [`export_stream`], with the advice of errors in the words of a language.
pub fn export_stream_in_words(reader: Box<dyn RecordBatchReader + Send>, words: Words) -> ArrowArrayStream {
    export_source(Box::new(reader), words)
}

/// As [`export_stream_in_words`], by the C Device interface: batches in memory of this kind of
/// device.
pub fn export_device_stream(
    reader: Box<dyn RecordBatchReader + Send>,
    kind: DeviceKind,
    words: Words,
) -> ArrowDeviceArrayStream {
    export_device_source(Box::new(reader), kind, words)
}

/// As [`export_stream`], of any arrays.
pub(super) fn export_source(source: Box<dyn StreamSource>, words: Words) -> ArrowArrayStream {
    let body = Box::new(StreamBody { source, kind: DeviceKind::CPU, words, error: None });
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(body).cast::<c_void>(),
    }
}

/// As [`export_device_stream`], of any arrays.
pub(super) fn export_device_source(
    source: Box<dyn StreamSource>,
    kind: DeviceKind,
    words: Words,
) -> ArrowDeviceArrayStream {
    let body = Box::new(StreamBody { source, kind, words, error: None });
    ArrowDeviceArrayStream {
        device_type: kind.0,
        get_schema: Some(get_schema),
        get_next: Some(get_next_on_device),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(body).cast::<c_void>(),
    }
}

/// A struct of a stream that [`export_source`] or [`export_device_source`] makes.
trait ExportedStream: ReleasableStruct {
    fn body(&mut self) -> &mut *mut c_void;
}

impl ExportedStream for ArrowArrayStream {
    fn body(&mut self) -> &mut *mut c_void {
        &mut self.private_data
    }
}

impl ExportedStream for ArrowDeviceArrayStream {
    fn body(&mut self) -> &mut *mut c_void {
        &mut self.private_data
    }
}

const EIO: c_int = 5;
const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;

/// Runs a function on the body of a stream, and keeps the text of its error.
///
/// # Safety
///
/// 1. `stream` is null, or points to a struct of [`export_source`] or
///    [`export_device_source`], moved or not.
/// 2. No other code uses the struct during the call.
unsafe fn with_body<S: ExportedStream>(
    stream: *mut S,
    run: impl FnOnce(&mut StreamBody) -> Result<()>,
) -> c_int {
    // SAFETY: clauses 1 and 2 of `# Safety`: `stream` is null or points to a struct that no other
    // code uses during the call.
    let Some(stream) = (unsafe { stream.as_mut() }) else { return EINVAL };
    if stream.release().is_none() {
        return EINVAL;
    }
    // SAFETY: StreamBody 1: the struct was not released (checked above), so `private_data` is its
    // own box, which no other code uses (clause 2 of `# Safety`).
    let body = unsafe { &mut *stream.body().cast::<StreamBody>() };
    body.error = None;
    let (code, text) = match catch_unwind(AssertUnwindSafe(|| run(body))) {
        Ok(Ok(())) => return 0,
        Ok(Err(error)) => {
            (if error.is_out_of_memory() { ENOMEM } else { EIO }, error.in_words(body.words).to_string())
        }
        Err(_) => (EINVAL, "the reader of the stream panicked".to_owned()),
    };
    body.error = CString::new(text.replace('\0', " ")).ok();
    code
}

/// # Safety
///
/// 1. `stream` meets the clauses of [`with_body`].
/// 2. `schema` is null, or points to an empty struct that no other code uses during the call.
unsafe extern "C" fn get_schema<S: ExportedStream>(stream: *mut S, schema: *mut ArrowSchema) -> c_int {
    let run = |body: &mut StreamBody| {
        let exported = body.source.schema()?;
        // SAFETY: clause 2 of `# Safety`: `schema` points to memory for a struct, of any content.
        unsafe { schema.write(exported) };
        Ok(())
    };
    if schema.is_null() {
        return EINVAL;
    }
    // SAFETY: clause 1 of `# Safety`: `stream` meets the clauses of `with_body`.
    unsafe { with_body(stream, run) }
}

/// # Safety
///
/// 1. `stream` meets the clauses of [`with_body`].
/// 2. `array` is null, or points to an empty struct that no other code uses during the call.
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, array: *mut ArrowArray) -> c_int {
    let run = |body: &mut StreamBody| {
        let next = body.source.next(false)?;
        let next = next.map_or_else(ArrowArray::empty, |(array, _)| array.send());
        // SAFETY: clause 2 of `# Safety`: `array` points to memory for a struct, of any content.
        unsafe { array.write(next) };
        Ok(())
    };
    if array.is_null() {
        return EINVAL;
    }
    // SAFETY: clause 1 of `# Safety`: `stream` meets the clauses of `with_body`.
    unsafe { with_body(stream, run) }
}

/// # Safety
///
/// 1. `stream` meets the clauses of [`with_body`].
/// 2. `array` is null, or points to an empty struct that no other code uses during the call.
unsafe extern "C" fn get_next_on_device(
    stream: *mut ArrowDeviceArrayStream,
    array: *mut ArrowDeviceArray,
) -> c_int {
    let run = |body: &mut StreamBody| {
        let next = match body.source.next(true)? {
            Some((array, place)) if place.kind() == body.kind => on_place(array.send(), place),
            Some((_, place)) => {
                let text = format!("a batch is on {place}, in a stream of memory of kind {}", body.kind);
                return Err(unsupported(text));
            }
            None => ArrowDeviceArray::empty(),
        };
        // SAFETY: clause 2 of `# Safety`: `array` points to memory for a struct, of any content.
        unsafe { array.write(next) };
        Ok(())
    };
    if array.is_null() {
        return EINVAL;
    }
    // SAFETY: clause 1 of `# Safety`: `stream` meets the clauses of `with_body`.
    unsafe { with_body(stream, run) }
}

/// # Safety
///
/// 1. `stream` meets the clauses of [`with_body`].
unsafe extern "C" fn get_last_error<S: ExportedStream>(stream: *mut S) -> *const c_char {
    // SAFETY: clause 1 of `# Safety`: `stream` is null or points to a struct that no other code
    // uses during the call.
    let Some(stream) = (unsafe { stream.as_mut() }) else { return ptr::null() };
    if stream.release().is_none() {
        return ptr::null();
    }
    // SAFETY: StreamBody 1: the struct was not released (checked above), so `private_data` is its
    // own box, which no other code uses (clause 2 of `with_body`).
    let body = unsafe { &*stream.body().cast::<StreamBody>() };
    body.error.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

/// Drops the reader. A panic of it is caught.
///
/// # Safety
///
/// 1. `stream` meets the clauses of [`with_body`].
unsafe extern "C" fn release_stream<S: ExportedStream>(stream: *mut S) {
    // SAFETY: clause 1 of `# Safety`: `stream` is null or points to a struct that no other code
    // uses during the call.
    let Some(stream) = (unsafe { stream.as_mut() }) else { return };
    if stream.release().take().is_none() {
        return;
    }
    // SAFETY: StreamBody 1: the struct was not released before (`release` was set, checked above),
    // so `private_data` is its own box.
    let body = unsafe { Box::from_raw(stream.body().cast::<StreamBody>()) };
    *stream.body() = ptr::null_mut();
    let _ = catch_unwind(AssertUnwindSafe(|| drop(body)));
}
