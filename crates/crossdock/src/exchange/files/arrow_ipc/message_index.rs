//! Where the messages of an Arrow IPC file, or of a stream in one buffer, are.

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::arrow_ipc::flatbuffer::{Table, malformed, number};
use crate::exchange::files::arrow_ipc::message::{
    self, CONTINUATION, DICTIONARY, IpcMessage, PREFIX, RECORDS, SCHEMA,
};
use crate::exchange::files::arrow_ipc::schema_read::IpcSchema;

/// The first and the last bytes of a file.
pub(super) const MAGIC: &[u8; 6] = b"ARROW1";

/// The bytes of a block in a footer.
const BLOCK: usize = 24;

/// Where a message is.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessagePlace {
    pub(super) start: usize,
    /// The number of bytes of the metadata, with their length before them.
    pub(super) metadata: usize,
    pub(super) body: usize,
    /// In a stream, how many dictionary messages precede it; in a file, all of them.
    pub(super) dictionaries: usize,
}

/// What a footer lists, or the messages of a stream are.
pub(super) struct MessageIndex {
    pub(super) schema: IpcSchema,
    pub(super) dictionaries: Vec<MessagePlace>,
    pub(super) batches: Vec<MessagePlace>,
}

/// Bytes that another party may write: what is checked is a copy.
#[derive(Clone, Copy)]
pub(super) struct MappedBytes<'a> {
    pub(super) buffer: &'a Buffer,
}

