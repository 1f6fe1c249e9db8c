//! Buffers in new memory of a pool.

use crate::buffer::Buffer;
use crate::buffer::mutable::MutableBuffer;
use crate::buffer::uninit::UninitBuffer;
use crate::error::Result;
use crate::memory::{Pod, count_copied};
use crate::pool::{self, AllocOptions, Pool};

impl Buffer {
    /// `nbytes` zeroed bytes of the default pool, aligned to [`ALIGNMENT`](crate::pool::ALIGNMENT).
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    #[inline]
    pub fn zeroed(nbytes: usize) -> Result<Self> {
        // SAFETY: `take_default` zeroed the block on request, so its bytes are initialised, and its
        // capacity is at least `nbytes`.
        Ok(Self::fresh(unsafe { pool::take_default(nbytes, true)?.freeze(nbytes) }, nbytes))
    }

    /// Copies a slice into new memory of the default pool. Copies, and counts, its bytes.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn copy_from_slice<T: Pod>(slice: &[T]) -> Result<Self> {
        Ok(copy(slice, UninitBuffer::new(size_of_val(slice))?))
    }
}

impl Pool {
    /// `nbytes` zeroed bytes.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`, where there is no memory or a limit would be exceeded.
    #[inline]
    pub fn zeroed(&self, nbytes: usize) -> Result<Buffer> {
        AllocOptions::new().zeroed(self, nbytes)
    }

    /// `nbytes` uninitialised bytes. Errors as [`Pool::zeroed`].
    #[inline]
    pub fn uninit(&self, nbytes: usize) -> Result<UninitBuffer> {
        AllocOptions::new().uninit(self, nbytes)
    }

    /// An empty buffer that grows, with room for `capacity` bytes. Errors as [`Pool::zeroed`].
    #[inline]
    pub fn mutable(&self, capacity: usize) -> Result<MutableBuffer> {
        AllocOptions::new().mutable(self, capacity)
    }

    /// Copies a slice. Copies, and counts, its bytes. Errors as [`Pool::zeroed`].
    pub fn copy_from_slice<T: Pod>(&self, slice: &[T]) -> Result<Buffer> {
        Ok(copy(slice, self.uninit(size_of_val(slice))?))
    }
}

impl AllocOptions {
    /// `nbytes` zeroed bytes.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`, where there is no memory or a limit would be exceeded; `is_alignment`
    /// where the alignment is not a power of two, or exceeds a page.
    #[inline]
    pub fn zeroed(&self, pool: &Pool, nbytes: usize) -> Result<Buffer> {
        let block = self.block(pool, nbytes, true)?;
        // SAFETY: `block` zeroed the bytes on request, so they are initialised, and its capacity is
        // at least `nbytes`.
        Ok(Buffer::fresh(unsafe { block.freeze(nbytes) }, nbytes))
    }

    /// `nbytes` uninitialised bytes. Errors as [`AllocOptions::zeroed`].
    #[inline]
    pub fn uninit(&self, pool: &Pool, nbytes: usize) -> Result<UninitBuffer> {
        Ok(UninitBuffer::of_block(self.block(pool, nbytes, false)?, nbytes))
    }

    /// An empty buffer that grows, with room for `capacity` bytes. Errors as
    /// [`AllocOptions::zeroed`].
    #[inline]
    pub fn mutable(&self, pool: &Pool, capacity: usize) -> Result<MutableBuffer> {
        let block = self.block(pool, capacity, false)?;
        // SAFETY: clause 1 of `of_block` holds for 0 bytes.
        Ok(unsafe { MutableBuffer::of_block(block, 0) })
    }
}

/// As [`Pool::copy_from_slice`], into a new buffer.
pub(crate) fn copy<T: Pod>(slice: &[T], mut fresh: UninitBuffer) -> Buffer {
    let nbytes = size_of_val(slice);
    let room = fresh.as_uninit_mut();
    assert_eq!(room.len(), nbytes, "the buffer was made to fit");
    // SAFETY: `room` has `nbytes` bytes (asserted above), as has the slice, whose bytes are
    // initialised (Pod 2). New memory overlaps no other.
    unsafe { std::ptr::copy_nonoverlapping(slice.as_ptr().cast(), room.as_mut_ptr().cast::<u8>(), nbytes) };
    count_copied(nbytes);
    // SAFETY: the copy above wrote all `nbytes` bytes of `room`, which are all bytes of `fresh`.
    unsafe { fresh.assume_init() }
}
