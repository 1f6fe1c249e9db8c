//! Writing into a buffer that is there already.

use std::io::{self, Seek, SeekFrom, Write};

use crate::buffer::{Buffer, ShareGuard, WriteGuard};
use crate::device::{self, Hold};
use crate::error::{Rejected, Result};
use crate::io::position::exact;
use crate::io::stage::DEVICE_NBYTES;
use crate::io::stream::{self, Open, Stream};
use crate::memory::release::release_quietly;
use crate::memory::{Birth, LeaseKind};

/// Writes into a buffer, which it never resizes.
///
/// While it is open it holds the Write lease or, where that cannot be had, because the memory is
/// aliased, shared or pinned, a Share lease: then it stores racily. What is written is in the
/// memory when the call returns.
///
/// Memory on a device is written under a Share lease, through a block of host memory of up to 1
/// MiB: what is written is there after [`Write::flush`] or [`FixedWriter::close`]. If the writer is
/// dropped without them, a failure is reported by
/// [`take_release_errors`](crate::device::take_release_errors) only.
///
/// A write is all or nothing, [`Write::write`] too: where there is no room for all of it, it is an
/// error of the kind [`WriteZero`](io::ErrorKind::WriteZero), and neither a byte nor the position
/// has changed.
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
    stream: Stream<Target>,
}

/// The lease, and how bytes are stored under it.
#[derive(Debug)]
enum Target {
    Alone(WriteGuard),
    Shared(ShareGuard),
    /// On a device, shared: bytes have to be sent.
    Elsewhere(Hold),
}

impl Target {
    fn of(buffer: &Buffer) -> Result<Self> {
        if !buffer.is_host() {
            // The copies to the device take a lease of their own, for which Write would leave no
            // room.
            return buffer.hold(LeaseKind::Share).map(Self::Elsewhere);
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

impl Open<Target> {
    /// Keeps bytes for the device, at a position that has room for them, until there is a block of
    /// them or they are flushed.
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
    /// `is_read_only`; `is_conflict` while another party holds Read or Write; `is_exhausted`;
    /// `is_device` where work that was to write the memory failed. The buffer comes back with the
    /// error.
    pub fn new(buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        Stream::open("writer", buffer, Target::of).map(|stream| Self { stream })
    }

    /// The number of bytes of the buffer. It stays when the writer is closed.
    pub fn nbytes(&self) -> usize {
        self.stream.nbytes()
    }

    /// The position: where the next byte goes.
    pub fn position(&self) -> usize {
        self.stream.position()
    }

    /// The lease that is held: Write or Share; `None` once the writer is closed.
    pub fn lease(&self) -> Option<LeaseKind> {
        self.stream.get().map(|open| match &open.access {
            Target::Alone(_) => LeaseKind::Write,
            Target::Shared(_) => LeaseKind::Share,
            Target::Elsewhere(hold) => hold.kind(),
        })
    }

    /// Writes at byte `offset`; the position stays. All of it or nothing.
    ///
    /// # Errors
    ///
    /// `is_bounds` where it does not lie within the buffer; `is_closed`; `is_fault` where the
    /// memory is a guarded file map whose file shrank; `is_device` where the device failed, and
    /// `is_unsupported` where no driver copies to it: what was written before is kept for the next
    /// flush, and where this was more than 1 MiB, part of it may be there.
    pub fn write_at(&mut self, offset: usize, src: &[u8]) -> Result<()> {
        let nbytes = self.nbytes();
        let open = self.stream.opened_mut()?;
        let range = exact(offset, src.len(), nbytes)?;
        match &mut open.access {
            Target::Alone(guard) => {
                guard[range].copy_from_slice(src);
                Ok(())
            }
            Target::Shared(guard) => {
                guard.copy_in(range.start, src)?;
                open.buffer.fault().map_or(Ok(()), Err)
            }
            Target::Elsewhere(_) => open.stage(range.start, src),
        }
    }

    /// Flushes, and gives the lease and the memory back. All that writes is an error from now on.
    /// Closing once more is nothing. Dropping a writer closes it.
    ///
    /// # Errors
    ///
    /// On a device, as [`FixedWriter::write_at`]: then the writer is open still, and has what could
    /// not be written.
    pub fn close(&mut self) -> Result<()> {
        self.send()?;
        self.stream.close();
        Ok(())
    }

    /// Sends what is kept for a device.
    fn send(&mut self) -> Result<()> {
        let Ok(open) = self.stream.opened_mut() else { return Ok(()) };
        open.stage.flush_into(&open.buffer)
    }

    /// Flushes, gives the lease back, and the buffer to the caller.
    ///
    /// # Errors
    ///
    /// `is_closed`, and as [`FixedWriter::close`]. The writer comes back with the error.
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
        // What copies to a device is not ours.
        release_quietly(|| {
            let place = self.stream.get().map(|open| open.buffer.place());
            if let (Err(error), Some(place)) = (self.close(), place) {
                device::driver::report_release_error(place, error);
            }
        });
    }
}

impl Write for FixedWriter {
    /// All of it, or an error and nothing of it.
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

    /// Sends what is kept for a device. On the host it is in the memory already.
    fn flush(&mut self) -> io::Result<()> {
        self.stream.opened()?;
        Ok(self.send()?)
    }
}

impl Seek for FixedWriter {
    /// # Errors
    ///
    /// Before the first byte or behind the end: then the position stays.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        Ok(self.stream.seek(to)? as u64)
    }
}
