//! Bits of a buffer: validity and packed booleans.

use std::ops::RangeBounds;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::buffer::window::resolve;
use crate::buffer::{Buffer, ReadOrPinLease};
use crate::error::{Error, Kind, Result};
use crate::memory::Birth;

/// The count of a bitmap that was not counted, or whose bits may change.
const UNKNOWN: usize = usize::MAX;

/// How many bytes are loaded at a time from memory that may change.
const CHUNK: usize = 4096;

/// A window on the bits of a buffer, in Arrow's layout for validity and booleans: bit `i` is bit
/// `i % 8` of byte `i / 8`, the least significant bit first.
///
/// Cloning and slicing are O(1) and copy nothing. The number of false bits is counted when it is
/// requested, and kept if the memory is constant.
///
/// ```
/// use crossdock::buffer::{Bitmap, Buffer};
///
/// let valid = Bitmap::new(Buffer::from_vec(vec![0b1110_1101u8])?, 0, 8)?;
/// assert_eq!((valid.get(1)?, valid.count_false()?), (false, 2));
/// assert_eq!(valid.slice(2..6)?.count_false()?, 1);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. Bits `start..start + len` lie within the buffer.
/// 2. `zeros` is `UNKNOWN`, or the number of false bits in constant memory.
#[derive(Debug)]
pub struct Bitmap {
    buffer: Buffer,
    start: usize,
    len: usize,
    zeros: AtomicUsize,
}

impl Clone for Bitmap {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone(), zeros: AtomicUsize::new(self.known()), ..*self }
    }
}

impl Bitmap {
    /// The `len` bits from bit `start` of a buffer on. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the buffer has fewer bits.
    pub fn new(buffer: Buffer, start: usize, len: usize) -> Result<Self> {
        if start.checked_add(len).is_none_or(|end| end.div_ceil(8) > buffer.nbytes()) {
            let text = format!("bits {start}..{start}+{len} exceed a buffer of {} bytes", buffer.nbytes());
            return Err(Error::new(Kind::Bounds, text));
        }
        Ok(Self { buffer, start, len, zeros: AtomicUsize::new(UNKNOWN) })
    }

    fn known(&self) -> usize {
        self.zeros.load(Ordering::Relaxed)
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bit of the buffer at which these begin.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The buffer, which may begin before these bits and end after them.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// One bit, read under a lease held for the call. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_conflict` while a Write lease is held; `is_place` on a device.
    pub fn get(&self, index: usize) -> Result<bool> {
        if index >= self.len {
            let text = format!("bit {index} is out of bounds for {} bits", self.len);
            return Err(Error::new(Kind::Bounds, text));
        }
        let (bit, mut byte) = (self.start + index, [0]);
        ReadOrPinLease::at(&self.buffer)?.copy_out(bit / 8, &mut byte)?;
        Ok(byte[0] >> (bit % 8) & 1 != 0)
    }

    /// The number of false bits: the nulls, if the bits are validity. O(n / 8) under a Read or Pin
    /// lease; O(1) from the second call on if the memory is constant.
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Write lease is held; `is_place` on a device.
    pub fn count_false(&self) -> Result<usize> {
        let known = self.known();
        if known != UNKNOWN {
            return Ok(known);
        }
        let mut ones = 0;
        self.for_each_byte(|byte, _| ones += byte.count_ones() as usize)?;
        let zeros = self.len - ones;
        if self.buffer.birth() == Birth::Constant {
            self.zeros.store(zeros, Ordering::Relaxed);
        }
        Ok(zeros)
    }

    /// Passes on the bits eight at a time, aligned to the first bit; bits after the last are 0.
    /// The second argument is the number of valid bits in the byte.
    pub(crate) fn for_each_byte(&self, mut each: impl FnMut(u8, usize)) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        let lease = ReadOrPinLease::at(&self.buffer)?;
        let (first, shift) = (self.start / 8, self.start % 8);
        let (end, mut room) = ((self.start + self.len).div_ceil(8), [0; CHUNK + 1]);
        let mut done = 0;
        while done < self.len {
            let at = first + done / 8;
            // One byte more than the chunk has, since a shifted byte needs two.
            let bytes = lease.bytes(at..end.min(at + CHUNK + 1), &mut room)?;
            let chunk = (self.len - done).min(8 * CHUNK);
            for k in 0..chunk.div_ceil(8) {
                let next = bytes.get(k + 1).copied().unwrap_or_default();
                let byte = (u16::from_le_bytes([bytes[k], next]) >> shift) as u8;
                let count = (chunk - 8 * k).min(8);
                each(byte & (0xFF >> (8 - count)), count);
            }
            done += chunk;
        }
        Ok(())
    }

