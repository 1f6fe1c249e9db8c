//! A buffer under construction: it grows, and has no other handle.

use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::buffer::Buffer;
use crate::buffer::window::{count_of, start_of};
use crate::error::{Error, Kind, Rejected, Result};
use crate::memory::{LeaseKind, Place, Pod, no_access};
use crate::pool::{self, Block};

/// A buffer that grows. It is the only handle on its memory, so its bytes are a `&mut [u8]` without
/// a lease.
///
/// Capacity grows geometrically, or exactly on request, and shrinks only on request. Large blocks
/// grow in place or by remapping their pages, without a copy. [`MutableBuffer::freeze`] turns it
/// into a [`Buffer`] in O(1), and [`Buffer::try_into_mut`] turns an exclusive buffer back.
///
/// ```
/// use crossdock::buffer::MutableBuffer;
///
/// let mut bytes = MutableBuffer::new()?;
/// bytes.extend_from_slice(&[1u32, 2, 3])?;
/// bytes.push(4u8)?;
/// bytes[0] = 9;
/// let buffer = bytes.freeze();
/// assert_eq!(buffer.nbytes(), 13);
/// let bytes = buffer.try_into_mut()?;
/// assert_eq!(bytes[0], 9);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. `ptr` and `capacity` are the block's.
/// 2. The first `nbytes` bytes are initialised, and that is no more than `capacity`.
pub struct MutableBuffer {
    ptr: NonNull<u8>,
    nbytes: usize,
    capacity: usize,
    block: Block,
}

// SAFETY: the pointer is that of the block (MutableBuffer 1), which this alone owns and which may
// be freed on any thread.
unsafe impl Send for MutableBuffer {}
// SAFETY: `&MutableBuffer` gives shared reads of plain bytes and of sizes, which many threads may
// do at once.
unsafe impl Sync for MutableBuffer {}

impl MutableBuffer {
    /// An empty buffer of the default pool.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    #[inline]
    pub fn new() -> Result<Self> {
        Self::with_capacity(0)
    }

    /// An empty buffer of the default pool with room for `capacity` bytes.
    /// [`Pool::mutable`](crate::pool::Pool::mutable) is the same for another pool.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    #[inline]
    pub fn with_capacity(capacity: usize) -> Result<Self> {
        let block = pool::take_default(capacity, false)?;
        // SAFETY: clause 1 of `of_block` holds for 0 bytes.
        Ok(unsafe { Self::of_block(block, 0) })
    }

    /// The first bytes of a block.
    ///
    /// # Safety
    ///
    /// 1. The first `nbytes` bytes of the block are initialised, and that is no more than its
    ///    capacity (MutableBuffer 2).
    #[inline]
    pub(crate) unsafe fn of_block(block: Block, nbytes: usize) -> Self {
        debug_assert!(nbytes <= block.capacity(), "MutableBuffer 2");
        Self { ptr: block.as_ptr(), nbytes, capacity: block.capacity(), block }
    }

    // ===== queries

    /// The number of bytes.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The number of bytes that fit without a new allocation: a multiple of
    /// [`ALIGNMENT`](crate::pool::ALIGNMENT).
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The alignment of the first byte, which stays when the buffer grows.
    pub fn alignment(&self) -> usize {
        self.block.align()
    }

