//! The contents of a buffer: comparison, text, alignment and copies.

use std::ops::RangeBounds;

use crate::buffer::Buffer;
use crate::buffer::mutable::MutableBuffer;
use crate::buffer::read_or_pin_lease::ReadOrPinLease;
use crate::buffer::text::{hex_of, not_utf8};
use crate::error::{Error, Kind, Rejected, Result, try_with_capacity};
use crate::memory::count_copied;
use crate::pool::{self, ALIGNMENT, AllocOptions, Pool};

/// How many bytes are read at a time from memory that may change.
const CHUNK: usize = 16 << 10;

/// Calls `visit` with the first `nbytes` bytes, in pieces of [`CHUNK`] (the last may be shorter),
/// until it returns false.
fn for_each_chunk(
    buffer: &Buffer,
    nbytes: usize,
    mut visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let lease = ReadOrPinLease::at(buffer)?;
    let mut room = [0; CHUNK];
    for offset in (0..nbytes).step_by(CHUNK) {
        let chunk = lease.bytes(offset..nbytes.min(offset + CHUNK), &mut room)?;
        if !visit(chunk)? {
            break;
        }
    }
    Ok(())
}

impl Buffer {
    /// Whether both hold the same bytes. O(1) if they are the same memory or have different sizes,
    /// else O(n). Memory that may change is compared as it is found, piece by piece.
    ///
    /// # Errors
    ///
    /// `is_place` where one of them is on a device (and they are not the same memory),
    /// `is_conflict` while a Write lease is held.
    pub fn equals(&self, other: &Self) -> Result<bool> {
        if self.nbytes() != other.nbytes() {
            return Ok(false);
        }
        self.equals_prefix(other, self.nbytes())
    }

