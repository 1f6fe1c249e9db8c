//! Bits of a buffer: validity and packed booleans.

use std::ops::RangeBounds;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::buffer::bits::BitRun;
use crate::buffer::window::resolve;
use crate::buffer::{BitmapBuilder, Buffer, ReadOrPinLease, UninitBuffer};
use crate::error::{Error, Kind, Result};
use crate::memory::{Birth, LeaseKind, count_copied};

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
        self.read()?.get(index)
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
        self.for_each_run(|run| ones += run.count_ones())?;
        let zeros = self.len - ones;
        if self.buffer.birth() == Birth::Constant {
            self.zeros.store(zeros, Ordering::Relaxed);
        }
        Ok(zeros)
    }

    /// Passes on the bits in order, in one run if no party can write them, otherwise copied in
    /// parts. Each but the last has a multiple of 8 bits.
    fn for_each_run(&self, mut each: impl FnMut(BitRun<'_>)) -> Result<()> {
        match ReadOrPinLease::at(&self.buffer)? {
            ReadOrPinLease::Constant(guard) => each(BitRun::new(&guard, self.start, self.len)),
            lease @ ReadOrPinLease::Changing(_) => {
                let (first, shift, mut room) = (self.start / 8, self.start % 8, [0; CHUNK + 1]);
                for done in (0..self.len).step_by(8 * CHUNK) {
                    let len = (self.len - done).min(8 * CHUNK);
                    let at = first + done / 8;
                    let bytes = lease.bytes(at..at + (shift + len).div_ceil(8), &mut room)?;
                    each(BitRun::new(bytes, shift, len));
                }
            }
        }
        Ok(())
    }

    /// Appends the bits.
    pub(crate) fn append_to(&self, bits: &mut BitmapBuilder) -> Result<()> {
        bits.reserve(self.len)?;
        let mut result = Ok(());
        self.for_each_run(|run| {
            if result.is_ok() {
                result = bits.append_run(run);
            }
        })?;
        result
    }

    /// A buffer that begins with the first of these bits: in place if they begin with a byte,
    /// otherwise a copy, which counts.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_conflict` while a Write lease is held; `is_place` on a device.
    pub(crate) fn to_buffer(&self) -> Result<Buffer> {
        let (start, nbytes) = (self.start / 8, self.len.div_ceil(8));
        if self.start.is_multiple_of(8) {
            return self.buffer.slice(start..start + nbytes);
        }
        let mut copy = BitmapBuilder::with_capacity(self.len)?;
        self.append_to(&mut copy)?;
        count_copied(nbytes);
        Ok(copy.finish().0)
    }

    /// Passes on the index of each false bit, in order.
    pub(crate) fn for_each_false(&self, mut each: impl FnMut(usize)) -> Result<()> {
        let mut done = 0;
        self.for_each_run(|run| {
            for index in 0..run.len().div_ceil(8) {
                let byte = run.byte(index);
                let mut zeros = !byte & 0xFF >> 8usize.saturating_sub(run.len() - 8 * index);
                while zeros != 0 {
                    each(done + 8 * index + zeros.trailing_zeros() as usize);
                    zeros &= zeros - 1;
                }
            }
            done += run.len();
        })
    }

    /// A byte of 0 or 1 for each bit, in new memory. O(n); the copy is not counted.
    pub(crate) fn to_bytes(&self) -> Result<Buffer> {
        let mut bytes = UninitBuffer::new(self.len)?;
        let mut rest = bytes.as_uninit_mut();
        self.for_each_run(|run| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(run.len());
            run.expand(part);
            rest = after;
        })?;
        // SAFETY: the runs have `self.len` bits together, and each wrote a byte for each.
        Ok(unsafe { bytes.assume_init() })
    }

    /// The bits that are true in both, in new memory. Copies, and counts, a bit for each, under a
    /// Read or Pin lease of either.
    ///
    /// ```
    /// use crossdock::buffer::{Bitmap, Buffer};
    ///
    /// let one = Bitmap::new(Buffer::from_static(&[0b0110_1100])?, 2, 6)?;
    /// let other = Bitmap::new(Buffer::from_static(&[0b0001_1001])?, 0, 6)?;
    /// assert_eq!(one.and(&other)?.count_false()?, 3);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` for another number of bits; `is_out_of_memory`; as [`Bitmap::count_false`].
    #[doc(hidden)]
    pub fn and(&self, other: &Self) -> Result<Self> {
        if self.len != other.len {
            let text = format!("{} bits cannot be combined with {}", self.len, other.len);
            return Err(Error::new(Kind::Shape, text));
        }
        let nbytes = self.len.div_ceil(8);
        let mut bits = UninitBuffer::new(nbytes)?;
        let (one, other) = (ReadOrPinLease::at(&self.buffer)?, (ReadOrPinLease::at(&other.buffer)?, other));
        let (mut room, mut other_room) = ([0; CHUNK + 1], [0; CHUNK + 1]);
        // In one part if no party can write either, otherwise copied in parts.
        let is_constant = one.kind() == LeaseKind::Read && other.0.kind() == LeaseKind::Read;
        let part = if is_constant { nbytes.max(1) } else { CHUNK };
        for (done, out) in (0..self.len).step_by(8 * part).zip(bits.as_uninit_mut().chunks_mut(part)) {
            let len = (self.len - done).min(8 * part);
            let one = run_of(self, &one, done, len, &mut room)?;
            let other = run_of(other.1, &other.0, done, len, &mut other_room)?;
            one.copy_to(Some(other), out);
        }
        count_copied(nbytes);
        // SAFETY: the parts have `nbytes` bytes together, and each was written.
        Self::new(unsafe { bits.assume_init() }, 0, self.len)
    }

    /// The bits for many reads under one lease.
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Write lease is held; `is_place` on a device.
    pub(crate) fn read(&self) -> Result<BitmapRead> {
        Ok(BitmapRead { lease: ReadOrPinLease::at(&self.buffer)?, start: self.start, len: self.len })
    }

    /// The bits as booleans. Copies a byte for each, which is not counted: it is for inspection.
    ///
    /// # Errors
    ///
    /// As [`Bitmap::count_false`].
    #[doc(hidden)]
    pub fn to_vec(&self) -> Result<Vec<bool>> {
        Ok(self.to_bytes()?.read()?.iter().map(|&byte| byte != 0).collect())
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

/// Some bits of a bitmap under its lease: in place, or copied to `room`.
fn run_of<'a>(
    bitmap: &Bitmap,
    lease: &'a ReadOrPinLease,
    done: usize,
    len: usize,
    room: &'a mut [u8],
) -> Result<BitRun<'a>> {
    let start = bitmap.start + done;
    let bytes = lease.bytes(start / 8..(start + len).div_ceil(8), room)?;
    Ok(BitRun::new(bytes, start % 8, len))
}

