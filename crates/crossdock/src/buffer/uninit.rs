//! New memory with uninitialised bytes.

use std::fmt;
use std::mem::MaybeUninit;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::pool::{self, Block};

/// New memory with uninitialised bytes: filled once, and then a [`Buffer`].
///
/// ```
/// use crossdock::buffer::UninitBuffer;
///
/// let mut fresh = UninitBuffer::new(4)?;
/// for (index, byte) in fresh.as_uninit_mut().iter_mut().enumerate() {
///     byte.write(index as u8);
/// }
/// // SAFETY: every byte was written above.
/// let buffer = unsafe { fresh.assume_init() };
/// assert_eq!(&buffer.read()?[..], [0, 1, 2, 3]);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. `nbytes` is no more than the block's capacity.
pub struct UninitBuffer {
    block: Block,
    nbytes: usize,
}

impl UninitBuffer {
    /// Allocates `nbytes` bytes of the default pool, aligned to
    /// [`ALIGNMENT`](crate::pool::ALIGNMENT). Writes nothing.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is no memory, or where `nbytes` exceeds the address space.
    #[inline]
    pub fn new(nbytes: usize) -> Result<Self> {
        Ok(Self::of_block(pool::take_default(nbytes, false)?, nbytes))
    }

    #[inline]
    pub(super) fn of_block(block: Block, nbytes: usize) -> Self {
        debug_assert!(nbytes <= block.capacity(), "UninitBuffer 1");
        Self { block, nbytes }
    }

    /// The number of bytes.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The bytes, for writing.
    #[inline]
    pub fn as_uninit_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.block.as_uninit_mut()[..self.nbytes]
    }

    /// Declares that every byte has been written. O(1): zeroes the padding behind the bytes.
    ///
    /// # Safety
    ///
    /// Every byte of [`UninitBuffer::as_uninit_mut`] is initialised.
    #[inline]
    pub unsafe fn assume_init(self) -> Buffer {
        // SAFETY: `# Safety`: all `nbytes` bytes are initialised; `nbytes` is no more than the
        // block's capacity (UninitBuffer 1).
        Buffer::fresh(unsafe { self.block.freeze(self.nbytes) }, self.nbytes)
    }
}

impl fmt::Debug for UninitBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UninitBuffer({} bytes at {:p})", self.nbytes, self.block.as_ptr())
    }
}