    /// Whether both have at least `nbytes` bytes, and the first `nbytes` of them are equal. Cost
    /// and errors as for [`Buffer::equals`].
    pub fn equals_prefix(&self, other: &Self, nbytes: usize) -> Result<bool> {
        if nbytes > self.nbytes() || nbytes > other.nbytes() {
            return Ok(false);
        }
        if nbytes == 0 || (self.as_ptr() == other.as_ptr() && self.place() == other.place()) {
            return Ok(true);
        }
        let (left, right) = (ReadOrPinLease::at(self)?, ReadOrPinLease::at(other)?);
        if let (ReadOrPinLease::Constant(left), ReadOrPinLease::Constant(right)) = (&left, &right) {
            return Ok(left[..nbytes] == right[..nbytes]);
        }
        let (mut left_room, mut right_room) = ([0; CHUNK], [0; CHUNK]);
        for offset in (0..nbytes).step_by(CHUNK) {
            let chunk = offset..nbytes.min(offset + CHUNK);
            if left.bytes(chunk.clone(), &mut left_room)? != right.bytes(chunk, &mut right_room)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The bytes as hexadecimal digits, upper case, two for each byte, without separators. O(n).
    ///
    /// # Errors
    ///
    /// `is_place`, `is_conflict`, `is_out_of_memory`.
    pub fn to_hex_string(&self) -> Result<String> {
        hex_of(self.nbytes(), |push| for_each_chunk(self, self.nbytes(), push))
    }

    /// The bytes as text. Copies, and counts, them. (Under a Read lease,
    /// [`ReadGuard::as_str`](crate::buffer::ReadGuard::as_str) needs no copy.)
    ///
    /// # Errors
    ///
    /// `is_malformed` where they are not UTF-8, with the index of the first invalid byte;
    /// `is_place`, `is_conflict`, `is_out_of_memory`.
    pub fn to_text(&self) -> Result<String> {
        let mut bytes = try_with_capacity(self.nbytes())?;
        for_each_chunk(self, self.nbytes(), |chunk| {
            bytes.extend_from_slice(chunk);
            Ok(true)
        })?;
        count_copied(bytes.len());
        String::from_utf8(bytes).map_err(|error| not_utf8(error.utf8_error()))
    }

    // ===== copies

    /// Copies a part of the bytes into new memory of a pool. Copies, and counts, the bytes of the
    /// range.
    ///
    /// # Errors
    ///
    /// `is_bounds`, `is_place`, `is_conflict`, `is_out_of_memory`.
    pub fn copy_slice(&self, range: impl RangeBounds<usize>, pool: &Pool) -> Result<Self> {
        self.slice(range)?.copy_aligned(ALIGNMENT, pool)
    }

    fn copy_aligned(&self, align: usize, pool: &Pool) -> Result<Self> {
        let source = ReadOrPinLease::at(self)?;
        let nbytes = self.nbytes();
        let mut fresh = AllocOptions::new().align(align).uninit(pool, nbytes)?;
        let room = fresh.as_uninit_mut();
        match &source {
            ReadOrPinLease::Constant(guard) => {
                // SAFETY: the source is this buffer's `nbytes` bytes, and `room` has as many. New
                // memory overlaps no other.
                unsafe { std::ptr::copy_nonoverlapping(guard.as_ptr(), room.as_mut_ptr().cast(), nbytes) };
                count_copied(nbytes);
            }
            ReadOrPinLease::Changing(guard) => guard.copy_to_uninit(room)?,
        }
        // SAFETY: both arms of the match wrote all `nbytes` bytes of `room`, or returned an error.
        Ok(unsafe { fresh.assume_init() })
    }

    /// The same buffer if it keeps no more memory alive than it covers (except for padding), or
    /// else a copy of its bytes in new memory of the pool, so that the rest can be freed. Copies,
    /// and counts, its bytes in the second case.
    ///
    /// # Errors
    ///
    /// `is_place`, `is_conflict`, `is_out_of_memory`. The error returns the buffer.
    pub fn compact(self, pool: &Pool) -> Result<Self, Rejected<Self>> {
        let tight = self.nbytes().next_multiple_of(ALIGNMENT);
        if self.retained_nbytes() <= tight {
            return Ok(self);
        }
        match self.copy_aligned(ALIGNMENT, pool) {
            Ok(copy) => Ok(copy),
            Err(error) => Err(Rejected { value: self, error }),
        }
    }

    // ===== alignment and capacity

    /// The largest power of two that divides the address of the first byte. (2⁶³ for an address of
    /// 0.)
    pub fn alignment(&self) -> usize {
        1 << self.as_ptr().addr().trailing_zeros().min(usize::BITS - 1)
    }

    /// Whether `align`, any number but 0, divides the address of the first byte.
    pub fn is_aligned_to(&self, align: usize) -> bool {
        align != 0 && self.as_ptr().addr().is_multiple_of(align)
    }

    /// Another handle on the buffer if it is aligned to `align`, or else an aligned copy. Copies,
    /// and counts, its bytes in the second case.
    ///
    /// # Errors
    ///
    /// `is_alignment` where `align` is not a power of two, or exceeds a page and the present
    /// alignment; `is_place`, `is_conflict`, `is_exhausted`, `is_out_of_memory`.
    pub fn ensure_alignment(&self, align: usize, pool: &Pool) -> Result<Self> {
        if !align.is_power_of_two() {
            return Err(Error::new(
                Kind::Alignment,
                format!("an alignment of {align} bytes is not a power of two"),
            ));
        }
        if self.is_aligned_to(align) { self.try_clone() } else { self.copy_aligned(align, pool) }
    }

    /// The number of bytes that the buffer could have without new memory. For a buffer that begins
    /// at a pool's block, that is the whole block, a multiple of [`ALIGNMENT`]; for any other, its
    /// size.
    pub fn capacity(&self) -> usize {
        match pool::describe(self.header()) {
            Some((capacity, _)) if self.as_ptr() == self.header().ptr().as_ptr() => capacity,
            _ => self.nbytes(),
        }
    }

    /// The name of the pool that the memory is charged to; `None` for memory of no pool.
    pub fn pool_name(&self) -> Option<&'static str> {
        pool::describe(self.header()).map(|(_, name)| name)
    }

    /// Zeroes all bytes after the buffer's, up to its capacity. (Up to the next multiple of
    /// [`ALIGNMENT`] they are zero already, unless this is a slice.) O(capacity).
    ///
    /// # Errors
    ///
    /// `is_conflict` unless this is the only handle, `is_read_only`, `is_place`.
    pub fn zero_padding(&mut self) -> Result<()> {
        let (nbytes, capacity) = (self.nbytes(), self.capacity());
        self.as_mut_slice()?;
        if capacity > nbytes {
            // Not from the slice, whose pointer reaches only the slice.
            // SAFETY: `capacity` exceeds `nbytes`, so the buffer is the front of a pool's block of
            // `capacity` bytes, and the sum stays within it.
            let end = unsafe { self.start().add(nbytes) };
            // SAFETY: `end` begins the last `capacity - nbytes` bytes of the block. `as_mut_slice`
            // found no other handle and no lease, so no other access exists.
            unsafe { end.write_bytes(0, capacity - nbytes) };
        }
        Ok(())
    }

    /// Resizes the buffer, with zeros for new bytes. Memory of a pool grows as in
    /// [`MutableBuffer`], in place where possible. Other memory is replaced by new memory of the
    /// default pool, which copies, and counts, the bytes. A smaller size narrows the window, and
    /// releases no memory.
    ///
    /// # Errors
    ///
    /// `is_conflict` while there is another handle, a lease, or an export, with their number and
    /// their protocols; `is_read_only`, `is_place`, `is_out_of_memory`. The buffer is unchanged.
    pub fn resize(&mut self, nbytes: usize) -> Result<()> {
        let bytes = self.as_mut_slice()?;
        let grows = nbytes > bytes.len();
        if !grows {
            self.narrow(nbytes);
            return Ok(());
        }
        if self.is_whole_block() {
            // SAFETY: clause 1 of `grow_block`: `is_whole_block` found the block, and
            // `as_mut_slice` succeeded, so there is no other holder. Clause 2: `grows`.
            return unsafe { self.grow_block(nbytes) };
        }
        let mut fresh = MutableBuffer::with_capacity(nbytes)?;
        let bytes = self.as_mut_slice()?;
        fresh.extend_from_slice::<u8>(bytes)?;
        count_copied(bytes.len());
        fresh.resize(nbytes)?;
        *self = fresh.freeze();
        Ok(())
    }

    fn is_whole_block(&self) -> bool {
        self.as_ptr() == self.header().ptr().as_ptr() && pool::describe(self.header()).is_some()
    }
}
