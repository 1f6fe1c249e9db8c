//! Compressed buffers: LZ4 frames and Zstandard.

use std::io::Read;

use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress};

use crate::buffer::{Buffer, MutableBuffer};
use crate::error::{Error, Kind, Result};
use crate::exchange::files::arrow_ipc::flatbuffer::{Table, malformed, unsupported};
use crate::exchange::files::arrow_ipc::new_flatbuffer::{NewTable, NewValue};
use crate::exchange::files::pinned_reader::{PinnedReader, decode_error};
use crate::memory::count_copied;

/// How the buffers of an IPC file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpcCompression {
    /// LZ4 frames: fast.
    Lz4,
    /// Zstandard: small.
    Zstd,
}

/// The number of bytes before a compressed buffer: its length without compression.
const LENGTH: usize = 8;

/// The length of a buffer that is stored as it is, among compressed ones.
const STORED: i64 = -1;

/// The compression that a batch declares.
pub(super) fn of_batch(batch: Table<'_>) -> Result<Option<IpcCompression>> {
    let Some(table) = batch.table(3)? else { return Ok(None) };
    match (table.u8(0)?, table.u8(1)?) {
        (0, 0) => Ok(Some(IpcCompression::Lz4)),
        (1, 0) => Ok(Some(IpcCompression::Zstd)),
        (codec, method) => Err(unsupported(format!(
            "its buffers are compressed by codec {codec}, method {method}, which is unknown"
        ))),
    }
}

/// The bytes of a compressed buffer: in new memory of the default pool, which counts as copied, or
/// in place if they are stored as they are. At most `limit` bytes, which it reduces.
///
/// # Errors
///
/// `is_malformed` for damaged bytes and another length than they announce; `is_unsupported` for
/// more than `limit` bytes; `is_out_of_memory`.
pub(super) fn decode(codec: IpcCompression, buffer: &Buffer, limit: &mut u64) -> Result<Buffer> {
    if buffer.nbytes() == 0 {
        return buffer.try_clone();
    }
    let mut source = PinnedReader::new(buffer)?;
    let mut length = [0; LENGTH];
    source.read_exact(&mut length).map_err(|error| damaged(codec, error))?;
    let length = i64::from_le_bytes(length);
    if length == STORED {
        return buffer.slice(LENGTH..);
    }
    let nbytes =
        u64::try_from(length).map_err(|_| malformed(format!("a compressed buffer has {length} bytes")))?;
    *limit = limit.checked_sub(nbytes).ok_or_else(|| {
        let text = format!(
            "a compressed buffer has {nbytes} bytes, but only {limit} more are allowed; raise the limit"
        );
        Error::new(Kind::Unsupported, text)
    })?;
    let nbytes = usize::try_from(nbytes).unwrap_or(usize::MAX);
    let packed = buffer.nbytes();
    match codec {
        IpcCompression::Lz4 => fill(codec, FrameDecoder::new(source), nbytes, packed),
        IpcCompression::Zstd => {
            let decoder = StreamingDecoder::new(source).map_err(|error| {
                malformed(format!("a buffer is damaged: Zstandard's decoder says {error}"))
            })?;
            fill(codec, decoder, nbytes, packed)
        }
    }
}

/// New memory with `nbytes` bytes of a decoder. Grows with the bytes that arrive, since `nbytes`
/// is untrusted.
fn fill(codec: IpcCompression, mut decoder: impl Read, nbytes: usize, packed: usize) -> Result<Buffer> {
    let mut bytes = MutableBuffer::new()?;
    let likely = packed.saturating_mul(16).max(1 << 20);
    bytes.reserve_exact(likely.min(nbytes))?;
    while bytes.nbytes() < nbytes {
        let start = bytes.nbytes();
        bytes.resize(nbytes.min((2 * start).max(likely)))?;
        let rest = &mut bytes.as_mut_slice_of::<u8>()?[start..];
        decoder.read_exact(rest).map_err(|error| damaged(codec, error))?;
    }
    match decoder.read(&mut [0]) {
        Ok(0) => {}
        Ok(_) => {
            return Err(malformed(format!("a buffer has more than the {nbytes} bytes that it announces")));
        }
        Err(error) => return Err(damaged(codec, error)),
    }
    count_copied(nbytes);
    Ok(bytes.freeze())
}

#[cold]
fn damaged(codec: IpcCompression, error: std::io::Error) -> Error {
    decode_error(error, |text| format!("a buffer compressed by {codec:?} is damaged: {text}"))
}

/// The table that declares a compression.
pub(super) fn table(codec: IpcCompression) -> NewTable {
    NewTable::default().with(0, NewValue::U8(codec as u8)).with(1, NewValue::U8(0))
}

/// A buffer with its length before it, compressed, or stored if that takes fewer bytes.
///
/// # Errors
///
/// As [`Buffer::pin`]; `is_out_of_memory`; `is_fault` if a guarded file shrank.
pub(super) fn encode(codec: IpcCompression, buffer: &Buffer) -> Result<Buffer> {
    let nbytes = buffer.nbytes();
    if nbytes == 0 {
        return buffer.try_clone();
    }
    let mut bytes = (nbytes as i64).to_le_bytes().to_vec();
    let mut source = PinnedReader::new(buffer)?;
    match codec {
        IpcCompression::Lz4 => {
            let mut frame = FrameEncoder::new(&mut bytes);
            let encoded = std::io::copy(&mut source, &mut frame);
            encoded.map_err(|error| damaged(codec, error))?;
            frame.finish().map_err(|error| damaged(codec, error.into()))?;
        }
        IpcCompression::Zstd => {
            let mut plain = Vec::with_capacity(nbytes);
            source.read_to_end(&mut plain).map_err(|error| damaged(codec, error))?;
            compress(&plain[..], &mut bytes, CompressionLevel::Fastest);
        }
    }
    if bytes.len() >= LENGTH + nbytes {
        bytes.clear();
        bytes.extend(STORED.to_le_bytes());
        let mut source = PinnedReader::new(buffer)?;
        source.read_to_end(&mut bytes).map_err(|error| damaged(codec, error))?;
    }
    Buffer::from_vec(bytes)
}