    /// The name of the pool that the memory is charged to.
    pub fn pool_name(&self) -> &'static str {
        self.block.account().name()
    }

    // ===== size

    /// Makes room for `additional` more bytes. The capacity at least doubles, so that appending
    /// takes amortised constant time for each byte, or grows to what is needed where twice is not
    /// available. The address may change.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is unchanged.
    #[inline]
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        if additional > self.capacity - self.nbytes { self.grow(additional) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) -> Result<()> {
        let needed = self.needed(additional)?;
        let generous = needed.max(self.capacity.saturating_mul(2));
        // If there is not so much, or a limit would be exceeded, what is needed may still be
        // available.
        self.set_capacity(generous, self.nbytes).or_else(|_| self.set_capacity(needed, self.nbytes))
    }

    fn needed(&self, additional: usize) -> Result<usize> {
        self.nbytes
            .checked_add(additional)
            .ok_or_else(|| Error::out_of_memory(usize::MAX, self.block.align()))
    }

    /// Makes room for `additional` more bytes, and for no more (except for rounding). Errors as
    /// [`MutableBuffer::reserve`].
    pub fn reserve_exact(&mut self, additional: usize) -> Result<()> {
        let needed = self.needed(additional)?;
        if needed > self.capacity { self.set_capacity(needed, self.nbytes) } else { Ok(()) }
    }

    /// Makes room for `capacity` bytes, and discards the present bytes: nothing is copied.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is unchanged, with its bytes.
    pub fn reserve_discard(&mut self, capacity: usize) -> Result<()> {
        if capacity > self.capacity {
            self.set_capacity(capacity, 0)?;
        }
        self.nbytes = 0;
        Ok(())
    }

    /// Releases the capacity beyond the bytes. A large block stays in place or moves by remapping
    /// its pages; the bytes of other blocks may be copied. The address may change.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`: a smaller block may be a new one. The buffer is unchanged.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        self.set_capacity(self.nbytes, self.nbytes)
    }

    /// Keeps the first `keep` bytes. The initialised bytes must fit the new capacity.
    fn set_capacity(&mut self, capacity: usize, keep: usize) -> Result<()> {
        let result = self.block.resize(capacity, keep);
        (self.ptr, self.capacity) = (self.block.as_ptr(), self.block.capacity());
        result
    }

    /// Resizes the buffer, with zeros for new bytes. The capacity grows exactly, and never shrinks.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is unchanged.
    pub fn resize(&mut self, nbytes: usize) -> Result<()> {
        if let Some(more) = nbytes.checked_sub(self.nbytes) {
            self.reserve_exact(more)?;
            self.spare_capacity_mut()[..more].fill(MaybeUninit::new(0));
        }
        self.nbytes = nbytes;
        Ok(())
    }

    /// Drops all bytes after the first `nbytes`. The capacity stays.
    pub fn truncate(&mut self, nbytes: usize) {
        self.nbytes = self.nbytes.min(nbytes);
    }

    /// Drops all bytes. The capacity stays.
    pub fn clear(&mut self) {
        self.nbytes = 0;
    }

    /// The room after the bytes.
    #[inline]
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: `nbytes` is no more than `capacity` (MutableBuffer 2), so the sum stays within
        // the block or at its end (MutableBuffer 1).
        let end = unsafe { self.ptr.add(self.nbytes) };
        // SAFETY: the `capacity - nbytes` bytes from `end` on are the rest of the block
        // (MutableBuffer 1), to which `&mut self` is the only access.
        unsafe { std::slice::from_raw_parts_mut(end.as_ptr().cast(), self.capacity - self.nbytes) }
    }

    /// Sets the number of bytes.
    ///
    /// # Safety
    ///
    /// 1. `nbytes` is no more than the capacity.
    /// 2. The first `nbytes` bytes are initialised.
    #[inline]
    pub unsafe fn set_nbytes(&mut self, nbytes: usize) {
        debug_assert!(nbytes <= self.capacity, "MutableBuffer 2");
        self.nbytes = nbytes;
    }

    // ===== appending

    /// Appends the bytes of a value. O(1) on average.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is unchanged.
    #[inline]
    pub fn push<T: Pod>(&mut self, value: T) -> Result<()> {
        self.reserve(size_of::<T>())?;
        // SAFETY: `nbytes` is no more than `capacity` (MutableBuffer 2), so the sum stays within
        // the block or at its end (MutableBuffer 1).
        let end = unsafe { self.ptr.add(self.nbytes) };
        // SAFETY: `reserve` made room for `size_of::<T>()` bytes after the bytes, and `&mut self`
        // is the only access; the write needs no alignment.
        unsafe { end.cast::<T>().write_unaligned(value) };
        self.nbytes += size_of::<T>();
        Ok(())
    }

    /// Appends the bytes of a slice: one copy. (It is new data, not an export, so it is not counted
    /// as copied.)
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is unchanged.
    #[inline]
    pub fn extend_from_slice<T: Pod>(&mut self, slice: &[T]) -> Result<()> {
        let nbytes = size_of_val(slice);
        self.reserve(nbytes)?;
        // SAFETY: `nbytes` is no more than `capacity` (MutableBuffer 2), so the sum stays within
        // the block or at its end (MutableBuffer 1).
        let end = unsafe { self.ptr.add(self.nbytes) };
        // SAFETY: `reserve` made room for `nbytes` bytes at `end`. The slice does not overlap them,
        // as only `&mut self` reaches the room behind the bytes.
        unsafe { std::ptr::copy_nonoverlapping(slice.as_ptr().cast(), end.as_ptr(), nbytes) };
        self.nbytes += nbytes;
        Ok(())
    }

    // ===== typed access, and the way out

    /// The bytes as elements. O(1).
    ///
    /// # Errors
    ///
    /// `is_alignment` where the address is not aligned for `T`, `is_bounds` where the bytes are not
    /// a whole number of `T`.
    pub fn as_slice_of<T: Pod>(&self) -> Result<&[T]> {
        let len = self.count_of::<T>()?;
        // SAFETY: `count_of` checked alignment and length; the bytes are initialised (MutableBuffer
        // 2), and every pattern is a value (Pod 1).
        Ok(unsafe { std::slice::from_raw_parts(start_of(self.ptr, len).as_ptr(), len) })
    }

    /// The bytes as elements, for writing. O(1). Errors as [`MutableBuffer::as_slice_of`].
    pub fn as_mut_slice_of<T: Pod>(&mut self) -> Result<&mut [T]> {
        let len = self.count_of::<T>()?;
        // SAFETY: `count_of` checked alignment and length; the bytes are initialised (MutableBuffer
        // 2), every pattern is a value (Pod 1), and `&mut self` is the only access.
        Ok(unsafe { std::slice::from_raw_parts_mut(start_of(self.ptr, len).as_ptr(), len) })
    }

    fn count_of<T: Pod>(&self) -> Result<usize> {
        count_of::<T>(self.ptr, self.nbytes)
    }

    /// The finished buffer. O(1): the padding up to a multiple of
    /// [`ALIGNMENT`](crate::pool::ALIGNMENT) is zeroed; the capacity stays until the buffer is
    /// shrunk.
    #[inline]
    pub fn freeze(self) -> Buffer {
        // SAFETY: the first `nbytes` bytes are initialised, and `nbytes` is no more than the
        // capacity (MutableBuffer 2).
        Buffer::fresh(unsafe { self.block.freeze(self.nbytes) }, self.nbytes)
    }
}

