//! Writing into an existing buffer.

use std::io::{self, Seek, SeekFrom, Write};

use crate::buffer::{Buffer, ShareGuard, WriteGuard};
use crate::device::{self, DeviceLease};
use crate::error::{Rejected, Result};
use crate::io::position::exact;
use crate::io::stage::DEVICE_NBYTES;
use crate::io::stream::{self, BufferStream, OpenBuffer};
use crate::memory::release::release_quietly;
use crate::memory::{Birth, LeaseKind};

/// Writes into a buffer, which it never resizes.
///
/// While it is open it holds the Write lease. Where that is refused, because the memory is aliased,
/// shared or pinned, it holds a Share lease, and stores racily. All written bytes are in the memory
/// when the call returns.
///
/// Memory on a device is written under a Share lease, through a block of host memory of up to 1
/// MiB. Its bytes are on the device after [`Write::flush`] or [`FixedWriter::close`]. If the writer
/// is dropped without them, only [`take_release_errors`](crate::device::take_release_errors)
/// reports a failure.
///
/// A write is all or nothing, [`Write::write`] included. Where there is no room for all of it, it
/// fails with [`WriteZero`](io::ErrorKind::WriteZero), and leaves the bytes and the position
/// unchanged.
///
/// ```
/// use std::io::Write;
/// use crossdock::buffer::Buffer;
/// use crossdock::io::FixedWriter;
///
/// let buffer = Buffer::zeroed(8)?;
/// let mut writer = FixedWriter::new(buffer.clone())?;
/// writer.write_all(b"headbody")?;
/// writer.write_at(1, b"E")?;
/// assert!(writer.write(b"!").is_err());
/// assert!(buffer.read().unwrap_err().is_conflict()); // the writer holds Write
/// writer.close()?;
/// assert_eq!(&buffer.read()?[..], b"hEadbody");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FixedWriter {
    stream: BufferStream<WriterLease>,
}

/// The lease, and the way to store bytes under it.
#[derive(Debug)]
enum WriterLease {
    Alone(WriteGuard),
    Shared(ShareGuard),
    /// A Share lease of memory on a device, to which bytes are copied.
    Elsewhere(DeviceLease),
}

