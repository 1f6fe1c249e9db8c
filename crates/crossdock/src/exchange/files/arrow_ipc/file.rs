//! Files and streams in one buffer: batches by their number, in place.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::arrow_ipc::batch_checks::BatchChecks;
use crate::exchange::files::arrow_ipc::codec;
use crate::exchange::files::arrow_ipc::columns_read::{Permissions, columns};
use crate::exchange::files::arrow_ipc::dictionaries::{DictionaryCache, DictionaryMessage};
use crate::exchange::files::arrow_ipc::flatbuffer::{malformed, number};
use crate::exchange::files::arrow_ipc::message::{CONTINUATION, DICTIONARY, IpcMessage, PREFIX, RECORDS};
use crate::exchange::files::arrow_ipc::message_index::{MAGIC, MappedBytes, MessageIndex, MessagePlace};
use crate::exchange::files::arrow_ipc::schema_read::IpcSchema;
use crate::exchange::files::format::Format;
use crate::exchange::files::options::{Expected, OpenOptions};
use crate::exchange::files::readahead::PageByPage;
use crate::exchange::files::{first_bytes, magic, shown, source};
use crate::memory::fork::get_or_make;
use crate::table::{Checks, Column, ColumnType, RecordBatch, RecordBatchReader, Schema};

/// The batches of an Arrow IPC file, or of a stream in one buffer, by their number.
///
/// Opening reads the schema and where each batch is; a batch's own metadata are read when it is
/// requested. Its buffers are in place, unless they are compressed. Cloning is O(1).
///
/// ```
/// use crossdock::Array;
/// use crossdock::buffer::Buffer;
/// use crossdock::exchange::files::arrow_ipc::{IpcFile, IpcOptions};
/// use crossdock::table::{Batches, Column, RecordBatch};
///
/// let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2])?)?;
/// let batch = RecordBatch::from_columns([("price", price)])?;
/// let mut bytes = Vec::new();
/// IpcOptions::new().write_file(&mut bytes, &mut Batches::from_iter([batch.clone(), batch]))?;
/// let file = IpcFile::from_buffer(Buffer::from_vec(bytes)?)?;
/// assert_eq!((file.len(), file.schema().to_string().as_str()), (2, "price: float64"));
/// assert_eq!(file.batch(1)?.column(0)?.array()?.to_string(), "[1.5 2.5]");
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone)]
pub struct IpcFile {
    parts: Arc<FileParts>,
}

struct FileParts {
    buffer: Buffer,
    schema: IpcSchema,
    permissions: Permissions,
    is_stream: bool,
    dictionaries: Vec<MessagePlace>,
    batches: Vec<MessagePlace>,
    /// What each dictionary message is: read when a batch first needs one.
    messages: OnceLock<Vec<DictionaryMessage>>,
    cache: DictionaryCache,
    checks: BatchChecks,
}

