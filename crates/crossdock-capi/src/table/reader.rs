//! Readers: sequences of batches, one at a time.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crossdock::Error;
use crossdock::bindings::arrow::{self, ArrowArrayStream};
use crossdock::exchange::files::arrow_ipc::{IpcCompression, IpcOptions};
use crossdock::table::{Batches, Checks, RecordBatch, RecordBatchReader, Schema};

use crate::error::{Failure, Result, XD_ERROR_CLOSED, XD_ERROR_CONFLICT, XD_ERROR_DTYPE};
use crate::foreign::{Item, given, items, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::open::{XdOpenOptions, options_of};
use crate::table::checks_of;
use crate::table::schema::XdSchema;
use crate::words::table_words;

pub(super) type Source = Box<dyn RecordBatchReader + Send>;

/// A source whose failure is the answer of all later calls, so that none takes it for the end.
struct Lasting {
    source: Source,
    failed: Option<Error>,
}

impl RecordBatchReader for Lasting {
    fn schema(&self) -> &Schema {
        self.source.schema()
    }

    fn next_batch(&mut self) -> crossdock::Result<Option<RecordBatch>> {
        if let Some(error) = &self.failed {
            return Err(error.again());
        }
        self.source.next_batch().inspect_err(|error| self.failed = Some(error.again()))
    }
}

/// `xd_reader_t`.
pub struct XdReader {
    schema: Schema,
    state: Mutex<State>,
}

/// The source is taken out for each call of it: it runs foreign code, which may use the reader.
enum State {
    Idle(Source),
    Busy,
    Exported,
}

impl XdReader {
    pub(crate) fn hand_over(source: Source) -> Result<Handle<Self>> {
        let schema = source.schema().clone();
        let source = Box::new(Lasting { source, failed: None });
        hand_over(Self { schema, state: Mutex::new(State::Idle(source)) })
    }

    /// A reader of the stream that `import` moves, with the checks of this number. Another number
    /// fails once the stream is moved, as every other error does.
    pub(super) fn imported<S, R: RecordBatchReader + Send + 'static>(
        stream: *mut S,
        checks: i32,
        import: impl FnOnce(Checks) -> crossdock::Result<R>,
    ) -> Result<Handle<Self>> {
        given(NonNull::new(stream), "stream")?;
        let wanted = checks_of(checks);
        let imported = import(*wanted.as_ref().unwrap_or(&Checks::Shape));
        wanted?;
        Self::hand_over(Box::new(imported?))
    }

    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), state)
    }

    /// Ends the reader with an export of its source.
    pub(super) fn export<T>(&self, export: impl FnOnce(Source) -> T) -> Result<T> {
        let exported = export(self.take()?);
        self.replace(State::Exported);
        Ok(exported)
    }

    /// The source, until another state is set.
    fn take(&self) -> Result<Source> {
        match self.replace(State::Busy) {
            State::Idle(source) => Ok(source),
            State::Busy => Err(Failure::of_kind(
                XD_ERROR_CONFLICT,
                "another call uses the reader; use a reader on one thread at a time",
            )),
            State::Exported => {
                self.replace(State::Exported);
                let text = "the reader has ended: its batches were exported as a stream";
                Err(Failure::of_kind(XD_ERROR_CLOSED, text))
            }
        }
    }
}

/// Imports a stream of batches.
///
/// # Safety
///
/// The contract of [`arrow::import_stream`] holds for `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_reader_from_arrow(
    stream: *mut ArrowArrayStream,
    checks: i32,
    error: ErrorOut<'_>,
) -> Handle<XdReader> {
    fallible(error, || {
        XdReader::imported(stream, checks, |checks| {
            // SAFETY: `# Safety` is the contract of `import_stream`.
            unsafe { arrow::import_stream(stream, checks) }
        })
    })
}

/// The batches of an Arrow IPC file.
///
/// # Safety
///
/// 1. `path` and the texts of `options` are null or C strings that nothing writes during the call.
/// 2. With `XD_OPENING_CONSTANT`, no process writes or truncates the file while a batch, or a part
///    of one, is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_reader_open(
    path: *const c_char,
    options: Option<&XdOpenOptions>,
    error: ErrorOut<'_>,
) -> Handle<XdReader> {
    fallible(error, || {
        // SAFETY: clause 1 of `# Safety`: `path` is null or a C string; the result is used during
        // this call only, while nothing writes it.
        let path = unsafe { text(path, "path") }?;
        // SAFETY: clauses 1 and 2 of `# Safety`: each text is null or a C string; with
        // `XD_OPENING_CONSTANT`, no process writes or truncates the file while it is mapped.
        let options = unsafe { options_of(options) }?;
        XdReader::hand_over(Box::new(options.open_table(path)?.reader()))
    })
}

/// `XD_COMPRESSION_NONE` of the header.
pub const XD_COMPRESSION_NONE: i32 = 0;
/// `XD_COMPRESSION_LZ4` of the header.
pub const XD_COMPRESSION_LZ4: i32 = 1;
/// `XD_COMPRESSION_ZSTD` of the header.
pub const XD_COMPRESSION_ZSTD: i32 = 2;