/// The bits of a bitmap, under a Read or Pin lease.
pub(crate) struct BitmapRead {
    lease: ReadOrPinLease,
    start: usize,
    len: usize,
}

impl BitmapRead {
    /// The bytes of the buffer and the first bit, if no party can write them.
    pub(crate) fn in_memory(&self) -> Option<(&[u8], usize)> {
        match &self.lease {
            ReadOrPinLease::Constant(guard) => Some((guard, self.start)),
            ReadOrPinLease::Changing(_) => None,
        }
    }

    /// One bit. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Result<bool> {
        if index >= self.len {
            return Err(beyond(index, self.len));
        }
        let bit = self.start + index;
        let byte = match &self.lease {
            ReadOrPinLease::Constant(guard) => guard[bit / 8],
            ReadOrPinLease::Changing(guard) => guard.load(bit / 8)?,
        };
        Ok(byte >> (bit % 8) & 1 != 0)
    }
}

#[cold]
fn beyond(index: usize, len: usize) -> Error {
    Error::new(Kind::Bounds, format!("bit {index} is out of bounds for {len} bits"))
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
            let mut zeros = Vec::new();
            bits.for_each_false(|index| zeros.push(index)).unwrap();
            assert!(zeros.into_iter().eq((0..len).filter(|&i| !wanted[i])));
            let mask = whole.slice(..len).unwrap();
            let both = mask.and(&bits).unwrap().to_vec().unwrap();
            assert!(both.into_iter().eq((0..len).map(|i| wanted[i] && bit(i))));
            let shared = whole.buffer().share().unwrap(); // then each is read racily
            let racy = mask.and(&bits).unwrap().to_vec().unwrap();
            assert!(racy.into_iter().eq((0..len).map(|i| wanted[i] && bit(i))));
            assert_eq!(bits.to_vec().unwrap(), wanted);
            assert_eq!(bits.count_false().unwrap(), wanted.iter().filter(|&&bit| !bit).count());
            drop(shared);
            assert!(len == 8 * nbytes || mask.and(&whole).unwrap_err().is_shape());
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
