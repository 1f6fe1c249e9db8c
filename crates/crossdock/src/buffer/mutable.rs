//! A buffer while it is made: it grows, and nobody else knows of it.

use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::buffer::Buffer;
use crate::buffer::window::{count_of, start_of};
use crate::error::{Error, Kind, Rejected, Result};
use crate::memory::{LeaseKind, Place, Pod, no_access};
use crate::pool::{self, Block};

/// A buffer that grows: the only handle on its memory, hence `&mut [u8]` with no lease.
///
/// Capacity grows geometrically, or exactly on request; it shrinks only when told. Large blocks grow in place or by moving
/// their pages, without a copy. [`MutableBuffer::freeze`] makes it a [`Buffer`] in O(1), and
/// [`Buffer::try_into_mut`] goes back, while nobody else has the memory.
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

// SAFETY: the pointer is the block's, which goes to any thread.
unsafe impl Send for MutableBuffer {}
// SAFETY: `&MutableBuffer` gives `&[u8]` and nothing else.
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

    /// An empty buffer of the default pool with room for `capacity` bytes. See [`Pool::mutable`](crate::pool::Pool::mutable) for
    /// another pool.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    #[inline]
    pub fn with_capacity(capacity: usize) -> Result<Self> {
        Ok(Self::of_block(pool::take_default(capacity, false)?, 0))
    }

    /// The first `nbytes` bytes of the block are initialised.
    #[inline]
    pub(crate) fn of_block(block: Block, nbytes: usize) -> Self {
        debug_assert!(nbytes <= block.capacity(), "MutableBuffer 2");
        Self { ptr: block.as_ptr(), nbytes, capacity: block.capacity(), block }
    }

    // ===== queries

    /// The number of bytes.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The number of bytes that there is room for: a multiple of [`ALIGNMENT`](crate::pool::ALIGNMENT).
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The alignment of the first byte, which it keeps when it grows.
    pub fn alignment(&self) -> usize {
        self.block.align()
    }

    /// The name of the pool that the memory is charged to.
    pub fn pool_name(&self) -> &'static str {
        self.block.account().name()
    }

    // ===== size

    /// Makes room for `additional` more bytes: at least twice the capacity there was, so that appending takes constant time
    /// for each byte on average; and no more than they need where twice cannot be had. The address may change.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is as it was.
    #[inline]
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        if additional > self.capacity - self.nbytes { self.grow(additional) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) -> Result<()> {
        let needed = self.needed(additional)?;
        let generous = needed.max(self.capacity.saturating_mul(2));
        // Where there is not so much, or a limit stands in the way, what is needed may still be had.
        self.set_capacity(generous, self.nbytes).or_else(|_| self.set_capacity(needed, self.nbytes))
    }

    fn needed(&self, additional: usize) -> Result<usize> {
        self.nbytes
            .checked_add(additional)
            .ok_or_else(|| Error::out_of_memory(usize::MAX, self.block.align()))
    }

    /// Makes room for `additional` more bytes, and no more than that (but for the rounding). Errors as [`MutableBuffer::reserve`].
    pub fn reserve_exact(&mut self, additional: usize) -> Result<()> {
        let needed = self.needed(additional)?;
        if needed > self.capacity { self.set_capacity(needed, self.nbytes) } else { Ok(()) }
    }

    /// Makes room for `capacity` bytes, and forgets the bytes that there are: nothing is copied.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is as it was, with its bytes.
    pub fn reserve_discard(&mut self, capacity: usize) -> Result<()> {
        if capacity > self.capacity {
            self.set_capacity(capacity, 0)?;
        }
        self.nbytes = 0;
        Ok(())
    }

    /// Gives back the capacity beyond the bytes. A large block stays where it is or moves by its pages; the bytes of another one may be
    /// copied. The address may change.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`: a smaller block can be another one. The buffer is as it was.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        self.set_capacity(self.nbytes, self.nbytes)
    }

    /// The first `keep` bytes are kept; those that are initialised must be among the new capacity.
    fn set_capacity(&mut self, capacity: usize, keep: usize) -> Result<()> {
        let result = self.block.resize(capacity, keep);
        (self.ptr, self.capacity) = (self.block.as_ptr(), self.block.capacity());
        result
    }

    /// Gives the buffer this many bytes. New ones are zero. The capacity grows exactly, and never shrinks.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is as it was.
    pub fn resize(&mut self, nbytes: usize) -> Result<()> {
        if let Some(more) = nbytes.checked_sub(self.nbytes) {
            self.reserve_exact(more)?;
            self.spare_capacity_mut()[..more].fill(MaybeUninit::new(0));
        }
        self.nbytes = nbytes;
        Ok(())
    }

    /// Drops all bytes behind the first `nbytes`, if there are more. The capacity stays.
    pub fn truncate(&mut self, nbytes: usize) {
        self.nbytes = self.nbytes.min(nbytes);
    }

    /// Drops all bytes. The capacity stays.
    pub fn clear(&mut self) {
        self.nbytes = 0;
    }

    /// The room behind the bytes.
    #[inline]
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: within the capacity (MutableBuffer 2).
        let end = unsafe { self.ptr.add(self.nbytes) };
        // SAFETY: the rest of the block, which only `&mut self` reaches (MutableBuffer 1).
        unsafe { std::slice::from_raw_parts_mut(end.as_ptr().cast(), self.capacity - self.nbytes) }
    }

    /// Says that there are `nbytes` bytes.
    ///
    /// # Safety
    ///
    /// `nbytes` is no more than the capacity, and that many bytes are initialised.
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
    /// `is_out_of_memory`; the buffer is as it was.
    #[inline]
    pub fn push<T: Pod>(&mut self, value: T) -> Result<()> {
        self.reserve(size_of::<T>())?;
        // SAFETY: within the capacity (MutableBuffer 2).
        let end = unsafe { self.ptr.add(self.nbytes) };
        // SAFETY: there is room for it behind the bytes (reserved).
        unsafe { end.cast::<T>().write_unaligned(value) };
        self.nbytes += size_of::<T>();
        Ok(())
    }

    /// Appends the bytes of a slice: one copy. (It is data that comes in, not a hand-over: it is not counted as copied.)
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the buffer is as it was.
    #[inline]
    pub fn extend_from_slice<T: Pod>(&mut self, slice: &[T]) -> Result<()> {
        let nbytes = size_of_val(slice);
        self.reserve(nbytes)?;
        // SAFETY: within the capacity (MutableBuffer 2).
        let end = unsafe { self.ptr.add(self.nbytes) };
        // SAFETY: there is room for them behind the bytes (reserved); a borrowed slice does not overlap what only we know of.
        unsafe { std::ptr::copy_nonoverlapping(slice.as_ptr().cast(), end.as_ptr(), nbytes) };
        self.nbytes += nbytes;
        Ok(())
    }

    // ===== typed access, and the way out

    /// The bytes as elements. O(1).
    ///
    /// # Errors
    ///
    /// `is_alignment` where the address is not one for `T`, `is_bounds` where the bytes are not a whole number of `T`.
    pub fn as_slice_of<T: Pod>(&self) -> Result<&[T]> {
        let len = self.count_of::<T>()?;
        // SAFETY: aligned and as many (checked), initialised (MutableBuffer 2), of which any pattern is a value (Pod 1).
        Ok(unsafe { std::slice::from_raw_parts(start_of(self.ptr, len).as_ptr(), len) })
    }

    /// The bytes as elements, to be written. O(1). Errors as [`MutableBuffer::as_slice_of`].
    pub fn as_mut_slice_of<T: Pod>(&mut self) -> Result<&mut [T]> {
        let len = self.count_of::<T>()?;
        // SAFETY: as in `as_slice_of`; `&mut self` is the only way to the bytes.
        Ok(unsafe { std::slice::from_raw_parts_mut(start_of(self.ptr, len).as_ptr(), len) })
    }

    fn count_of<T: Pod>(&self) -> Result<usize> {
        count_of::<T>(self.ptr, self.nbytes)
    }

    /// The buffer, finished. O(1): the padding up to a multiple of [`ALIGNMENT`](crate::pool::ALIGNMENT) is zeroed; the capacity stays
    /// until it is shrunk.
    #[inline]
    pub fn freeze(self) -> Buffer {
        // SAFETY: MutableBuffer 2.
        Buffer::fresh(unsafe { self.block.freeze(self.nbytes) }, self.nbytes)
    }
}

impl Deref for MutableBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: MutableBuffer 1 and 2.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.nbytes) }
    }
}

impl DerefMut for MutableBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: MutableBuffer 1 and 2; `&mut self` is the only way to the bytes.
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
    /// The buffer as one that can grow, while this is the only handle on it. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict`, which says how many leases or other handles there are and by which protocols the memory went out;
    /// `is_read_only`; `is_unsupported` where the memory is not a pool's, or does not begin where the buffer does; of failed work as
    /// [`Buffer::read`]. The buffer comes back with the error.
    pub fn try_into_mut(self) -> Result<MutableBuffer, Rejected<Self>> {
        let (handle, ptr, nbytes, readonly) = self.into_parts();
        let back = |handle, error| {
            // SAFETY: the parts of one buffer, as they were.
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
                "the buffer begins at byte {within} of its memory: only one that begins at 0 can grow"
            );
            return Err(back(handle, Error::new(Kind::Unsupported, text)));
        }
        match Block::thaw(handle) {
            Ok((block, _)) => Ok(MutableBuffer::of_block(block, nbytes)),
            Err((handle, error)) => Err(back(handle, error)),
        }
    }
}
