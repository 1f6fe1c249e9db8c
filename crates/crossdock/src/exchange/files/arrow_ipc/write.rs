//! Writes files and streams: a batch at a time.

use std::io::{BufWriter, Write};
use std::path::Path;

use crate::buffer::{Buffer, ReadOrPinLease};
use crate::error::{Error, Kind, Result};
use crate::exchange::files::arrow_ipc::codec::{self, IpcCompression};
use crate::exchange::files::arrow_ipc::columns_write::OutgoingColumns;
use crate::exchange::files::arrow_ipc::flatbuffer::unsupported;
use crate::exchange::files::arrow_ipc::message::{CONTINUATION, DICTIONARY, PREFIX, RECORDS, SCHEMA, V5};
use crate::exchange::files::arrow_ipc::message_index::MAGIC;
use crate::exchange::files::arrow_ipc::new_flatbuffer::{NewTable, NewValue};
use crate::exchange::files::arrow_ipc::outgoing_dictionaries::{DictionaryChange, WrittenDictionaries};
use crate::exchange::files::arrow_ipc::schema_read::IpcSchema;
use crate::exchange::files::new_file::{self, put, write_error};
use crate::exchange::files::shown;
use crate::memory::count_copied;
use crate::table::{Column, RecordBatch, RecordBatchReader};

/// The alignment of buffers in a file.
const ALIGNMENT: usize = 64;

/// How many bytes are loaded at a time from memory that may change.
const CHUNK: usize = 64 << 10;

/// How to write Arrow IPC files and streams.
///
/// Slices are written without what they leave out, and buffers are aligned to 64 bytes. A batch is
/// in memory at a time, and copied where it is a slice at an odd bit, of lists or of text.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::files::OpenOptions;
/// use crossdock::exchange::files::arrow_ipc::{IpcCompression, IpcOptions};
/// use crossdock::table::{Batches, Column, RecordBatch};
/// # let path = std::env::temp_dir().join(format!("crossdock-ipc-{}.arrow", std::process::id()));
///
/// let count = Column::from_array(Array::from_vec(vec![1i32; 1000], [1000])?)?;
/// let batch = RecordBatch::from_columns([("count", count)])?;
/// let options = IpcOptions::new().compression(IpcCompression::Zstd);
/// options.save(&path, &mut Batches::from_iter([batch]))?;
/// assert!(std::fs::metadata(&path)?.len() < 1000);
/// assert_eq!(OpenOptions::new().open_table(&path)?.batch(0)?.len(), 1000);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct IpcOptions {
    compression: Option<IpcCompression>,
    create_new: bool,
}