impl OpenOptions {
    /// Opens an Arrow IPC file (`.arrow`, `.feather` of version 2) or a stream in a file
    /// (`.arrows`), mapped: nothing is read but its schema and where its batches are. As
    /// [`IpcFile::from_buffer`].
    ///
    /// A mapped file is aliased memory, since another process can write it: elements are read one
    /// by one ([`Column::value`]), and other libraries, which rely on constancy, get none in place.
    /// [`OpenOptions::mapped`] reads it into private memory, and
    /// [`OpenOptions::assume_constant`] is the caller's promise that no process writes it.
    ///
    /// # Errors
    ///
    /// Each names the path. `is_io` if the system does not open, map or read the file;
    /// `is_unsupported` for a directory, a pipe or a device, and if these options expect another
    /// format; as [`IpcFile::from_buffer`].
    ///
    /// ```
    /// use crossdock::Array;
    /// use crossdock::exchange::files::OpenOptions;
    /// use crossdock::exchange::files::arrow_ipc::IpcOptions;
    /// use crossdock::memory::copied_bytes;
    /// use crossdock::table::{Batches, Column, RecordBatch};
    /// # let path = std::env::temp_dir().join(format!("crossdock-table-{}.arrow", std::process::id()));
    ///
    /// let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2])?)?;
    /// let batch = RecordBatch::from_columns([("price", price)])?;
    /// IpcOptions::new().save(&path, &mut Batches::from_iter([batch]))?;
    /// let before = copied_bytes();
    /// let file = OpenOptions::new().open_table(&path)?;
    /// let price = file.batch(0)?.column_named("price")?; // in place
    /// assert_eq!((price.array()?.get(&[1])?.as_f64(), copied_bytes()), (Some(2.5), before));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_table(&self, path: impl AsRef<Path>) -> Result<IpcFile> {
        let path = path.as_ref();
        let loaded = self.expects_table().and_then(|()| self.load_table(path));
        let opened = loaded.and_then(|(buffer, format)| match format {
            Some(format) if format != Format::Arrow => {
                let text =
                    format!("it is a {format} file, which holds arrays and no table; open it as arrays");
                Err(Error::new(Kind::Unsupported, text))
            }
            _ => self.read_table(buffer),
        });
        opened.map_err(|error| error.within(shown(path)))
    }

    /// As [`OpenOptions::open_table`]; `None` for a file of another format, and if these options
    /// expect another format: `open_all` compares it with the file's.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open_table`].
    #[doc(hidden)]
    pub fn try_open_table(&self, path: impl AsRef<Path>) -> Result<Option<IpcFile>> {
        let path = path.as_ref();
        if self.expects_table().is_err() {
            return Ok(None);
        }
        let opened = || {
            let file = source::open(path, self.writes_file())?;
            // Files of other formats are not mapped.
            if magic::format(&source::first_bytes(&file)?) != Some(Format::Arrow) {
                return Ok(None);
            }
            self.check()?;
            self.read_table(self.load(file)?).map(Some)
        };
        opened().map_err(|error: Error| error.within(shown(path)))
    }

    /// Fails if a file of another format than Arrow IPC is expected.
    fn expects_table(&self) -> Result<()> {
        let format = match &self.expected {
            Expected::Any | Expected::Format(Format::Arrow) => return Ok(()),
            Expected::Format(format) => *format,
            Expected::Raw(_) => Format::Raw,
        };
        let text = format!(
            "{} {format} file was expected, which holds arrays and no table; open it as arrays",
            format.article()
        );
        Err(Error::new(Kind::Unsupported, text))
    }

    fn load_table(&self, path: &Path) -> Result<(Buffer, Option<Format>)> {
        self.check()?;
        let buffer = self.load(source::open(path, self.writes_file())?)?;
        let pages = PageByPage::begin(&buffer);
        let start = first_bytes(&buffer);
        pages.into_iter().for_each(PageByPage::end);
        let format = magic::format(&start?);
        Ok((buffer, format))
    }

    /// The batches in the bytes of a file, as [`OpenOptions::open_table`]. The buffer already is
    /// mapped, guarded and constant, or not: those options have no effect.
    ///
    /// # Errors
    ///
    /// As [`IpcFile::from_buffer`].
    #[doc(hidden)]
    pub fn read_table(&self, buffer: Buffer) -> Result<IpcFile> {
        let permissions = Permissions { limit: self.limit, may_copy: !self.is_mapped() };
        IpcFile::read(buffer, permissions, Checks::Shape)
    }
}

impl IpcFile {
    /// The batches in the bytes of a file or a stream. O(batches), and of a stream O(metadata).
    ///
    /// # Errors
    ///
    /// `is_malformed` for bytes that are neither, metadata that contradict themselves, and a file
    /// without an end; `is_bounds` for messages beyond the bytes; `is_unsupported` for elements
    /// in the other byte order, metadata older than version 4, and unknown types; `is_value` as
    /// [`Field::new`](crate::table::Field::new); `is_conflict` while another party holds Write;
    /// `is_place` on a device.
    pub fn from_buffer(buffer: Buffer) -> Result<Self> {
        OpenOptions::new().read_table(buffer)
    }

    /// As [`IpcFile::from_buffer`], of bytes that another process wrote into memory. A batch is
    /// checked in full when it is first read, since programs that take its columns in place rely on
    /// the rules of their types.
    pub(in crate::exchange::files) fn of_another_process(buffer: Buffer) -> Result<Self> {
        let permissions = Permissions { limit: OpenOptions::new().limit, may_copy: true };
        Self::read(buffer, permissions, Checks::Full)
    }

    fn read(buffer: Buffer, permissions: Permissions, checks: Checks) -> Result<Self> {
        let pages = PageByPage::begin(&buffer);
        let opened = Self::read_parts(&buffer, permissions, checks);
        pages.into_iter().for_each(PageByPage::end);
        // If a guarded file shrank meanwhile, its bytes were read as zeros, and the fault is the
        // reason.
        buffer.fault().map_or(opened, Err)
    }

