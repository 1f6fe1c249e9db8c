//! Reading a buffer as a stream and by position.

use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

use crate::buffer::{Buffer, ReadOrPinLease};
use crate::device::DeviceLease;
use crate::error::{Rejected, Result};
use crate::io::position::{clamped, exact};
use crate::io::stage::{DEVICE_NBYTES, HOST_NBYTES, copy_from_device};
use crate::io::stream::{self, BufferStream, OpenBuffer};
use crate::memory::os::{PageAdvice, pages};
use crate::memory::{LeaseKind, count_copied};

/// Reads a buffer as a stream ([`Read`], [`BufRead`], [`Seek`]), and by position as zero-copy
/// slices that keep the memory alive.
///
/// While it is open it holds a Read lease. Where that is refused, because the memory is aliased or
/// shared, it holds a Pin lease. Under Read the bytes are constant, and [`BufRead::fill_buf`]
/// returns the memory itself. Under Pin another holder may write meanwhile, so there can be no
/// `&[u8]` of the memory: `fill_buf` returns a copy of up to 64 KiB, and [`Read::read`] copies
/// racily. Slices are zero-copy in both cases. `read` returns the bytes that `fill_buf` last
/// returned, up to the next seek.
///
/// Memory on a device is read through a block of host memory of up to 1 MiB, which its
/// [`MemoryManager`](crate::device::MemoryManager) fills. Reads wait for the in-flight work on it.
/// Slices stay on the device.
///
/// A read of a guarded file map whose file shrank is an error
/// ([`is_fault`](crate::Error::is_fault)), not zeros.
///
/// ```
/// use std::io::{BufRead, Seek, SeekFrom};
/// use crossdock::buffer::Buffer;
/// use crossdock::io::BufferReader;
///
/// let buffer = Buffer::from_string("first\nsecond\n".to_owned())?;
/// let mut reader = BufferReader::new(buffer.clone())?;
/// let mut line = String::new();
/// reader.read_line(&mut line)?;
/// assert_eq!(line, "first\n");
///
/// let word = reader.read_slice(3)?; // the memory itself
/// assert_eq!(word.as_ptr(), buffer.slice(6..)?.as_ptr());
/// assert!(reader.seek(SeekFrom::End(1)).is_err());
/// assert_eq!(reader.position(), 9); // where it was
///
/// assert!(buffer.write().unwrap_err().is_conflict()); // the reader holds Read
/// drop(reader);
/// assert!(buffer.write().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BufferReader {
    stream: BufferStream<ReaderLease>,
}

/// The lease, and the way to read bytes under it.
#[derive(Debug)]
enum ReaderLease {
    Here(ReadOrPinLease),
    /// A lease of memory on a device, from which bytes are copied.
    Elsewhere(DeviceLease),
}

impl ReaderLease {
    fn of(buffer: &Buffer) -> Result<Self> {
        if !buffer.is_host() {
            return match buffer.device_lease(LeaseKind::Read) {
                Err(error) if error.is_conflict() => buffer.device_lease(LeaseKind::Pin),
                held => held,
            }
            .map(Self::Elsewhere);
        }
        ReadOrPinLease::at(buffer).map(Self::Here)
    }
}

impl OpenBuffer<ReaderLease> {
    /// Copies bytes from a position on, which must have as many. Not counted.
    fn copy_out(&self, at: usize, dst: &mut [u8]) -> Result<()> {
        match &self.access {
            ReaderLease::Here(lease) => {
                lease.copy_out(at, dst)?;
                match lease {
                    ReadOrPinLease::Constant(_) => Ok(()),
                    ReadOrPinLease::Changing(_) => self.buffer.fault().map_or(Ok(()), Err),
                }
            }
            ReaderLease::Elsewhere(_) => copy_from_device(&self.buffer, at, dst),
        }
    }

    /// As `copy_out`, but takes bytes that `show` returned from the stage.
    fn copy_next(&mut self, at: usize, dst: &mut [u8]) -> Result<()> {
        let shown = self.copy_shown(at, dst)?;
        let (at, rest) = (at + shown, &mut dst[shown..]);
        match self.access {
            _ if rest.is_empty() => Ok(()),
            // Batches many small reads of a device into one large read.
            ReaderLease::Elsewhere(_) if rest.len() < DEVICE_NBYTES => {
                self.show(at..self.buffer.nbytes())?;
                self.copy_shown(at, rest).map(drop)
            }
            _ => self.copy_out(at, rest),
        }
    }