impl IpcOptions {
    /// Not compressed, so that the file can be opened in place, and replacing an existing file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compresses each buffer, if that takes fewer bytes.
    pub fn compression(mut self, compression: IpcCompression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Refuses to replace a file: `is_io` (`AlreadyExists`) if the file exists.
    pub fn create_new(mut self, create_new: bool) -> Self {
        self.create_new = create_new;
        self
    }

    /// Saves all batches: as a stream if the path ends in `.arrows`, otherwise as a file. It
    /// appears, or is replaced in one step, when all of it is on disk, as by
    /// [`files::save`](crate::exchange::files::save). Copies, and counts, the bytes of the columns.
    ///
    /// # Errors
    ///
    /// Each names the path. `is_io` if the system refuses; as [`IpcOptions::write_file`].
    pub fn save(&self, path: impl AsRef<Path>, reader: &mut dyn RecordBatchReader) -> Result<()> {
        let path = path.as_ref();
        let is_stream = path.extension().is_some_and(|ending| ending == "arrows");
        let saved = new_file::write(path, !self.create_new, |file| match is_stream {
            true => self.write_stream(file, reader),
            false => self.write_file(file, reader),
        });
        saved.map_err(|error| error.within(shown(path)))
    }

    /// Writes all batches as a file. A dictionary may grow from one batch to the next.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for types that Arrow does not have, and for a dictionary that changes,
    /// which only streams can; `is_bounds` and `is_malformed` for offsets, views and run ends that
    /// break the rules; `is_overflow` for metadata beyond 31 bits; `is_io` if the writer fails;
    /// `is_conflict` while another party holds Write; `is_place` on a device; those of the reader.
    pub fn write_file(&self, writer: impl Write, reader: &mut dyn RecordBatchReader) -> Result<()> {
        self.write(writer, reader, true)
    }

    /// Writes all batches as a stream. Dictionaries may change from one batch to the next.
    ///
    /// # Errors
    ///
    /// As [`IpcOptions::write_file`].
    pub fn write_stream(&self, writer: impl Write, reader: &mut dyn RecordBatchReader) -> Result<()> {
        self.write(writer, reader, false)
    }

    fn write(&self, writer: impl Write, reader: &mut dyn RecordBatchReader, is_file: bool) -> Result<()> {
        let schema = IpcSchema::of(reader.schema());
        let mut out = IpcWriter {
            writer: BufWriter::with_capacity(CHUNK, writer),
            position: 0,
            compression: self.compression,
            is_file,
            written: WrittenDictionaries::default(),
            dictionaries: Vec::new(),
            batches: Vec::new(),
        };
        out.begin(&schema)?;
        while let Some(batch) = reader.next_batch()? {
            out.batch(&schema, &batch)?;
        }
        out.end(&schema)
    }
}

/// Where a message was written: its offset, the bytes of its metadata and of its body.
type WrittenPlace = (usize, usize, usize);

struct IpcWriter<W: Write> {
    writer: BufWriter<W>,
    position: usize,
    compression: Option<IpcCompression>,
    is_file: bool,
    written: WrittenDictionaries,
    dictionaries: Vec<WrittenPlace>,
    batches: Vec<WrittenPlace>,
}

impl<W: Write> IpcWriter<W> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        put(&mut self.writer, bytes)?;
        self.position += bytes.len();
        Ok(())
    }

    /// Zeros up to the next aligned byte.
    fn pad(&mut self) -> Result<()> {
        let count = self.position.next_multiple_of(ALIGNMENT) - self.position;
        self.put(&[0; ALIGNMENT][..count])
    }

    fn begin(&mut self, schema: &IpcSchema) -> Result<()> {
        if self.is_file {
            self.put(MAGIC)?;
            self.put(&[0; 2])?;
        }
        self.message(SCHEMA, schema.to_table()?, &[]).map(drop)
    }

    /// Writes a message, with a body of these buffers.
    fn message(&mut self, kind: u8, header: NewTable, body: &[Buffer]) -> Result<WrittenPlace> {
        let nbytes: usize = body.iter().map(|buffer| buffer.nbytes().next_multiple_of(ALIGNMENT)).sum();
        let mut metadata = NewTable::default()
            .with(0, NewValue::I16(V5))
            .with(1, NewValue::U8(kind))
            .with(2, NewValue::Table(header))
            .with(3, NewValue::I64(nbytes as i64))
            .to_bytes();
        let at = self.position;
        let end = (at + PREFIX + metadata.len()).next_multiple_of(ALIGNMENT);
        metadata.resize(end - at - PREFIX, 0);
        let length = i32::try_from(metadata.len()).map_err(|_| {
            let text = format!("{} bytes of metadata exceed 31 bits; write fewer columns", metadata.len());
            Error::new(Kind::Overflow, text)
        })?;
        self.put(&CONTINUATION)?;
        self.put(&length.to_le_bytes())?;
        self.put(&metadata)?;
        for buffer in body {
            self.buffer(buffer)?;
            self.pad()?;
        }
        Ok((at, PREFIX + metadata.len(), nbytes))
    }

    fn buffer(&mut self, buffer: &Buffer) -> Result<()> {
        if buffer.nbytes() == 0 {
            return Ok(());
        }
        let lease = ReadOrPinLease::at(buffer)?;
        let chunk = match lease {
            ReadOrPinLease::Constant(_) => buffer.nbytes(),
            ReadOrPinLease::Changing(_) => CHUNK.min(buffer.nbytes()),
        };
        let mut room = match lease {
            ReadOrPinLease::Constant(_) => vec![],
            ReadOrPinLease::Changing(_) => vec![0; chunk],
        };
        let mut start = 0;
        while start < buffer.nbytes() {
            let end = buffer.nbytes().min(start + chunk);
            let bytes = lease.bytes(start..end, &mut room)?;
            // A guarded file that shrank was read as zeros.
            buffer.fault().map_or(Ok(()), Err)?;
            put(&mut self.writer, bytes)?;
            start = end;
        }
        self.position += buffer.nbytes();
        count_copied(buffer.nbytes());
        Ok(())
    }

    /// The table of a batch or of a dictionary's values, and the buffers of its body.
    fn laid_out(&self, len: usize, mut columns: OutgoingColumns) -> Result<(NewTable, Vec<Buffer>)> {
        if let Some(codec) = self.compression {
            for buffer in &mut columns.buffers {
                *buffer = codec::encode(codec, buffer)?;
            }
        }
        let mut at = 0;
        let places = columns.buffers.iter().map(|buffer| {
            let place = [at as i64, buffer.nbytes() as i64];
            at += buffer.nbytes().next_multiple_of(ALIGNMENT);
            place
        });
        let places: Vec<_> = places.collect();
        Ok((columns.to_table(len, &places, self.compression.map(codec::table)), columns.buffers))
    }

    fn batch(&mut self, schema: &IpcSchema, batch: &RecordBatch) -> Result<()> {
        let mut columns = OutgoingColumns::default();
        for (field, column) in schema.columns.iter().zip(batch.columns()) {
            let added = column.and_then(|column| column.or_fault(columns.add(field, &column)));
            added.map_err(|error| error.within(format_args!("column {:?}", field.name)))?;
        }
        for (id, values) in std::mem::take(&mut columns.dictionaries) {
            let changed = self.dictionary(schema, id, &values);
            changed.map_err(|error| error.within(format_args!("dictionary {id}")))?;
        }
        let (table, buffers) = self.laid_out(batch.len(), columns)?;
        let place = self.message(RECORDS, table, &buffers)?;
        self.batches.push(place);
        Ok(())
    }

    /// Writes what a dictionary has that was not written yet.
    fn dictionary(&mut self, schema: &IpcSchema, id: i64, values: &Column) -> Result<()> {
        let Some(field) = schema.dictionaries.get(&id) else { return Ok(()) };
        let (part, is_delta) = match self.written.change(id, field, values)? {
            DictionaryChange::None => return Ok(()),
            DictionaryChange::New(all) => (all, false),
            DictionaryChange::Delta(more) => (more, true),
            DictionaryChange::Replaced(all) if !self.is_file => (all, false),
            DictionaryChange::Replaced(_) => {
                return Err(unsupported(
                    "it has other values than in a batch before, which a file does not permit; write a stream (.arrows)",
                ));
            }
        };
        let mut columns = OutgoingColumns::default();
        part.or_fault(columns.add(field, &part))?;
        for (id, values) in std::mem::take(&mut columns.dictionaries) {
            self.dictionary(schema, id, &values)?;
        }
        let (table, buffers) = self.laid_out(part.len(), columns)?;
        let header = NewTable::default()
            .with(0, NewValue::I64(id))
            .with(1, NewValue::Table(table))
            .with(2, NewValue::U8(is_delta.into()));
        let place = self.message(DICTIONARY, header, &buffers)?;
        self.dictionaries.push(place);
        self.written.insert(id, values.clone());
        Ok(())
    }

    /// The end of the stream, and the footer of a file.
    fn end(&mut self, schema: &IpcSchema) -> Result<()> {
        self.put(&CONTINUATION)?;
        self.put(&[0; 4])?;
        if self.is_file {
            let blocks = |places: &[WrittenPlace]| {
                let block = |&(at, metadata, body): &WrittenPlace| {
                    [at, metadata, body].into_iter().flat_map(|number| (number as i64).to_le_bytes())
                };
                NewValue::Structs(places.len(), places.iter().flat_map(block).collect())
            };
            let footer = NewTable::default()
                .with(0, NewValue::I16(V5))
                .with(1, NewValue::Table(schema.to_table()?))
                .with(2, blocks(&self.dictionaries))
                .with(3, blocks(&self.batches))
                .to_bytes();
            let length = i32::try_from(footer.len()).map_err(|_| {
                Error::new(Kind::Overflow, format!("a footer of {} bytes exceeds 31 bits", footer.len()))
            })?;
            self.put(&footer)?;
            self.put(&length.to_le_bytes())?;
            self.put(MAGIC)?;
        }
        self.writer.flush().map_err(write_error)
    }
}