    fn read_parts(buffer: &Buffer, permissions: Permissions, checks: Checks) -> Result<Self> {
        let bytes = MappedBytes { buffer };
        let mut start = [0; MAGIC.len()];
        if buffer.nbytes() >= start.len() {
            bytes.copy(0, &mut start)?;
        }
        let is_stream = start != *MAGIC;
        let MessageIndex { schema, dictionaries, batches } =
            if is_stream { bytes.stream_index()? } else { bytes.file_index()? };
        let parts = FileParts {
            checks: BatchChecks::new(checks, batches.len()),
            cache: DictionaryCache::new(dictionaries.len()),
            buffer: buffer.try_clone()?,
            schema,
            permissions,
            is_stream,
            dictionaries,
            batches,
            messages: OnceLock::new(),
        };
        Ok(Self { parts: parts.into() })
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &Schema {
        &self.parts.schema.schema
    }

    /// The number of batches.
    pub fn len(&self) -> usize {
        self.parts.batches.len()
    }

    /// Whether there are no batches.
    pub fn is_empty(&self) -> bool {
        self.parts.batches.is_empty()
    }

    /// Whether it is a stream: it has no footer, and dictionaries may change between batches.
    #[doc(hidden)]
    pub fn is_stream(&self) -> bool {
        self.parts.is_stream
    }

    /// The bytes of the file.
    #[doc(hidden)]
    pub fn buffer(&self) -> &Buffer {
        &self.parts.buffer
    }

    /// A batch: its columns in place; compressed buffers are decoded to memory of the default pool,
    /// and several parts of a dictionary are joined once, which both count as copied. O(columns)
    /// otherwise. Offsets, indices and text were not compared: [`Column::check`] does.
    ///
    /// # Errors
    ///
    /// `is_bounds` for a number that no batch has, and for buffers beyond the batch;
    /// `is_malformed` for metadata that contradict the schema, and damaged buffers;
    /// `is_alignment` for a buffer that is not aligned to its elements in a mapped file;
    /// `is_unsupported` for decoded buffers of more bytes than the [limit](OpenOptions::limit);
    /// `is_fault` if a guarded file shrank.
    pub fn batch(&self, index: usize) -> Result<RecordBatch> {
        let read = self.parts.batch(index);
        let read = read.map_err(|error| error.within(format_args!("batch {index}")));
        self.parts.buffer.fault().map_or(read, Err)
    }

    /// A column of a batch, of which no other is decoded.
    ///
    /// # Errors
    ///
    /// As [`IpcFile::batch`]; `is_bounds` for a number that no column has.
    #[doc(hidden)]
    pub fn column(&self, batch: usize, column: usize) -> Result<Column> {
        let read = self.parts.columns(batch, Some(column)).and_then(|(_, mut columns)| {
            self.parts.checks.check(batch, self.schema(), &columns, Some(column))?;
            columns.pop().ok_or_else(|| Error::new(Kind::Bounds, format!("it has no column {column}")))
        });
        let read = read.map_err(|error| error.within(format_args!("batch {batch}")));
        self.parts.buffer.fault().map_or(read, Err)
    }

    /// Whether the buffers of a batch are compressed.
    pub(in crate::exchange::files) fn is_compressed(&self, index: usize) -> Result<bool> {
        let Some(block) = self.parts.batches.get(index) else { return Ok(false) };
        let metadata = self.parts.metadata(block)?;
        Ok(codec::of_batch(IpcMessage::read(&metadata)?.expecting(RECORDS)?.header)?.is_some())
    }

    /// The number of rows of a batch, and of nulls of each column, as its metadata announce them.
    pub(super) fn counts(&self, index: usize) -> Result<(usize, Vec<usize>)> {
        let counts = self.parts.counts(index);
        self.parts.buffer.fault().map_or(counts, Err)
    }

    /// The number of rows of all batches. Reads the metadata of each. O(batches).
    ///
    /// # Errors
    ///
    /// As [`IpcFile::batch`].
    pub fn rows(&self) -> Result<usize> {
        let rows = self.parts.batches.iter().try_fold(0usize, |sum, block| {
            let metadata = self.parts.metadata(block)?;
            let rows = IpcMessage::read(&metadata)?.expecting(RECORDS)?.header.i64(0)?;
            let sum = usize::try_from(rows).ok().and_then(|rows| sum.checked_add(rows));
            sum.ok_or_else(|| malformed(format!("a batch has {rows} rows")))
        });
        self.parts.buffer.fault().map_or(rows, Err)
    }

    /// The batches, one after the other.
    pub fn reader(&self) -> impl RecordBatchReader + Send + use<> {
        FileReader { file: self.clone(), next: 0 }
    }
}

struct FileReader {
    file: IpcFile,
    next: usize,
}

impl RecordBatchReader for FileReader {
    fn schema(&self) -> &Schema {
        self.file.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.next >= self.file.len() {
            return Ok(None);
        }
        let batch = self.file.batch(self.next);
        self.next = if batch.is_ok() { self.next + 1 } else { usize::MAX };
        batch.map(Some)
    }
}

impl FileParts {
    fn metadata(&self, block: &MessagePlace) -> Result<Vec<u8>> {
        let mut bytes = MappedBytes { buffer: &self.buffer }.bytes(block.start, block.metadata)?;
        let before = if bytes.starts_with(&CONTINUATION) { PREFIX } else { PREFIX - CONTINUATION.len() };
        bytes.drain(..before.min(bytes.len()));
        Ok(bytes)
    }