impl Deref for MutableBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the first `nbytes` bytes of the block at `ptr` (MutableBuffer 1) are initialised
        // (MutableBuffer 2), and `&self` excludes writes.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.nbytes) }
    }
}

impl DerefMut for MutableBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the first `nbytes` bytes of the block at `ptr` (MutableBuffer 1) are initialised
        // (MutableBuffer 2), and `&mut self` is the only access.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.nbytes) }
    }
}

impl fmt::Debug for MutableBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MutableBuffer({} of {} bytes at {:p})", self.nbytes, self.capacity, self.ptr)
    }
}

impl From<MutableBuffer> for Buffer {
    fn from(buffer: MutableBuffer) -> Self {
        buffer.freeze()
    }
}

impl TryFrom<Buffer> for MutableBuffer {
    type Error = Rejected<Buffer>;

    fn try_from(buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        buffer.try_into_mut()
    }
}

impl Buffer {
    /// The buffer as one that grows, if this is the only handle on it. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict`, with the number of leases and other handles and the protocols of export;
    /// `is_read_only`; `is_unsupported` where the memory does not belong to a pool, or does not
    /// begin where the buffer does; the error of failed work, as for [`Buffer::read`]. The error
    /// returns the buffer.
    pub fn try_into_mut(self) -> Result<MutableBuffer, Rejected<Self>> {
        let (handle, ptr, nbytes, readonly) = self.into_parts();
        let back = |handle, error| {
            // SAFETY: `into_parts` returned this pointer, size and flag with this handle, so Buffer
            // 1 and 2 hold for them again.
            let value = unsafe { Self::from_parts(handle, ptr, nbytes, readonly) };
            Rejected { value, error }
        };
        if readonly {
            return Err(back(handle, no_access(Place::CPU)));
        }
        if let Err(error) = handle.await_work(LeaseKind::Write) {
            return Err(back(handle, error));
        }
        if ptr != handle.header().ptr() && pool::is_block(&handle) {
            let within = ptr.addr().get() - handle.header().ptr().addr().get();
            let text = format!(
                "the buffer begins at byte {within} of its memory; only a buffer that begins at byte 0 can \
                grow"
            );
            return Err(back(handle, Error::new(Kind::Unsupported, text)));
        }
        match Block::thaw(handle) {
            // SAFETY: clause 1 of `of_block`: the buffer was the block's first `nbytes` bytes,
            // which are initialised (Buffer 1).
            Ok((block, _)) => Ok(unsafe { MutableBuffer::of_block(block, nbytes) }),
            Err((handle, error)) => Err(back(handle, error)),
        }
    }
}