    /// Copies staged bytes from a position on, and returns how many those are.
    fn copy_shown(&mut self, at: usize, dst: &mut [u8]) -> Result<usize> {
        let shown = self.stage.bytes_from(at)?;
        let nbytes = shown.len().min(dst.len());
        dst[..nbytes].copy_from_slice(&shown[..nbytes]);
        Ok(nbytes)
    }

    /// The bytes of a range, or as many as can be shown at once. Counts bytes that it stages.
    fn show(&mut self, range: Range<usize>) -> Result<&[u8]> {
        let Self { buffer, access: source, stage } = self;
        let limit = match source {
            ReaderLease::Here(ReadOrPinLease::Constant(guard)) => return Ok(&guard[range]),
            ReaderLease::Here(ReadOrPinLease::Changing(_)) => HOST_NBYTES,
            ReaderLease::Elsewhere(_) => DEVICE_NBYTES,
        };
        if !range.is_empty() && stage.bytes_from(range.start)?.is_empty() {
            let nbytes = range.len().min(limit);
            stage.fill(range.start, nbytes, |block| match source {
                ReaderLease::Here(lease) => {
                    lease.copy_out(range.start, &mut block.write()?)?;
                    count_copied(nbytes);
                    buffer.fault().map_or(Ok(()), Err)
                }
                _ => buffer.slice(range.start..range.start + nbytes)?.copy_into(block),
            })?;
        }
        stage.bytes_from(range.start)
    }
}

impl BufferReader {
    /// A reader at the first byte. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while the Write lease is held; `is_exhausted`; `is_device` where work that was
    /// to write the memory failed. The error returns the buffer.
    pub fn new(buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        BufferStream::open("reader", buffer, ReaderLease::of).map(|stream| Self { stream })
    }

    // ===== queries

    /// The number of bytes of the whole stream, even after the reader is closed.
    pub fn nbytes(&self) -> usize {
        self.stream.nbytes()
    }

    /// The position of the next byte.
    pub fn position(&self) -> usize {
        self.stream.position()
    }

    /// The lease that is held: Read, for constant bytes, or Pin; `None` once the reader is closed.
    pub fn lease(&self) -> Option<LeaseKind> {
        self.stream.get().map(|open| match &open.access {
            ReaderLease::Here(lease) => lease.kind(),
            ReaderLease::Elsewhere(lease) => lease.kind(),
        })
    }

    // ===== the next bytes

    /// The next bytes, at most `nbytes`, as a slice that keeps the memory alive. Advances the
    /// position. Empty at the end. O(1): copies nothing.
    ///
    /// The slice is a handle without a lease.
    ///
    /// # Errors
    ///
    /// `is_closed`; `is_exhausted` as [`Buffer::try_clone`].
    pub fn read_slice(&mut self, nbytes: usize) -> Result<Buffer> {
        let slice = self.peek(nbytes)?;
        self.stream.advance(slice.nbytes());
        Ok(slice)
    }

    /// As [`BufferReader::read_slice`], but the position stays.
    ///
    /// # Errors
    ///
    /// As [`BufferReader::read_slice`].
    pub fn peek(&self, nbytes: usize) -> Result<Buffer> {
        self.read_at(self.position(), nbytes)
    }

    // ===== bytes by position

    /// At most `nbytes` bytes from byte `offset` on, as a slice that keeps the memory alive; fewer
    /// where the stream ends. The position stays. O(1): copies nothing.
    ///
    /// # Errors
    ///
    /// `is_bounds` where `offset` lies behind the end; `is_closed`; `is_exhausted` as
    /// [`Buffer::try_clone`].
    pub fn read_at(&self, offset: usize, nbytes: usize) -> Result<Buffer> {
        let open = self.stream.opened()?;
        open.buffer.slice(clamped(offset, nbytes, self.nbytes())?)
    }

    /// As [`BufferReader::read_at`], but returns all `nbytes` bytes or fails.
    ///
    /// A reader of the slice has a position and a lease of its own, ends where the slice ends, and
    /// stays open when this one is closed:
    ///
    /// ```
    /// use std::io::Read;
    /// use crossdock::buffer::Buffer;
    /// use crossdock::io::BufferReader;
    ///
    /// let reader = BufferReader::new(Buffer::from_static(b"headbodytail")?)?;
    /// let mut body = BufferReader::new(reader.read_exact_at(4, 4)?)?;
    /// let mut text = String::new();
    /// body.read_to_string(&mut text)?;
    /// assert_eq!(text, "body");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`BufferReader::read_at`], and `is_bounds` where there are fewer.
    pub fn read_exact_at(&self, offset: usize, nbytes: usize) -> Result<Buffer> {
        let open = self.stream.opened()?;
        open.buffer.slice(exact(offset, nbytes, self.nbytes())?)
    }

