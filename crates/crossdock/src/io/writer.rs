//! Writing into new memory that grows.

use std::io::{self, Seek, SeekFrom, Write};

use crate::buffer::{Buffer, MutableBuffer};
use crate::error::Result;
use crate::io::position::{self, outside};

/// Writes into new memory that grows: a [`MutableBuffer`] with a position.
///
/// Written bytes replace existing ones, and extend them beyond the end, without holes. Growth is
/// geometric, and moves large blocks without a copy. [`BufferWriter::finish`] consumes the writer,
/// so no write or second `finish` can follow.
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
/// With another pool, and without spare capacity:
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
    /// At most the number of bytes.
    position: usize,
}

impl BufferWriter {
    /// A writer that appends to existing bytes: its position is the end. The memory stays in its
    /// pool.
    pub fn new(bytes: MutableBuffer) -> Self {
        let position = bytes.nbytes();
        Self { bytes, position }
    }

    /// The existing and the written bytes, with their size and capacity.
    pub fn bytes(&self) -> &MutableBuffer {
        &self.bytes
    }

    /// The position of the next byte.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Writes at byte `offset`, at most the number of bytes, all or nothing. The position stays.
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
        // The only operation that can fail comes first.
        self.bytes.extend_from_slice(behind)?;
        self.bytes[offset..offset + over.len()].copy_from_slice(over);
        Ok(())
    }

    /// Discards all bytes. The capacity stays.
    pub fn reset(&mut self) {
        self.bytes.clear();
        self.position = 0;
    }

    /// The buffer of all bytes, with zeros behind them up to a multiple of
    /// [`ALIGNMENT`](crate::pool::ALIGNMENT). O(1): copies nothing. Capacity beyond that stays;
    /// [`BufferWriter::into_inner`] and [`MutableBuffer::shrink_to_fit`] release it.
    pub fn finish(self) -> Buffer {
        self.bytes.freeze()
    }

    /// The growing buffer.
    pub fn into_inner(self) -> MutableBuffer {
        self.bytes
    }
}

impl Write for BufferWriter {
    /// Writes all bytes or, without memory for them, none.
    fn write(&mut self, src: &[u8]) -> io::Result<usize> {
        self.write_at(self.position, src)?;
        self.position += src.len();
        Ok(src.len())
    }

    fn write_all(&mut self, src: &[u8]) -> io::Result<()> {
        self.write(src).map(drop)
    }

    /// Does nothing: all written bytes are in memory already.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for BufferWriter {
    /// # Errors
    ///
    /// A position before the first byte or behind the end is an error, and the position stays.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = position::seek(self.position, self.bytes.nbytes(), to)?;
        Ok(self.position as u64)
    }
}
