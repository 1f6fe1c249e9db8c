//! Reading a buffer as a stream and by position.

use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

use crate::buffer::{Buffer, Look};
use crate::device::Hold;
use crate::error::{Rejected, Result};
use crate::io::position::{self, clamped, exact};
use crate::io::stage::{DEVICE_NBYTES, HOST_NBYTES, Stage, copy_from_device};
use crate::memory::{LeaseKind, count_copied, fault};

/// Reads a buffer: as a stream ([`Read`], [`BufRead`], [`Seek`]), and by position as slices that copy nothing and keep the
/// memory.
///
/// While it is open it holds a Read lease, or where that cannot be had, because the memory is aliased or somebody shares it, a Pin
/// lease. Under Read the bytes are constant, and [`BufRead::fill_buf`] gives the memory itself. Under Pin others may write meanwhile, so that there
/// can be no `&[u8]` of it: `fill_buf` gives a copy of up to 64 KiB, [`Read::read`] copies racily, and slices are the memory
/// itself all the same. Whatever `fill_buf` has shown is what `read` then gives, up to the next seek.
///
/// Memory on a device is read through a block of host memory of up to 1 MiB, which its
/// [`MemoryManager`](crate::device::MemoryManager) fills; reads wait for the work that is under way on it. Slices stay on the device.
///
/// A read of a guarded file map whose file shrank is an error ([`is_fault`](crate::Error::is_fault)), not a row of zeros.
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
/// assert!(buffer.write().unwrap_err().is_conflict()); // somebody reads
/// drop(reader);
/// assert!(buffer.write().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BufferReader {
    open: Option<Open>,
    /// No more than `nbytes`.
    position: usize,
    nbytes: usize,
}

#[derive(Debug)]
struct Open {
    buffer: Buffer,
    source: Source,
    stage: Stage,
}

/// The lease, and how the bytes are had under it.
#[derive(Debug)]
enum Source {
    Here(Look),
    /// On a device, under either lease: bytes have to be fetched.
    Elsewhere(Hold),
}

impl Source {
    fn of(buffer: &Buffer) -> Result<Self> {
        if !buffer.is_host() {
            return match buffer.hold(LeaseKind::Read) {
                Err(error) if error.is_conflict() => buffer.hold(LeaseKind::Pin),
                held => held,
            }
            .map(Self::Elsewhere);
        }
        Look::at(buffer).map(Self::Here)
    }
}

impl Open {
    /// Copies bytes out, from a position on that has as many. Not counted.
    fn copy_out(&self, at: usize, dst: &mut [u8]) -> Result<()> {
        match &self.source {
            Source::Here(look) => {
                look.copy_out(at, dst)?;
                match look {
                    Look::Constant(_) => Ok(()),
                    Look::Changing(_) => self.buffer.fault().map_or(Ok(()), Err),
                }
            }
            Source::Elsewhere(_) => copy_from_device(&self.buffer, at, dst),
        }
    }

    /// As `copy_out`, but first what was shown already.
    fn copy_next(&mut self, at: usize, dst: &mut [u8]) -> Result<()> {
        let shown = self.copy_shown(at, dst)?;
        let (at, rest) = (at + shown, &mut dst[shown..]);
        match self.source {
            _ if rest.is_empty() => Ok(()),
            // Many small reads of a device are one large one.
            Source::Elsewhere(_) if rest.len() < DEVICE_NBYTES => {
                self.show(at..self.buffer.nbytes())?;
                self.copy_shown(at, rest).map(drop)
            }
            _ => self.copy_out(at, rest),
        }
    }

    /// Copies what was shown of the bytes from a position on, and returns how many those are.
    fn copy_shown(&mut self, at: usize, dst: &mut [u8]) -> Result<usize> {
        let shown = self.stage.bytes_from(at)?;
        let nbytes = shown.len().min(dst.len());
        dst[..nbytes].copy_from_slice(&shown[..nbytes]);
        Ok(nbytes)
    }

