//! Writing new memory, as much as there comes.

use std::io::{self, Seek, SeekFrom, Write};

use crate::buffer::{Buffer, MutableBuffer};
use crate::error::Result;
use crate::io::position::{self, outside};

/// Writes into new memory that grows: a [`MutableBuffer`] with a position.
///
/// What is written over bytes that there are replaces them, and what goes past the end extends
/// them; a hole is never left. Growing is geometric, and takes large blocks along without a copy.
/// [`BufferWriter::finish`] consumes the writer, so that nothing can be written, or finished, after
/// it.
///
/// ```
/// use std::io::{Seek, Write};
/// use crossdock::buffer::MutableBuffer;
/// use crossdock::io::BufferWriter;
///
/// let mut writer = BufferWriter::new(MutableBuffer::new()?);
/// write!(writer, "0 bytes follow:{:>4}", "end")?;
/// writer.write_at(0, b"4")?;
/// let buffer = writer.finish();
/// assert_eq!(&buffer.read()?[..], b"4 bytes follow: end");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Over another pool, and with no more memory kept than there are bytes:
///
/// ```
/// use std::io::Write;
/// use crossdock::io::BufferWriter;
/// use crossdock::pool::Pool;
///
/// let pool = Pool::default().capped("frames", 4096)?;
/// let mut writer = BufferWriter::new(pool.mutable(0)?);
/// let error = writer.write(&[0; 5000]).unwrap_err();
/// assert!(error.to_string().contains("4096"));
/// writer.write_all(&[1; 100])?;
/// let mut bytes = writer.into_inner();
/// bytes.shrink_to_fit()?;
/// assert_eq!(bytes.freeze().nbytes(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BufferWriter {
    bytes: MutableBuffer,
    /// No more than there are bytes.
    position: usize,
}

impl BufferWriter {
    /// A writer that appends to what there is: its position is the end. The memory stays of its
    /// pool.
    pub fn new(bytes: MutableBuffer) -> Self {
        let position = bytes.nbytes();
        Self { bytes, position }
    }

    /// What was written, and what there was at first, with its size and the room that there is.
    pub fn bytes(&self) -> &MutableBuffer {
        &self.bytes
    }

    /// The position: where the next byte goes.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Writes at byte `offset`, which is no more than there are; the position stays. All of it or
    /// nothing.
    ///
    /// # Errors
    ///
    /// `is_bounds` where `offset` lies behind the end; `is_out_of_memory`.
    pub fn write_at(&mut self, offset: usize, src: &[u8]) -> Result<()> {
        let nbytes = self.bytes.nbytes();
        let Some(present) = nbytes.checked_sub(offset) else {
            return Err(outside(offset, src.len(), nbytes));
        };
        let (over, behind) = src.split_at(present.min(src.len()));
        // The one thing that can fail comes first.
        self.bytes.extend_from_slice(behind)?;
        self.bytes[offset..offset + over.len()].copy_from_slice(over);
        Ok(())
    }

    /// Forgets all that was written. The capacity stays.
    pub fn reset(&mut self) {
        self.bytes.clear();
        self.position = 0;
    }

    /// The buffer: all that was written, with zeros behind it up to a multiple of
    /// [`ALIGNMENT`](crate::pool::ALIGNMENT). O(1): copies nothing. Capacity beyond that stays;
    /// [`BufferWriter::into_inner`] leads to [`MutableBuffer::shrink_to_fit`].
    pub fn finish(self) -> Buffer {
        self.bytes.freeze()
    }

    /// The growing buffer.
    pub fn into_inner(self) -> MutableBuffer {
        self.bytes
    }
}

impl Write for BufferWriter {
    /// All of it or, without memory for it, nothing.
    fn write(&mut self, src: &[u8]) -> io::Result<usize> {
        self.write_at(self.position, src)?;
        self.position += src.len();
        Ok(src.len())
    }

    fn write_all(&mut self, src: &[u8]) -> io::Result<()> {
        self.write(src).map(drop)
    }

    /// Nothing: what is written is there.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for BufferWriter {
    /// # Errors
    ///
    /// Before the first byte or behind the end: then the position stays.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = position::seek(self.position, self.bytes.nbytes(), to)?;
        Ok(self.position as u64)
    }
}
