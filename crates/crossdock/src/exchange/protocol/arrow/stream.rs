//! Streams of columns: imports by Arrow's C Stream interface.

use core::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crate::exchange::protocol::arrow::field::{ArrowField, malformed};
use crate::exchange::protocol::arrow::foreign::{ForeignStruct, ReleasableStruct};
use crate::exchange::protocol::arrow::import::{Imported, read, within};
use crate::exchange::protocol::arrow::stream_abi::{ArrowArrayStream, ArrowDeviceArrayStream};
use crate::exchange::protocol::arrow::table_schema::read_field;
use crate::memory::Place;
use crate::table::Field;

/// A sequence of columns of one type from a producer.
///
/// Each column is independent: it may outlive the stream, which is released when this is dropped.
/// The sequence ends after an error or the last column.
///
/// # Invariants
///
/// 1. The struct meets the clauses of `# Safety` of [`ArrowStream::take_over`], and is not
///    released.
pub struct ArrowStream {
    foreign: ForeignStruct<ArrowArrayStream>,
    field: Arc<ArrowField>,
    is_over: bool,
}

impl ArrowStream {
    /// Imports a stream and requests the type of its columns. The struct is moved: the source is
    /// marked as released when this returns.
    ///
    /// # Errors
    ///
    /// `is_malformed` for a null pointer, a struct that was released or lacks functions, and as
    /// [`take_over`](super::take_over) of the schema; `is_io`, with the producer's message, if the
    /// producer failed.
    ///
    /// # Safety
    ///
    /// 1. The pointer is null, or points to a struct that a producer exported to the caller, that
    ///    follows the specification of the C Stream interface, and that no other party uses.
    /// 2. The schema and the columns that its functions fill in meet the clauses of
    ///    [`take_over`](super::take_over).
    /// 3. Its functions may be called on any thread.
    pub unsafe fn take_over(stream: *mut ArrowArrayStream) -> Result<Self> {
        // SAFETY: clauses 1 to 3 of `# Safety`: `stream` is null, or points to a struct that was
        // released or meets ForeignStruct 1.
        let foreign = unsafe { ForeignStruct::moved_from(stream) };
        foreign.and_then(Self::of).map_err(streaming)
    }

    fn of(mut foreign: ForeignStruct<ArrowArrayStream>) -> Result<Self> {
        let schema = schema_struct(&mut foreign)?;
        Ok(Self { foreign, field: read(&schema)?, is_over: false })
    }

    /// The names of the children, if the columns are structs.
    pub fn child_names(&self) -> Option<Vec<&str>> {
        self.field.child_names()
    }

    /// The type of the columns, requested again, as tables have it.
    ///
    /// # Errors
    ///
    /// As [`import_stream`](super::import_stream).
    #[doc(hidden)]
    pub fn field(&mut self) -> Result<Field> {
        schema_struct(&mut self.foreign).and_then(|schema| read_field(&schema)).map_err(streaming)
    }

    /// The next column. `None` after the last.
    ///
    /// # Errors
    ///
    /// `is_io`, with the producer's message, if the producer failed; `is_malformed` if the stream
    /// lacks the function.
    pub fn next_column(&mut self) -> Result<Option<Imported>> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.ask();
        self.is_over = !matches!(next, Ok(Some(_)));
        next.map_err(streaming)
    }

    fn ask(&mut self) -> Result<Option<Imported>> {
        let array = next_array(&mut self.foreign)?;
        Ok(array.map(|array| Imported::of_type(self.field.clone(), array, Place::CPU)))
    }
}

/// A function that fills in a struct for a stream.
type Fill<S, T> = Option<unsafe extern "C" fn(*mut S, *mut T) -> c_int>;
/// The function that gives the text of the last error.
type LastError<S> = Option<unsafe extern "C" fn(*mut S) -> *const c_char>;

/// A struct of a stream: [`ArrowArrayStream`] or [`ArrowDeviceArrayStream`].
pub(super) trait StreamStruct: ReleasableStruct {
    /// What the stream fills in.
    type Array;

