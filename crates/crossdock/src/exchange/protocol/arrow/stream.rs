//! Streams of columns: Arrow's C Stream interface, inwards.

use core::ffi::{CStr, c_int};
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crate::exchange::protocol::arrow::field::{Field, malformed};
use crate::exchange::protocol::arrow::foreign::Foreign;
use crate::exchange::protocol::arrow::import::{Imported, read, within};
use crate::exchange::protocol::arrow::stream_abi::ArrowArrayStream;
use crate::memory::Place;

/// Columns of one type that somebody else produces, one after the other.
///
/// Each of them is a loan of its own: it may outlive the stream, which is released when this is dropped. After an error, or the last
/// column, there is none.
///
/// # Invariants
///
/// 1. The struct obeys the safety section of [`Stream::take_over`].
pub struct Stream {
    foreign: Foreign<ArrowArrayStream>,
    field: Arc<Field>,
    is_over: bool,
}

impl Stream {
    /// Takes over a stream that was lent, and asks for the type of its columns. The struct is moved: what the pointer leads to is marked as
    /// released when this returns.
    ///
    /// # Errors
    ///
    /// `is_malformed` for a null pointer, a struct that was released or lacks functions, and as [`take_over`](super::take_over) of the
    /// schema; `is_io` where the producer failed, in its words.
    ///
    /// # Safety
    ///
    /// The pointer is null, or to a struct that somebody lent to the caller and nobody else consumes, as the specification of the C Stream
    /// interface says it. The type and the columns that its functions fill in are as [`take_over`](super::take_over) wants them; the
    /// functions may be called on any thread.
    pub unsafe fn take_over(stream: *mut ArrowArrayStream) -> Result<Self> {
        // SAFETY: the caller's word.
        let foreign = unsafe { Foreign::moved_from(stream) };
        foreign.and_then(Self::of).map_err(streaming)
    }

    fn of(mut foreign: Foreign<ArrowArrayStream>) -> Result<Self> {
        let get_schema = foreign.get().get_schema.ok_or_else(|| malformed("it has no get_schema"))?;
        let mut schema = ArrowSchema::empty();
        // SAFETY: Stream 1, and a schema that holds nothing.
        let code = unsafe { get_schema(foreign.get_mut(), &mut schema) };
        check(&mut foreign, code, "get_schema")?;
        // SAFETY: just filled in, and nobody else has it.
        let schema = unsafe { Foreign::moved_from(&mut schema) }?;
        Ok(Self { foreign, field: read(&schema)?, is_over: false })
    }

    /// The names of the children, where the columns are structs.
    pub fn child_names(&self) -> Option<Vec<&str>> {
        self.field.child_names()
    }

    /// The next column. `None` where there is no more.
    ///
    /// # Errors
    ///
    /// `is_io` where the producer failed, in its words; `is_malformed` where it lacks the function.
    pub fn next_column(&mut self) -> Result<Option<Imported>> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.ask();
        self.is_over = !matches!(next, Ok(Some(_)));
        next.map_err(streaming)
    }

    fn ask(&mut self) -> Result<Option<Imported>> {
        let get_next = self.foreign.get().get_next.ok_or_else(|| malformed("it has no get_next"))?;
        let mut array = ArrowArray::empty();
        // SAFETY: Stream 1, and a column that holds nothing.
        let code = unsafe { get_next(self.foreign.get_mut(), &mut array) };
        check(&mut self.foreign, code, "get_next")?;
        if array.release.is_none() {
            return Ok(None);
        }
        // SAFETY: just filled in, and nobody else has it.
        let array = unsafe { Foreign::moved_from(&mut array) }?;
        Ok(Some(Imported::of_type(self.field.clone(), array, Place::CPU)))
    }
}

impl Iterator for Stream {
    type Item = Result<Imported>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_column().transpose()
    }
}

/// What a call came to, in the producer's words where it has some.
fn check(stream: &mut Foreign<ArrowArrayStream>, code: c_int, function: &str) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let said = match stream.get().get_last_error {
        // SAFETY: Stream 1, and the last call failed.
        Some(get_last_error) => unsafe { get_last_error(stream.get_mut()) },
        None => std::ptr::null(),
    };
    let error = io::Error::from_raw_os_error(code);
    let mut text = format!("{function} of the producer failed with {code}");
    if !said.is_null() {
        // SAFETY: Stream 1: text that ends, until the next call.
        let said = unsafe { CStr::from_ptr(said) };
        text.push_str(": ");
        text.push_str(&said.to_string_lossy());
    }
    Err(Error::caused(Kind::Io, text, error))
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:?})", self.field)
    }
}

#[cold]
fn streaming(error: Error) -> Error {
    within(error).within("a stream")
}
