//! Streams of any reader: one batch after the other.

use std::collections::HashMap;
use std::fmt;
use std::io::{ErrorKind, Read};

use crate::buffer::{Buffer, MutableBuffer};
use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::files::arrow_ipc::columns_read::{Permissions, columns};
use crate::exchange::files::arrow_ipc::dictionaries::{DictionaryMessage, joined};
use crate::exchange::files::arrow_ipc::flatbuffer::malformed;
use crate::exchange::files::arrow_ipc::message::{self, DICTIONARY, IpcMessage, PREFIX, RECORDS, SCHEMA};
use crate::exchange::files::arrow_ipc::schema_read::IpcSchema;
use crate::exchange::files::contents::LIMIT;
use crate::memory::count_copied;
use crate::table::{Column, RecordBatch, RecordBatchReader, Schema};

/// How many bytes of a message are read at first, since its length is untrusted.
const FIRST: usize = 1 << 20;

/// The batches of an Arrow IPC stream of any reader: a pipe, a socket, bytes. Each is read to
/// memory of the default pool, which counts as copied.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::files::arrow_ipc::{IpcOptions, IpcStream};
/// use crossdock::table::{Batches, Column, RecordBatch, RecordBatchReader};
///
/// let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2])?)?;
/// let batch = RecordBatch::from_columns([("price", price)])?;
/// let mut bytes = Vec::new();
/// IpcOptions::new().write_stream(&mut bytes, &mut Batches::from_iter([batch]))?;
/// let mut stream = IpcStream::new(&bytes[..])?;
/// assert_eq!(stream.next_batch()?.map(|batch| batch.len()), Some(2));
/// assert!(stream.next_batch()?.is_none());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct IpcStream<R> {
    /// `None` after the end, and after an error.
    source: Option<R>,
    schema: IpcSchema,
    dictionaries: HashMap<i64, Column>,
    permissions: Permissions,
}

impl<R: Read> IpcStream<R> {
    /// Reads the schema, with which a stream begins. Reads in small pieces: a file or a socket
    /// needs a `BufReader`.
    ///
    /// # Errors
    ///
    /// `is_io` if the reader fails; otherwise as [`IpcFile::from_buffer`].
    ///
    /// [`IpcFile::from_buffer`]: crate::exchange::files::arrow_ipc::IpcFile::from_buffer
    pub fn new(mut source: R) -> Result<Self> {
        let first = receive(&mut source)?
            .ok_or_else(|| malformed("an Arrow stream begins with a schema, not with its end"))?;
        let message = IpcMessage::read(&first)?.expecting(SCHEMA)?;
        let schema = IpcSchema::read(message.header, first.len())?;
        let nbytes = message.body;
        let permissions = Permissions { limit: LIMIT, may_copy: true };
        body(&mut source, nbytes, permissions.limit)?;
        Ok(Self { source: Some(source), schema, dictionaries: HashMap::new(), permissions })
    }

    /// The most bytes of a batch, and of its decoded buffers; 16 GiB unless it is set.
    pub fn with_limit(mut self, nbytes: u64) -> Self {
        self.permissions.limit = nbytes;
        self
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(source) = &mut self.source else { return Ok(None) };
            let Some(received) = receive(source)? else {
                self.source = None;
                return Ok(None);
            };
            let message = IpcMessage::read(&received)?;
            let body = body(source, message.body, self.permissions.limit)?;
            match message.kind {
                DICTIONARY => self.change_dictionary(&message, &body)?,
                RECORDS => {
                    let inner = |id: i64| self.known(id);
                    let fields = &self.schema.columns;
                    let (len, columns) = columns(
                        message.header,
                        message.version,
                        &body,
                        fields,
                        None,
                        self.permissions,
                        &inner,
                    )?;
                    return RecordBatch::new(self.schema.schema.clone(), columns, len).map(Some);
                }
                kind => return Err(malformed(format!("a message of the stream is {}", message::name(kind)))),
            }
        }
    }

    fn known(&self, id: i64) -> Result<Column> {
        let known = self.dictionaries.get(&id).cloned();
        known
            .ok_or_else(|| malformed(format!("dictionary {id} has no values before the batch that needs it")))
    }

    fn change_dictionary(&mut self, message: &IpcMessage<'_>, body: &Buffer) -> Result<()> {
        let DictionaryMessage { id, is_delta } = DictionaryMessage::read(message)?;
        let inner = |id: i64| self.known(id);
        let values = self.schema.dictionary(message, id, body, self.permissions, &inner)?;
        let before = if is_delta { self.dictionaries.remove(&id) } else { None };
        let values = joined(before.into_iter().chain([values]).collect())?;
        self.dictionaries.insert(id, values);
        Ok(())
    }
}

impl<R: Read> RecordBatchReader for IpcStream<R> {
    fn schema(&self) -> &Schema {
        &self.schema.schema
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.read_batch();
        if batch.is_err() {
            self.source = None;
        }
        batch
    }
}

fn unread(error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => malformed("the stream ends within a message"),
        _ => Error::caused(Kind::Io, format!("the stream could not be read: {}", system_text(&error)), error),
    }
}

/// The metadata of the next message; `None` at the end.
fn receive(source: &mut impl Read) -> Result<Option<Vec<u8>>> {
    let mut start = [0; PREFIX];
    let mut found = 0;
    // A stream may end without saying so.
    while found < 4 {
        match source.read(&mut start[found..4]) {
            Ok(0) if found == 0 => return Ok(None),
            Ok(0) => return Err(unread(ErrorKind::UnexpectedEof.into())),
            Ok(count) => found += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(unread(error)),
        }
    }
    if start[..4] == message::CONTINUATION {
        source.read_exact(&mut start[4..]).map_err(unread)?;
    }
    let Some((length, _)) = message::length(&start)? else { return Ok(None) };
    let mut metadata = Vec::new();
    source.take(length as u64).read_to_end(&mut metadata).map_err(unread)?;
    match metadata.len() == length {
        true => Ok(Some(metadata)),
        false => Err(unread(ErrorKind::UnexpectedEof.into())),
    }
}

/// The body of a message, in new memory that grows with the bytes that arrive.
fn body(source: &mut impl Read, nbytes: u64, limit: u64) -> Result<Buffer> {
    let nbytes = usize::try_from(nbytes).ok().filter(|_| nbytes <= limit).ok_or_else(|| {
        let text =
            format!("a message has a body of {nbytes} bytes, but {limit} are allowed; raise the limit");
        Error::new(Kind::Unsupported, text)
    })?;
    let mut bytes = MutableBuffer::new()?;
    while bytes.nbytes() < nbytes {
        let start = bytes.nbytes();
        bytes.resize(nbytes.min((2 * start).max(FIRST)))?;
        source.read_exact(&mut bytes.as_mut_slice_of::<u8>()?[start..]).map_err(unread)?;
    }
    count_copied(nbytes);
    Ok(bytes.freeze())
}

impl<R> fmt::Debug for IpcStream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IpcStream({:?})", self.schema.schema.fields())
    }
}