    fn get_schema(&self) -> Fill<Self, ArrowSchema>;
    fn get_next(&self) -> Fill<Self, Self::Array>;
    fn get_last_error(&self) -> LastError<Self>;
}

macro_rules! stream_struct {
    ($($name:ident: $array:ident),*) => {
        $(impl StreamStruct for $name {
            type Array = $array;

            fn get_schema(&self) -> Fill<Self, ArrowSchema> {
                self.get_schema
            }

            fn get_next(&self) -> Fill<Self, $array> {
                self.get_next
            }

            fn get_last_error(&self) -> LastError<Self> {
                self.get_last_error
            }
        })*
    };
}
stream_struct!(ArrowArrayStream: ArrowArray, ArrowDeviceArrayStream: ArrowDeviceArray);

/// Requests the schema of a stream.
pub(super) fn schema_struct<S: StreamStruct>(
    foreign: &mut ForeignStruct<S>,
) -> Result<ForeignStruct<ArrowSchema>> {
    let get_schema = foreign.get().get_schema().ok_or_else(|| malformed("it has no get_schema"))?;
    let mut schema = ArrowSchema::empty();
    // SAFETY: ForeignStruct 1: the function belongs to this stream, which is not released; `schema`
    // is empty, as the interface requires, and outlives the call.
    let code = unsafe { get_schema(foreign.get_mut(), &mut schema) };
    check(foreign, code, "get_schema")?;
    // SAFETY: `get_schema` filled in `schema` without an error, so it meets ForeignStruct 1 (clause
    // 2 of `ArrowStream::take_over`) or is still empty; no other party has this variable.
    unsafe { ForeignStruct::moved_from(&mut schema) }
}

/// Requests the next column of a stream; `None` after the last.
pub(super) fn next_array(
    foreign: &mut ForeignStruct<ArrowArrayStream>,
) -> Result<Option<ForeignStruct<ArrowArray>>> {
    let mut array = ArrowArray::empty();
    fill_next(foreign, &mut array)?;
    if array.release.is_none() {
        return Ok(None);
    }
    // SAFETY: `get_next` filled in `array` without an error, so it meets ForeignStruct 1 (clause 2
    // of `ArrowStream::take_over`); no other party has this variable.
    unsafe { ForeignStruct::moved_from(&mut array) }.map(Some)
}

/// Requests the next struct of a stream. `array` is empty; after the last it still is.
pub(super) fn fill_next<S: StreamStruct>(foreign: &mut ForeignStruct<S>, array: &mut S::Array) -> Result<()> {
    let get_next = foreign.get().get_next().ok_or_else(|| malformed("it has no get_next"))?;
    // SAFETY: ForeignStruct 1: the function belongs to this stream, which is not released; the
    // caller passes an empty struct, as the interface requires, which outlives the call.
    let code = unsafe { get_next(foreign.get_mut(), array) };
    check(foreign, code, "get_next")
}

impl Iterator for ArrowStream {
    type Item = Result<Imported>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_column().transpose()
    }
}

/// The result of a call, with the producer's message if there is one.
fn check<S: StreamStruct>(stream: &mut ForeignStruct<S>, code: c_int, function: &str) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let said = match stream.get().get_last_error() {
        // SAFETY: ForeignStruct 1: the function belongs to this stream, which is not released, and
        // its last call failed (`code` is not 0).
        Some(get_last_error) => unsafe { get_last_error(stream.get_mut()) },
        None => std::ptr::null(),
    };
    let error = io::Error::from_raw_os_error(code);
    let mut text = format!("{function} of the producer failed with error {code}");
    if !said.is_null() {
        // SAFETY: the specification of the C Stream interface (clause 1 of
        // `ArrowStream::take_over`): text that ends by NUL, valid until the next call, which comes
        // after this use.
        let said = unsafe { CStr::from_ptr(said) };
        if !said.is_empty() {
            text.push_str(": ");
            text.push_str(&said.to_string_lossy());
        }
    }
    Err(Error::caused(Kind::Io, text, error))
}

impl fmt::Debug for ArrowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:?})", self.field)
    }
}

#[cold]
pub(super) fn streaming(error: Error) -> Error {
    within(error).within("a stream")
}