impl MappedBytes<'_> {
    pub(super) fn copy(&self, at: usize, dst: &mut [u8]) -> Result<()> {
        self.buffer.pin()?.copy_out(at, dst)
    }

    pub(super) fn bytes(&self, at: usize, nbytes: usize) -> Result<Vec<u8>> {
        if at.checked_add(nbytes).is_none_or(|end| end > self.buffer.nbytes()) {
            let text = format!("{nbytes} bytes at byte {at} are beyond its {} bytes", self.buffer.nbytes());
            return Err(Error::new(Kind::Bounds, text));
        }
        let mut bytes = vec![0; nbytes];
        self.copy(at, &mut bytes)?;
        Ok(bytes)
    }

    /// The footer of a file, before its length and the magic.
    pub(super) fn file_index(&self) -> Result<MessageIndex> {
        const END: usize = 4 + MAGIC.len();
        let nbytes = self.buffer.nbytes();
        let unfinished = || {
            malformed(format!(
                "its {nbytes} bytes do not end as an Arrow IPC file does: it is cut off, or was not finished"
            ))
        };
        let end = nbytes.checked_sub(END).filter(|&end| end >= MAGIC.len()).ok_or_else(unfinished)?;
        let tail = self.bytes(end, END)?;
        let (length, magic) = tail.split_first_chunk().ok_or_else(unfinished)?;
        if magic != MAGIC {
            return Err(unfinished());
        }
        let length = i32::from_le_bytes(*length);
        let start = usize::try_from(length).ok().and_then(|length| end.checked_sub(length));
        let start = start
            .filter(|&start| start >= MAGIC.len())
            .ok_or_else(|| malformed(format!("its footer has {length} bytes, but the file has {nbytes}")))?;
        let bytes = self.bytes(start, end - start)?;
        let footer = Table::root(&bytes)?;
        message::checked_version(footer.i16(0, 0)?)?;
        let schema = footer.table(1)?.ok_or_else(|| malformed("its footer has no schema"))?;
        let schema = IpcSchema::read(schema, bytes.len())?;
        let dictionaries = self.blocks(footer, 2, 0)?;
        let batches = self.blocks(footer, 3, dictionaries.len())?;
        Ok(MessageIndex { schema, dictionaries, batches })
    }

    fn blocks(&self, footer: Table<'_>, slot: usize, dictionaries: usize) -> Result<Vec<MessagePlace>> {
        let blocks = footer.vector(slot, BLOCK)?.elements::<BLOCK>();
        blocks.enumerate().map(|(index, block)| self.block(index, block, dictionaries)).collect()
    }

    fn block(&self, index: usize, block: &[u8; BLOCK], dictionaries: usize) -> Result<MessagePlace> {
        let metadata = i64::from(number(block, 8) as i32);
        let (offset, body) = (number(block, 0), number(block, 16));
        let parts = [offset, metadata, body].map(usize::try_from);
        let end = |at: usize, metadata: usize, body: usize| at.checked_add(metadata)?.checked_add(body);
        match parts {
            [Ok(at), Ok(metadata), Ok(body)]
                if metadata >= PREFIX
                    && end(at, metadata, body).is_some_and(|end| end <= self.buffer.nbytes()) =>
            {
                Ok(MessagePlace { start: at, metadata, body, dictionaries })
            }
            _ => Err(Error::new(
                Kind::Bounds,
                format!(
                    "block {index} of its footer has {metadata} bytes of metadata and {body} of a body at byte {offset}, \
                     beyond its {} bytes",
                    self.buffer.nbytes()
                ),
            )),
        }
    }

    /// Fails if another stream begins at `at`, behind the end of this one: its batches would be
    /// left out.
    fn check_no_stream_at(&self, at: usize) -> Result<()> {
        let mut start = [0; PREFIX];
        if self.buffer.nbytes().saturating_sub(at) < start.len() {
            return Ok(());
        }
        self.copy(at, &mut start)?;
        let begins =
            start.starts_with(&CONTINUATION) && message::length(&start).is_ok_and(|some| some.is_some());
        if begins { Err(another_stream(at)) } else { Ok(()) }
    }

    /// The messages of a stream, by their lengths.
    pub(super) fn stream_index(&self) -> Result<MessageIndex> {
        let nbytes = self.buffer.nbytes();
        let (mut schema, mut dictionaries, mut batches) = (None, Vec::new(), Vec::new());
        let mut at = 0;
        while at < nbytes {
            let mut start = [0; PREFIX];
            let some = (nbytes - at).min(PREFIX);
            if some < 4 {
                return Err(malformed(format!("it ends within the length of a message at byte {at}")));
            }
            self.copy(at, &mut start[..some])?;
            let Some((metadata, before)) = message::length(&start)? else {
                self.check_no_stream_at(at + if start.starts_with(&CONTINUATION) { PREFIX } else { 4 })?;
                break;
            };
            let bytes = self.bytes(at + before, metadata).map_err(|error| match schema {
                None => error.within("it begins with neither an Arrow IPC file nor a stream"),
                Some(_) => error,
            })?;
            let message = IpcMessage::read(&bytes)?;
            let body = at + before + metadata;
            let end = usize::try_from(message.body).ok().and_then(|nbytes| body.checked_add(nbytes));
            let end = end.filter(|&end| end <= nbytes).ok_or_else(|| {
                let text = format!(
                    "a message at byte {at} has a body of {} bytes, beyond its {nbytes} bytes",
                    message.body
                );
                Error::new(Kind::Bounds, text)
            })?;
            let dictionaries_before = dictionaries.len();
            let block = MessagePlace {
                start: at,
                metadata: body - at,
                body: end - body,
                dictionaries: dictionaries_before,
            };
            match (message.kind, &schema) {
                (SCHEMA, Some(_)) => return Err(another_stream(at)),
                (SCHEMA, None) => schema = Some(IpcSchema::read(message.header, bytes.len())?),
                (DICTIONARY, Some(_)) => dictionaries.push(block),
                (RECORDS, Some(_)) => batches.push(block),
                (kind, None) => {
                    return Err(malformed(format!(
                        "the first message of a stream is {}, and no schema",
                        message::name(kind)
                    )));
                }
                (kind, Some(_)) => {
                    return Err(malformed(format!("a message at byte {at} is {}", message::name(kind))));
                }
            }
            at = end;
        }
        let schema = schema
            .ok_or_else(|| malformed(format!("its {nbytes} bytes have no schema of an Arrow stream")))?;
        Ok(MessageIndex { schema, dictionaries, batches })
    }
}

/// The error of streams one after the other.
fn another_stream(at: usize) -> Error {
    let text = format!("another stream begins at byte {at}; write each stream to a file of its own");
    Error::new(Kind::Unsupported, text)
}