    fn body(&self, block: &MessagePlace, message: &IpcMessage<'_>) -> Result<Buffer> {
        let start = block.start + block.metadata;
        // A block lies within the buffer.
        match usize::try_from(message.body).ok().filter(|&nbytes| nbytes <= block.body) {
            Some(nbytes) => self.buffer.slice(start..start + nbytes),
            None => Err(Error::new(
                Kind::Bounds,
                format!("its body has {} bytes, but only {} are left for it", message.body, block.body),
            )),
        }
    }

    /// The number of rows of a batch, and of nulls of each column; none if there is no such batch.
    fn counts(&self, index: usize) -> Result<(usize, Vec<usize>)> {
        let Some(block) = self.batches.get(index) else { return Ok((0, vec![])) };
        let metadata = self.metadata(block)?;
        let batch = IpcMessage::read(&metadata)?.expecting(RECORDS)?.header;
        let rows = batch.i64(0)?;
        let rows = usize::try_from(rows).map_err(|_| malformed(format!("a batch has {rows} rows")))?;
        let mut nodes = batch.vector(1, 16)?.elements::<16>();
        let counts = self.schema.columns.iter().map(|column| {
            let node = nodes.next().ok_or_else(|| malformed("a batch has fewer columns than its schema"))?;
            // Those of its parts follow.
            for _ in 1..column.parts() {
                nodes.next();
            }
            let nulls = if column.ty == ColumnType::Null { number(node, 0) } else { number(node, 8) };
            usize::try_from(nulls).map_err(|_| malformed(format!("it has {nulls} nulls")))
        });
        Ok((rows, counts.collect::<Result<_>>()?))
    }

    fn batch(&self, index: usize) -> Result<RecordBatch> {
        let (len, columns) = self.columns(index, None)?;
        self.checks.check(index, &self.schema.schema, &columns, None)?;
        RecordBatch::new(self.schema.schema.clone(), columns, len)
    }

    /// The number of rows of a batch, and all of its columns, or only one.
    fn columns(&self, index: usize, only: Option<usize>) -> Result<(usize, Vec<Column>)> {
        let block = self.batches.get(index).ok_or_else(|| {
            let text = format!("there are {} batches", self.batches.len());
            Error::new(Kind::Bounds, text)
        })?;
        let metadata = self.metadata(block)?;
        let message = IpcMessage::read(&metadata)?.expecting(RECORDS)?;
        let body = self.body(block, &message)?;
        let fields = &self.schema.columns;
        let dictionary = |id: i64| self.dictionary(id, block.dictionaries);
        columns(message.header, message.version, &body, fields, only, self.permissions, &dictionary)
    }

    /// The dictionary as the first so many messages define it.
    fn dictionary(&self, id: i64, count: usize) -> Result<Column> {
        let messages = self.messages()?.get(..count).unwrap_or_default();
        self.cache.get(id, messages, |index| {
            let metadata = self.metadata(&self.dictionaries[index])?;
            let message = IpcMessage::read(&metadata)?.expecting(DICTIONARY)?;
            let body = self.body(&self.dictionaries[index], &message)?;
            // In a file, dictionaries within dictionaries may be anywhere. A type contains no
            // dictionary of itself, since each has one type of values, so this ends.
            let before = if self.is_stream { index } else { count };
            let inner = |id: i64| self.dictionary(id, before);
            self.schema.dictionary(&message, id, &body, self.permissions, &inner)
        })
    }

    fn messages(&self) -> Result<&[DictionaryMessage]> {
        if let Some(messages) = self.messages.get() {
            return Ok(messages);
        }
        let read = self.dictionaries.iter().map(|block| {
            let metadata = self.metadata(block)?;
            DictionaryMessage::read(&IpcMessage::read(&metadata)?.expecting(DICTIONARY)?)
        });
        let messages = read.collect::<Result<Vec<_>>>()?;
        if !self.is_stream {
            DictionaryMessage::check_file(&messages)?;
        }
        let messages: &Vec<_> = get_or_make(&self.messages, || messages);
        Ok(messages)
    }
}

impl fmt::Debug for IpcFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IpcFile({} batches; {:?})", self.len(), self.schema().fields())
    }
}