    /// The bytes of a range, or as many of them as can be shown at once. Counts those that are staged.
    fn show(&mut self, range: Range<usize>) -> Result<&[u8]> {
        let Self { buffer, source, stage } = self;
        let limit = match source {
            Source::Here(Look::Constant(guard)) => return Ok(&guard[range]),
            Source::Here(Look::Changing(_)) => HOST_NBYTES,
            Source::Elsewhere(_) => DEVICE_NBYTES,
        };
        if !range.is_empty() && stage.bytes_from(range.start)?.is_empty() {
            let nbytes = range.len().min(limit);
            stage.fill(range.start, nbytes, |block| match source {
                Source::Here(look) => {
                    look.copy_out(range.start, &mut block.write()?)?;
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
    /// `is_conflict` while somebody holds Write; `is_exhausted`; `is_device` where work that was to write the memory failed. The buffer comes
    /// back with the error.
    pub fn new(buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        match Source::of(&buffer) {
            Ok(source) => {
                let nbytes = buffer.nbytes();
                Ok(Self { open: Some(Open { buffer, source, stage: Stage::default() }), position: 0, nbytes })
            }
            Err(error) => Err(Rejected { value: buffer, error }),
        }
    }

    fn opened(&self) -> Result<&Open> {
        self.open.as_ref().ok_or_else(|| position::closed("reader"))
    }

    fn opened_mut(&mut self) -> Result<&mut Open> {
        self.open.as_mut().ok_or_else(|| position::closed("reader"))
    }

    // ===== queries

    /// The number of bytes of the whole stream. It stays when the reader is closed.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The position: the byte that is read next.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The number of bytes from the position to the end.
    pub fn remaining(&self) -> usize {
        self.nbytes - self.position
    }

    /// The lease that is held: Read, where the bytes are constant, or Pin; `None` once the reader is closed.
    pub fn lease(&self) -> Option<LeaseKind> {
        self.open.as_ref().map(|open| match &open.source {
            Source::Here(look) => look.kind(),
            Source::Elsewhere(hold) => hold.kind(),
        })
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    // ===== the next bytes

    /// The next bytes, at most `nbytes` of them, as a slice that keeps the memory; the position moves behind them. Empty at
    /// the end. O(1): copies nothing.
    ///
    /// The slice is a handle, and holds no lease.
    ///
    /// # Errors
    ///
    /// `is_closed`; `is_exhausted` as [`Buffer::try_clone`].
    pub fn read_slice(&mut self, nbytes: usize) -> Result<Buffer> {
        let slice = self.peek(nbytes)?;
        self.position += slice.nbytes();
        Ok(slice)
    }

    /// As [`BufferReader::read_slice`], but all of `nbytes` bytes or none.
    ///
    /// # Errors
    ///
    /// As [`BufferReader::read_slice`], and `is_bounds` where there are fewer.
    pub fn read_exact_slice(&mut self, nbytes: usize) -> Result<Buffer> {
        let slice = self.read_exact_at(self.position, nbytes)?;
        self.position += nbytes;
        Ok(slice)
    }

    /// As [`BufferReader::read_slice`], and the position stays.
    ///
    /// # Errors
    ///
    /// As [`BufferReader::read_slice`].
    pub fn peek(&self, nbytes: usize) -> Result<Buffer> {
        self.read_at(self.position, nbytes)
    }

    // ===== bytes by position

    /// At most `nbytes` bytes from byte `offset` on, as a slice that keeps the memory; fewer where the stream ends. O(1): copies nothing,
    /// and the position stays.
    ///
    /// # Errors
    ///
    /// `is_bounds` where `offset` lies behind the end; `is_closed`; `is_exhausted` as [`Buffer::try_clone`].
    pub fn read_at(&self, offset: usize, nbytes: usize) -> Result<Buffer> {
        let open = self.opened()?;
        open.buffer.slice(clamped(offset, nbytes, self.nbytes)?)
    }

    /// As [`BufferReader::read_at`], but all of `nbytes` bytes or none.
    ///
    /// # Errors
    ///
    /// As [`BufferReader::read_at`], and `is_bounds` where there are fewer.
    pub fn read_exact_at(&self, offset: usize, nbytes: usize) -> Result<Buffer> {
        let open = self.opened()?;
        open.buffer.slice(exact(offset, nbytes, self.nbytes)?)
    }

    /// Copies bytes from byte `offset` on into memory of the caller's, and returns how many: fewer than asked for where the stream ends. The
    /// position stays. Copies, and counts, that many bytes.
    ///
    /// # Errors
    ///
    /// `is_bounds` where `offset` lies behind the end; `is_closed`; `is_fault`; on a device `is_device`, and `is_unsupported` where
    /// nobody copies from there.
    pub fn copy_at(&self, offset: usize, dst: &mut [u8]) -> Result<usize> {
        let open = self.opened()?;
        let range = clamped(offset, dst.len(), self.nbytes)?;
        open.copy_out(range.start, &mut dst[..range.len()])?;
        count_copied(range.len());
        Ok(range.len())
    }

    /// As [`BufferReader::copy_at`], but as many bytes as the destination has, or none.
    ///
    /// # Errors
    ///
    /// As [`BufferReader::copy_at`], and `is_bounds` where there are fewer.
    pub fn copy_exact_at(&self, offset: usize, dst: &mut [u8]) -> Result<()> {
        let open = self.opened()?;
        let range = exact(offset, dst.len(), self.nbytes)?;
        open.copy_out(range.start, dst)?;
        count_copied(range.len());
        Ok(())
    }

    /// A reader of `nbytes` bytes from byte `offset` on, with a position and a lease of its own: it ends where they end, and stays open
    /// when this one is closed. O(1): copies nothing.
    ///
    /// ```
    /// use std::io::Read;
    /// use crossdock::buffer::Buffer;
    /// use crossdock::io::BufferReader;
    ///
    /// let reader = BufferReader::new(Buffer::from_static(b"headbodytail")?)?;
    /// let (mut head, mut body) = (reader.range(0, 4)?, reader.range(4, 4)?);
    /// let mut text = String::new();
    /// body.read_to_string(&mut text)?;
    /// head.read_to_string(&mut text)?;
    /// assert_eq!(text, "bodyhead");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_bounds` where the bytes do not lie within the stream; `is_closed`; `is_exhausted`.
    pub fn range(&self, offset: usize, nbytes: usize) -> Result<Self> {
        Ok(Self::new(self.read_exact_at(offset, nbytes)?)?)
    }

    /// Says that bytes will soon be read, so that the system may fetch them: a file map's from the disk. A hint: what the
    /// system answers does not matter.
    ///
    /// # Errors
    ///
    /// `is_bounds` where the bytes do not lie within the stream; `is_closed`.
    pub fn will_need(&self, offset: usize, nbytes: usize) -> Result<()> {
        let open = self.opened()?;
        let range = exact(offset, nbytes, self.nbytes)?;
        if !range.is_empty() && open.buffer.is_host() {
            let address = open.buffer.address() + range.start;
            // The system counts in pages, and refuses an address within one.
            let within = address % fault::page_size();
            let page = open.buffer.as_ptr().wrapping_add(range.start).wrapping_sub(within);
            // SAFETY: advice to fetch pages, those of memory that the buffer keeps alive: it changes nothing that a program sees.
            unsafe { libc::madvise(page.cast_mut().cast(), range.len() + within, libc::MADV_WILLNEED) };
        }
        Ok(())
    }

    // ===== the end

    /// Gives the lease and the memory back. Slices and readers of a part stay as they are; all that reads is an error from now on. Closing
    /// once more is nothing. Dropping a reader closes it.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Gives the lease back, and the buffer to the caller.
    ///
    /// # Errors
    ///
    /// `is_closed`.
    pub fn into_inner(self) -> Result<Buffer> {
        self.open.map(|open| open.buffer).ok_or_else(|| position::closed("reader"))
    }
}

impl TryFrom<Buffer> for BufferReader {
    type Error = Rejected<Buffer>;

    fn try_from(buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        Self::new(buffer)
    }
}

impl Read for BufferReader {
    /// Copies, and counts, as many bytes as there are and as have room.
    fn read(&mut self, dst: &mut [u8]) -> io::Result<usize> {
        let (at, nbytes) = (self.position, dst.len().min(self.remaining()));
        self.opened_mut()?.copy_next(at, &mut dst[..nbytes])?;
        count_copied(nbytes);
        self.position += nbytes;
        Ok(nbytes)
    }

    /// All of them or, where there are fewer, none: then the position stays.
    fn read_exact(&mut self, dst: &mut [u8]) -> io::Result<()> {
        let at = self.position;
        let open = self.opened_mut()?;
        match exact(at, dst.len(), open.buffer.nbytes()) {
            Ok(_) => open.copy_next(at, dst)?,
            Err(error) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error)),
        }
        count_copied(dst.len());
        self.position += dst.len();
        Ok(())
    }

    fn read_to_end(&mut self, dst: &mut Vec<u8>) -> io::Result<usize> {
        self.opened()?;
        let (before, nbytes) = (dst.len(), self.remaining());
        dst.try_reserve(nbytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        dst.resize(before + nbytes, 0);
        self.read_exact(&mut dst[before..]).inspect_err(|_| dst.truncate(before))?;
        Ok(nbytes)
    }
}

impl BufRead for BufferReader {
    /// All the bytes that remain, in place, under a Read lease on the host; else a copy of up to 64 KiB of them, or of
    /// 1 MiB from a device, which is counted. Empty at the end
    /// only.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let range = self.position..self.nbytes;
        Ok(self.opened_mut()?.show(range)?)
    }

    /// Moves the position, at most to the end.
    fn consume(&mut self, nbytes: usize) {
        if self.open.is_some() {
            self.position += nbytes.min(self.remaining());
        }
    }
}

impl Seek for BufferReader {
    /// # Errors
    ///
    /// Before the first byte or behind the end: then the position stays.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, nbytes) = (self.position, self.nbytes);
        let open = self.opened_mut()?;
        let target = position::seek(from, nbytes, to)?;
        if target != from {
            open.stage.discard();
        }
        self.position = target;
        Ok(target as u64)
    }
}
