//! A buffer as a stream for decoders: read under a Pin lease, since another party may write it
//! meanwhile. The reads are not counted as copies, since the output of the decoder is.

use std::io::{self, Read, Seek, SeekFrom};

use crate::buffer::{Buffer, PinGuard};
#[cfg(any(
    feature = "arrow-ipc",
    feature = "npz",
    feature = "safetensors",
    feature = "png",
    feature = "jpeg",
    feature = "torch"
))]
use crate::error::system_text;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::readahead;

/// The bytes of a buffer, with a position. Each read loads the current bytes, and fails if a
/// guarded file shrank.
#[derive(Debug)]
pub(super) struct PinnedReader {
    buffer: Buffer,
    bytes: PinGuard,
    position: u64,
}

impl PinnedReader {
    /// Under a new lease. O(1). Errors as [`Buffer::pin`].
    pub(super) fn new(buffer: &Buffer) -> Result<Self> {
        Ok(Self { buffer: buffer.try_clone()?, bytes: buffer.pin()?, position: 0 })
    }

    /// Loads the bytes from an offset on, up to the length of `dst`, and returns their number.
    pub(super) fn load(&self, offset: u64, dst: &mut [u8]) -> Result<usize> {
        let nbytes = self.bytes.nbytes();
        let start = usize::try_from(offset).unwrap_or(nbytes).min(nbytes);
        let count = dst.len().min(nbytes - start);
        self.bytes.copy_out(start, &mut dst[..count])?;
        self.buffer.fault().map_or(Ok(count), Err)
    }

    /// Has the system read bytes that are about to be loaded.
    pub(super) fn fetch(&self, offset: u64, nbytes: u64) {
        let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
        readahead::fetch(&self.buffer, number(offset), number(nbytes));
    }
}

impl Read for PinnedReader {
    fn read(&mut self, dst: &mut [u8]) -> io::Result<usize> {
        let count = self.load(self.position, dst)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for PinnedReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(position) => (position, 0),
            SeekFrom::Current(by) => (self.position, by),
            SeekFrom::End(by) => (self.bytes.nbytes() as u64, by),
        };
        let nbytes = self.bytes.nbytes();
        self.position = from.checked_add_signed(by).ok_or_else(|| {
            Error::new(
                Kind::Bounds,
                format!("{by} bytes from byte {from} on is not a position in a file of {nbytes} bytes"),
            )
        })?;
        Ok(self.position)
    }
}

/// Returns an error of this library that passed through a decoder, or the decoder's own error with
/// the text of `damaged`.
#[cfg(any(
    feature = "arrow-ipc",
    feature = "npz",
    feature = "safetensors",
    feature = "png",
    feature = "jpeg",
    feature = "torch"
))]
pub(super) fn decode_error(error: io::Error, damaged: impl FnOnce(String) -> String) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::new(Kind::Malformed, damaged(system_text(&error))),
    }
}

#[cfg(any(feature = "npz", feature = "torch"))]
impl rawzip::ReaderAt for PinnedReader {
    fn read_at(&self, dst: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(self.load(offset, dst)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::copied_bytes_here;

    #[test]
    fn bytes_are_read_from_any_position_and_not_counted() {
        let buffer = Buffer::from_vec((0..100u8).collect()).unwrap();
        let mut stream = PinnedReader::new(&buffer).unwrap();
        let (mut bytes, copied) = ([0; 8], copied_bytes_here());
        assert_eq!(stream.seek(SeekFrom::End(-4)).unwrap(), 96);
        assert_eq!((stream.read(&mut bytes).unwrap(), &bytes[..4]), (4, &[96, 97, 98, 99][..]));
        assert_eq!(stream.read(&mut bytes).unwrap(), 0);
        assert_eq!(stream.seek(SeekFrom::Current(1000)).unwrap(), 1100);
        assert_eq!(stream.read(&mut bytes).unwrap(), 0);
        assert!(stream.seek(SeekFrom::Start(0)).is_ok() && stream.seek(SeekFrom::Current(-1)).is_err());
        assert_eq!((stream.load(3, &mut bytes).unwrap(), bytes[0]), (8, 3));
        assert_eq!(stream.load(u64::MAX, &mut bytes).unwrap(), 0);
        assert_eq!(copied_bytes_here(), copied);
    }
}