impl WriterLease {
    fn of(buffer: &Buffer) -> Result<Self> {
        if !buffer.is_host() {
            // The copies to the device take a lease of their own, which Write would refuse.
            return buffer.device_lease(LeaseKind::Share).map(Self::Elsewhere);
        }
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

impl OpenBuffer<WriterLease> {
    /// Keeps bytes for the device, at a position with room for them, until there is a block of them
    /// or they are flushed.
    fn stage(&mut self, at: usize, src: &[u8]) -> Result<()> {
        let Self { buffer, stage, .. } = self;
        let limit = buffer.nbytes().min(DEVICE_NBYTES);
        if stage.keep(at, src, limit)? {
            return Ok(());
        }
        stage.flush_into(buffer)?;
        if stage.keep(at, src, limit)? {
            return Ok(());
        }
        let mut at = at;
        for src in src.chunks(limit) {
            stage.keep(at, src, limit)?;
            stage.flush_into(buffer).inspect_err(|_| stage.discard())?;
            at += src.len();
        }
        Ok(())
    }
}

impl FixedWriter {
    /// A writer at the first byte. O(1).
    ///
    /// # Errors
    ///
    /// `is_read_only`; `is_conflict` while a Read or Write lease is held; `is_exhausted`;
    /// `is_device` where work that was to write the memory failed. The error returns the buffer.
    pub fn new(buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        BufferStream::open("writer", buffer, WriterLease::of).map(|stream| Self { stream })
    }

    /// The number of bytes of the buffer, even after the writer is closed.
    pub fn nbytes(&self) -> usize {
        self.stream.nbytes()
    }

    /// The position of the next byte.
    pub fn position(&self) -> usize {
        self.stream.position()
    }

    /// The lease that is held: Write or Share; `None` once the writer is closed.
    pub fn lease(&self) -> Option<LeaseKind> {
        self.stream.get().map(|open| match &open.access {
            WriterLease::Alone(_) => LeaseKind::Write,
            WriterLease::Shared(_) => LeaseKind::Share,
            WriterLease::Elsewhere(lease) => lease.kind(),
        })
    }

    /// Writes at byte `offset`, all or nothing. The position stays.
    ///
    /// # Errors
    ///
    /// `is_bounds` where the bytes do not lie within the buffer; `is_closed`; `is_fault` where the
    /// memory is a guarded file map whose file shrank; `is_device` where the device failed, and
    /// `is_unsupported` where no driver copies to it. In the last two cases, bytes written before
    /// are kept for the next flush; of a write of more than 1 MiB, a part may be on the device.
    pub fn write_at(&mut self, offset: usize, src: &[u8]) -> Result<()> {
        let nbytes = self.nbytes();
        let open = self.stream.opened_mut()?;
        let range = exact(offset, src.len(), nbytes)?;
        match &mut open.access {
            WriterLease::Alone(guard) => {
                guard[range].copy_from_slice(src);
                Ok(())
            }
            WriterLease::Shared(guard) => {
                guard.copy_in(range.start, src)?;
                open.buffer.fault().map_or(Ok(()), Err)
            }
            WriterLease::Elsewhere(_) => open.stage(range.start, src),
        }
    }

    /// Flushes, and releases the lease and the memory. All later writes fail. Closing again does
    /// nothing. Dropping a writer closes it.
    ///
    /// # Errors
    ///
    /// On a device, as [`FixedWriter::write_at`]: then the writer stays open, with the bytes that
    /// could not be written.
    pub fn close(&mut self) -> Result<()> {
        self.send()?;
        self.stream.close();
        Ok(())
    }

    /// Copies kept bytes to the device.
    fn send(&mut self) -> Result<()> {
        let Ok(open) = self.stream.opened_mut() else { return Ok(()) };
        open.stage.flush_into(&open.buffer)
    }

    /// Flushes, releases the lease, and returns the buffer.
    ///
    /// # Errors
    ///
    /// `is_closed`, and as [`FixedWriter::close`]. The error returns the writer.
    #[expect(
        clippy::result_large_err,
        reason = "the writer comes back with what it could not write; a box is more than a failure should ask for"
    )]
    pub fn into_inner(mut self) -> Result<Buffer, Rejected<Self>> {
        match self.send() {
            Ok(()) => self.stream.close().ok_or_else(|| stream::closed("writer")),
            Err(error) => Err(error),
        }
        .map_err(|error| Rejected { value: self, error })
    }
}

impl Drop for FixedWriter {
    fn drop(&mut self) {
        // The copy to the device runs a driver's code, which may panic.
        release_quietly(|| {
            let place = self.stream.get().map(|open| open.buffer.place());
            if let (Err(error), Some(place)) = (self.close(), place) {
                device::driver::report_release_error(place, error);
            }
        });
    }
}

impl Write for FixedWriter {
    /// Writes all bytes, or fails and writes none.
    fn write(&mut self, src: &[u8]) -> io::Result<usize> {
        match self.write_at(self.position(), src) {
            Ok(()) => {
                self.stream.advance(src.len());
                Ok(src.len())
            }
            Err(error) if error.is_bounds() => Err(io::Error::new(io::ErrorKind::WriteZero, error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Copies kept bytes to the device. On the host, all bytes are in the memory already.
    fn flush(&mut self) -> io::Result<()> {
        self.stream.opened()?;
        Ok(self.send()?)
    }
}

impl Seek for FixedWriter {
    /// # Errors
    ///
    /// A position before the first byte or behind the end is an error, and the position stays.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        Ok(self.stream.seek(to)? as u64)
    }
}