    /// The bits as booleans. Copies a bit for each, which is not counted: it is for inspection.
    ///
    /// # Errors
    ///
    /// As [`Bitmap::count_false`].
    #[doc(hidden)]
    pub fn to_vec(&self) -> Result<Vec<bool>> {
        let mut bits = Vec::with_capacity(self.len);
        self.for_each_byte(|byte, count| bits.extend((0..count).map(|k| byte >> k & 1 != 0)))?;
        Ok(bits)
    }

    /// A part of the bits. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_exhausted` where no more handles can be counted.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = resolve(&range, self.len)?;
        let zeros = match self.known() {
            0 => 0,
            known if range.len() == self.len => known,
            _ => UNKNOWN,
        };
        Ok(Self {
            buffer: self.buffer.try_clone()?,
            start: self.start + range.start,
            len: range.len(),
            zeros: AtomicUsize::new(zeros),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_testkit::seed;

    #[test]
    fn bits_are_those_of_the_buffer_between_any_two() {
        let mut random = fastrand::Rng::with_seed(seed());
        for round in 0..crossdock_testkit::cases(200) {
            let nbytes = if round % 50 == 0 { 2 * CHUNK + random.usize(..9) } else { random.usize(1..40) };
            let bytes: Vec<u8> = (0..nbytes).map(|_| random.u8(..)).collect();
            let bit = |i: usize| bytes[i / 8] >> (i % 8) & 1 != 0;
            let start = random.usize(..8 * nbytes);
            let len = random.usize(..=8 * nbytes - start);
            let whole = Bitmap::new(Buffer::copy_from_slice(&bytes).unwrap(), 0, 8 * nbytes).unwrap();
            let bits = whole.slice(start..start + len).unwrap();
            let wanted: Vec<bool> = (start..start + len).map(bit).collect();
            assert_eq!(bits.to_vec().unwrap(), wanted);
            assert_eq!(bits.count_false().unwrap(), wanted.iter().filter(|&&bit| !bit).count());
            assert!(wanted.iter().enumerate().all(|(i, &bit)| bits.get(i).unwrap() == bit));
            assert!(bits.get(len).unwrap_err().is_bounds());
        }
    }

    #[test]
    fn a_count_is_kept_only_with_constant_memory() {
        let bits = Bitmap::new(Buffer::from_vec(vec![0u8]).unwrap(), 0, 8).unwrap();
        assert_eq!(bits.count_false().unwrap(), 8);
        bits.buffer().write().unwrap()[0] = 0xF0;
        assert_eq!((bits.count_false().unwrap(), bits.known()), (4, UNKNOWN));
        let bits = Bitmap::new(Buffer::from_static(&[0b0101u8]).unwrap(), 0, 4).unwrap();
        assert_eq!((bits.count_false().unwrap(), bits.known()), (2, 2));
        assert!(Bitmap::new(Buffer::from_static(&[0u8]).unwrap(), 1, 8).unwrap_err().is_bounds());
        assert!(Bitmap::new(Buffer::from_static(&[0u8]).unwrap(), usize::MAX, 8).unwrap_err().is_bounds());
    }
}
