//! Writing into a buffer that is there already.

use std::io::{self, Seek, SeekFrom, Write};

use crate::error::{Rejected, Result};
use crate::memory::Birth;
use crate::memory::buffer::Buffer;
use crate::memory::guard::{ShareGuard, WriteGuard};
use crate::memory::io::position::{self, exact};
use crate::memory::word::LeaseKind;

/// Writes into a buffer, which it never resizes.
///
/// While it is open it holds the Write lease or, where that cannot be had, because the memory is aliased or somebody shares or pins it, a Share
/// lease: then it stores racily. What is written is in the memory when the call returns.
///
/// A write is all or nothing, [`Write::write`] too: where there is no room for all of it, it is an error of the kind
/// [`WriteZero`](io::ErrorKind::WriteZero), and neither a byte nor the position has changed.
///
/// ```
/// use std::io::Write;
/// use crossdock::memory::Buffer;
/// use crossdock::memory::io::FixedWriter;
///
/// let buffer = Buffer::zeroed(8)?;
/// let mut writer = FixedWriter::new(buffer.clone())?;
/// writer.write_all(b"headbody")?;
/// writer.write_at(1, b"E")?;
/// assert!(writer.write(b"!").is_err());
/// assert!(buffer.read().unwrap_err().is_conflict()); // somebody writes
/// writer.close();
/// assert_eq!(&buffer.read()?[..], b"hEadbody");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FixedWriter {
    open: Option<Open>,
    /// No more than `nbytes`.
    position: usize,
    nbytes: usize,
}

#[derive(Debug)]
struct Open {
    buffer: Buffer,
    target: Target,
}

/// The lease, and how bytes are stored under it.
#[derive(Debug)]
enum Target {
    Alone(WriteGuard),
    Shared(ShareGuard),
}

impl Target {
    fn of(buffer: &Buffer) -> Result<Self> {
        if buffer.birth() != Birth::Aliased {
            match buffer.write() {
                Ok(guard) => return Ok(Self::Alone(guard)),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
        buffer.share().map(Self::Shared)
    }
}

impl FixedWriter {
    /// A writer at the first byte. O(1).
    ///
    /// # Errors
    ///
    /// `is_read_only`; `is_conflict` while somebody holds Read or Write; `is_exhausted`; `is_place` on a device. The buffer comes back
    /// with the error.
    pub fn new(buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        match Target::of(&buffer) {
            Ok(target) => {
                let nbytes = buffer.nbytes();
                Ok(Self { open: Some(Open { buffer, target }), position: 0, nbytes })
            }
            Err(error) => Err(Rejected { value: buffer, error }),
        }
    }

    fn opened_mut(&mut self) -> Result<&mut Open> {
        self.open.as_mut().ok_or_else(|| position::closed("writer"))
    }

    /// The number of bytes of the buffer. It stays when the writer is closed.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The position: where the next byte goes.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The number of bytes from the position to the end.
    pub fn remaining(&self) -> usize {
        self.nbytes - self.position
    }

    /// The lease that is held: Write or Share; `None` once the writer is closed.
    pub fn lease(&self) -> Option<LeaseKind> {
        self.open.as_ref().map(|open| match open.target {
            Target::Alone(_) => LeaseKind::Write,
            Target::Shared(_) => LeaseKind::Share,
        })
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    /// Writes at byte `offset`; the position stays. All of it or nothing.
    ///
    /// # Errors
    ///
    /// `is_bounds` where it does not lie within the buffer; `is_closed`; `is_fault` where the memory is a guarded file map whose file shrank.
    pub fn write_at(&mut self, offset: usize, src: &[u8]) -> Result<()> {
        let nbytes = self.nbytes;
        let open = self.opened_mut()?;
        let range = exact(offset, src.len(), nbytes)?;
        match &mut open.target {
            Target::Alone(guard) => {
                guard[range].copy_from_slice(src);
                Ok(())
            }
            Target::Shared(guard) => {
                guard.copy_in(range.start, src)?;
                open.buffer.fault().map_or(Ok(()), Err)
            }
        }
    }

    /// Gives the lease and the memory back. All that writes is an error from now on. Closing once more is nothing. Dropping a writer
    /// closes it.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Gives the lease back, and the buffer to the caller.
    ///
    /// # Errors
    ///
    /// `is_closed`.
    pub fn into_inner(self) -> Result<Buffer> {
        self.open.map(|open| open.buffer).ok_or_else(|| position::closed("writer"))
    }
}

impl TryFrom<Buffer> for FixedWriter {
    type Error = Rejected<Buffer>;

    fn try_from(buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        Self::new(buffer)
    }
}

impl Write for FixedWriter {
    /// All of it, or an error and nothing of it.
    fn write(&mut self, src: &[u8]) -> io::Result<usize> {
        match self.write_at(self.position, src) {
            Ok(()) => {
                self.position += src.len();
                Ok(src.len())
            }
            Err(error) if error.is_bounds() => Err(io::Error::new(io::ErrorKind::WriteZero, error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Nothing but an error where it is closed: what is written is in the memory.
    fn flush(&mut self) -> io::Result<()> {
        self.opened_mut()?;
        Ok(())
    }
}

impl Seek for FixedWriter {
    /// # Errors
    ///
    /// Before the first byte or behind the end: then the position stays.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, nbytes) = (self.position, self.nbytes);
        self.opened_mut()?;
        self.position = position::seek(from, nbytes, to)?;
        Ok(self.position as u64)
    }
}