    /// Copies bytes from byte `offset` on to `dst`, and returns how many: fewer where the stream
    /// ends. The position stays. Copies, and counts, that many bytes.
    ///
    /// # Errors
    ///
    /// `is_bounds` where `offset` lies behind the end; `is_closed`; `is_fault`; on a device
    /// `is_device`, and `is_unsupported` where no driver copies from there.
    pub fn copy_at(&self, offset: usize, dst: &mut [u8]) -> Result<usize> {
        let open = self.stream.opened()?;
        let range = clamped(offset, dst.len(), self.nbytes())?;
        open.copy_out(range.start, &mut dst[..range.len()])?;
        count_copied(range.len());
        Ok(range.len())
    }

    /// Announces that bytes will soon be read, so that the system may fetch them, from the disk in
    /// a file map. A hint: an error of the system is ignored.
    ///
    /// # Errors
    ///
    /// `is_bounds` where the bytes do not lie within the stream; `is_closed`.
    pub fn will_need(&self, offset: usize, nbytes: usize) -> Result<()> {
        let open = self.stream.opened()?;
        let range = exact(offset, nbytes, self.nbytes())?;
        if !range.is_empty() && open.buffer.is_host() {
            let start = open.buffer.as_ptr().wrapping_add(range.start);
            pages::advise(start, range.len(), PageAdvice::WillNeed);
        }
        Ok(())
    }

    // ===== the end

    /// Releases the lease and the memory. Existing slices, and readers of them, stay valid; all
    /// later reads of this one fail. Closing again does nothing. Dropping a reader closes it.
    pub fn close(&mut self) {
        self.stream.close();
    }

    /// Releases the lease, and returns the buffer.
    ///
    /// # Errors
    ///
    /// `is_closed`.
    pub fn into_inner(mut self) -> Result<Buffer> {
        self.stream.close().ok_or_else(|| stream::closed("reader"))
    }
}

impl Read for BufferReader {
    /// Copies, and counts, as many bytes as are left and fit `dst`.
    fn read(&mut self, dst: &mut [u8]) -> io::Result<usize> {
        let (at, nbytes) = (self.position(), dst.len().min(self.stream.remaining()));
        self.stream.opened_mut()?.copy_next(at, &mut dst[..nbytes])?;
        count_copied(nbytes);
        self.stream.advance(nbytes);
        Ok(nbytes)
    }

    /// Copies all of `dst.len()` bytes. Where fewer are left it copies none, and the position
    /// stays.
    fn read_exact(&mut self, dst: &mut [u8]) -> io::Result<()> {
        let at = self.position();
        let open = self.stream.opened_mut()?;
        match exact(at, dst.len(), open.buffer.nbytes()) {
            Ok(_) => open.copy_next(at, dst)?,
            Err(error) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error)),
        }
        count_copied(dst.len());
        self.stream.advance(dst.len());
        Ok(())
    }

    fn read_to_end(&mut self, dst: &mut Vec<u8>) -> io::Result<usize> {
        self.stream.opened()?;
        let (before, nbytes) = (dst.len(), self.stream.remaining());
        dst.try_reserve(nbytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        dst.resize(before + nbytes, 0);
        self.read_exact(&mut dst[before..]).inspect_err(|_| dst.truncate(before))?;
        Ok(nbytes)
    }
}

impl BufRead for BufferReader {
    /// All remaining bytes, zero-copy, under a Read lease on the host. Otherwise a copy of up to 64
    /// KiB of them, or of 1 MiB from a device, which is counted. Empty only at the end.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let range = self.position()..self.nbytes();
        Ok(self.stream.opened_mut()?.show(range)?)
    }

    /// Advances the position, at most to the end.
    fn consume(&mut self, nbytes: usize) {
        if self.stream.get().is_some() {
            self.stream.advance(nbytes.min(self.stream.remaining()));
        }
    }
}

impl Seek for BufferReader {
    /// # Errors
    ///
    /// A position before the first byte or behind the end is an error, and the position stays.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let from = self.position();
        let target = self.stream.seek(to)?;
        if target != from {
            self.stream.opened_mut()?.stage.discard();
        }
        Ok(target as u64)
    }
}