/// Writes the remaining batches to an Arrow IPC file.
///
/// # Safety
///
/// `path` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_reader_save(
    reader: Option<&XdReader>,
    path: *const c_char,
    compression: i32,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let reader = given(reader, "reader")?;
        // SAFETY: `# Safety`: `path` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let path = unsafe { text(path, "path") }?;
        let options = match compression {
            XD_COMPRESSION_NONE => IpcOptions::new(),
            XD_COMPRESSION_LZ4 => IpcOptions::new().compression(IpcCompression::Lz4),
            XD_COMPRESSION_ZSTD => IpcOptions::new().compression(IpcCompression::Zstd),
            other => {
                return Err(Failure::argument(format!(
                    "the argument `compression` is {other}; it must be {XD_COMPRESSION_NONE} (none), \
                    {XD_COMPRESSION_LZ4} (LZ4) or {XD_COMPRESSION_ZSTD} (Zstandard)"
                )));
            }
        };
        let mut source = reader.take()?;
        let saved = options.save(path, &mut *source);
        reader.replace(State::Idle(source));
        saved?;
        Ok(true)
    })
}

/// Exports the remaining batches as a stream.
#[unsafe(no_mangle)]
pub extern "C" fn xd_reader_to_arrow(
    reader: Option<&XdReader>,
    stream: Option<&mut MaybeUninit<ArrowArrayStream>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (reader, stream) = (given(reader, "reader")?, given(stream, "stream")?);
        reader.export(|source| stream.write(arrow::export_stream_in_words(source, table_words)))?;
        Ok(true)
    })
}

/// These batches, one after the other.
///
/// # Safety
///
/// `batches` is null or points to `count` pointers, each null or a live batch, which nothing
/// writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_reader_from_batches(
    count: usize,
    batches: *const Option<&RecordBatch>,
    error: ErrorOut<'_>,
) -> Handle<XdReader> {
    fallible(error, || {
        // SAFETY: `# Safety`: `batches` is null or points to `count` pointers, each null or a live
        // batch, which nothing writes during the call.
        XdReader::hand_over(Box::new(unsafe { batches_of(count, batches) }?))
    })
}

/// The batches of a list, which must have one schema.
///
/// # Safety
///
/// `batches` is null or points to `count` pointers, each null or a live batch, which nothing
/// writes during the call.
pub(super) unsafe fn batches_of(count: usize, batches: *const Option<&RecordBatch>) -> Result<Batches> {
    // SAFETY: `# Safety`: `batches` is null or points to `count` pointers; the list is used during
    // this call only.
    let batches = unsafe { items(batches, count, "batches") }?;
    let batches = batches.iter().enumerate();
    let batches = batches.map(|(index, &batch)| given(batch, Item("batches", index)).cloned());
    let batches = batches.collect::<Result<Vec<_>>>()?;
    let other = batches.iter().position(|batch| batch.schema() != batches[0].schema());
    if let Some(index) = other {
        let why = difference(batches[index].schema(), batches[0].schema());
        let text = format!("batch {index} has another schema than batch 0: {why}");
        return Err(Failure::of_kind(XD_ERROR_DTYPE, text));
    }
    Ok(batches.into_iter().collect())
}

/// The first difference of two schemas.
fn difference(found: &Schema, wanted: &Schema) -> String {
    let (found, wanted) = (found.fields(), wanted.fields());
    if found.len() != wanted.len() {
        return format!("it has {} columns, not {}", found.len(), wanted.len());
    }
    match found.iter().zip(wanted).position(|(found, wanted)| found != wanted) {
        Some(at) => {
            let [found, wanted] = [&found[at], &wanted[at]]
                .map(|field| format!("\"{}\" of type {}", field.name(), field.column_type()));
            match found == wanted {
                false => format!("its column {at} is {found}, not {wanted}"),
                true => format!("its column {at}, {found}, has other nulls or metadata"),
            }
        }
        None => "their metadata differ".to_owned(),
    }
}

/// What the columns of each batch are.
#[unsafe(no_mangle)]
pub extern "C" fn xd_reader_schema(reader: Option<&XdReader>, error: ErrorOut<'_>) -> Handle<XdSchema> {
    fallible(error, || XdSchema::hand_over(&given(reader, "reader")?.schema))
}

/// The next batch; null without an error after the last, and the same error after a failure.
#[unsafe(no_mangle)]
pub extern "C" fn xd_reader_next(reader: Option<&XdReader>, error: ErrorOut<'_>) -> Handle<RecordBatch> {
    fallible(error, || {
        let reader = given(reader, "reader")?;
        let mut source = reader.take()?;
        let next = source.next_batch();
        reader.replace(State::Idle(source));
        next?.map_or(Ok(None), hand_over)
    })
}

/// Frees a reader. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_reader_free(reader: Handle<XdReader>) {
    answer(|| drop(reader));
}
