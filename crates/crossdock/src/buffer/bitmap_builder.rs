//! Appends bits to a buffer.

use std::mem::MaybeUninit;

use crate::buffer::Buffer;
use crate::buffer::bits::{self, BitRun};
use crate::buffer::mutable::MutableBuffer;
use crate::error::{Error, Result};

/// A buffer of bits that grows, in Arrow's layout for validity and booleans: bit `i` is bit `i % 8`
/// of byte `i / 8`, the least significant bit first.
///
/// ```
/// use crossdock::buffer::BitmapBuilder;
///
/// let mut valid = BitmapBuilder::new()?;
/// valid.append(true)?;
/// valid.append_n(3, false)?;
/// valid.append_slice(&[true, true])?;
/// assert_eq!((valid.len(), valid.count_false()), (6, 3));
/// let (bits, len) = valid.finish();
/// assert_eq!((&bits.read()?[..], len), (&[0b110001][..], 6));
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. There are as many bytes as `len` bits need, and no more.
/// 2. Bits of the last byte from `len` on are 0.
/// 3. `ones` of the bits are 1.
#[derive(Debug)]
pub struct BitmapBuilder {
    bytes: MutableBuffer,
    len: usize,
    ones: usize,
}

impl BitmapBuilder {
    /// An empty builder over the default pool.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn new() -> Result<Self> {
        MutableBuffer::new().map(Self::over)
    }

    /// An empty builder over the default pool with room for `capacity` bits.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn with_capacity(capacity: usize) -> Result<Self> {
        MutableBuffer::with_capacity(capacity.div_ceil(8)).map(Self::over)
    }

    /// A builder that appends to the bits of a buffer, eight for each byte. O(n): it counts them.
    /// An empty buffer of any pool ([`Pool::mutable`](crate::pool::Pool::mutable)) makes a builder
    /// over that pool.
    pub fn over(bytes: MutableBuffer) -> Self {
        let ones = bytes.iter().map(|byte| byte.count_ones() as usize).sum();
        // This cannot overflow: a block is far smaller than `usize::MAX / 8` bytes.
        Self { len: 8 * bytes.nbytes(), ones, bytes }
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of bits that fit without a new allocation.
    pub fn capacity(&self) -> usize {
        8 * self.bytes.capacity()
    }

    /// The number of false bits: the nulls, if the bits are validity. O(1).
    pub fn count_false(&self) -> usize {
        self.len - self.ones
    }

    /// The bytes so far. Bits after the last one are 0.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bit at `index`; `None` if `index` is out of bounds.
    pub fn get(&self, index: usize) -> Option<bool> {
        (index < self.len).then(|| self.bytes[index / 8] >> (index % 8) & 1 != 0)
    }

    /// Makes room for `additional` more bits, geometrically.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the builder is unchanged.
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        let more = self.bytes_beyond(additional)?;
        self.bytes.reserve(more)
    }

    /// How many new bytes `additional` more bits need.
    fn bytes_beyond(&self, additional: usize) -> Result<usize> {
        match self.len.checked_add(additional) {
            Some(len) => Ok(len.div_ceil(8) - self.bytes.nbytes()),
            None => Err(Error::out_of_memory(usize::MAX, self.bytes.alignment())),
        }
    }

    /// Appends one bit. O(1) on average. Errors as [`BitmapBuilder::reserve`].
    #[inline]
    pub fn append(&mut self, value: bool) -> Result<()> {
        let within = self.len % 8;
        match self.bytes.last_mut() {
            Some(last) if within != 0 => *last |= u8::from(value) << within,
            _ => self.bytes.push(u8::from(value))?,
        }
        self.len += 1;
        self.ones += usize::from(value);
        Ok(())
    }

    /// Appends the same bit `count` times, whole bytes at a time. Errors as
    /// [`BitmapBuilder::reserve`].
    pub fn append_n(&mut self, count: usize, value: bool) -> Result<()> {
        self.reserve(count)?;
        let first = count.min(self.len.wrapping_neg() % 8);
        for _ in 0..first {
            self.append(value)?;
        }
        let rest = count - first;
        let whole = rest / 8;
        let byte = if value { 0xFF } else { 0 };
        self.append_bytes(whole, |room| room.fill(MaybeUninit::new(byte)));
        for _ in 0..rest % 8 {
            self.append(value)?;
        }
        Ok(())
    }

    /// Appends bits from a slice, packed many at a time. Errors as [`BitmapBuilder::reserve`].
    pub fn append_slice(&mut self, values: &[bool]) -> Result<()> {
        self.reserve(values.len())?;
        let first = values.len().min(self.len.wrapping_neg() % 8);
        let (first, rest) = values.split_at(first);
        for &value in first {
            self.append(value)?;
        }
        let (whole, last) = rest.split_at(rest.len() / 8 * 8);
        self.append_bytes(whole.len() / 8, |room| bits::pack(whole, room));
        for &value in last {
            self.append(value)?;
        }
        Ok(())
    }

    /// Appends bits of bytes, 64 at a time. Errors as [`BitmapBuilder::reserve`].
    pub(super) fn append_run(&mut self, run: BitRun<'_>) -> Result<()> {
        self.reserve(run.len())?;
        let first = run.len().min(self.len.wrapping_neg() % 8);
        for index in 0..first {
            self.append(run.get(index))?;
        }
        let rest = run.skip(first);
        // Bits of the last byte from the end of the run on are 0 (BitmapBuilder 2).
        self.append_bytes(rest.len().div_ceil(8), |room| rest.copy_to(None, room));
        self.len -= rest.len().wrapping_neg() % 8;
        Ok(())
    }

    /// Appends whole bytes, for which there is room and which `write` writes all.
    fn append_bytes(&mut self, count: usize, write: impl FnOnce(&mut [MaybeUninit<u8>])) {
        write(&mut self.bytes.spare_capacity_mut()[..count]);
        let old = self.bytes.nbytes();
        // SAFETY: the slice above proves that the capacity has room for `count` more bytes, and
        // `write` initialised them.
        unsafe { self.bytes.set_nbytes(old + count) };
        self.len += 8 * count;
        self.ones += BitRun::new(&self.bytes[old..], 0, 8 * count).count_ones();
    }

    /// The bits and their number. O(1); the capacity stays (see [`MutableBuffer::shrink_to_fit`]).
    pub fn finish(self) -> (Buffer, usize) {
        (self.bytes.freeze(), self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_testkit::seed;

    fn packed(bits: &[bool]) -> Vec<u8> {
        let byte = |bits: &[bool]| (0..bits.len()).map(|i| u8::from(bits[i]) << i).sum();
        bits.chunks(8).map(byte).collect()
    }

    #[test]
    fn any_sequence_of_appends_gives_the_bits_of_a_vector() {
        let mut random = fastrand::Rng::with_seed(seed());
        let (mut words, mut runs) = (0, 0);
        for _ in 0..crossdock_testkit::cases(2000) {
            let mut builder = BitmapBuilder::with_capacity(random.usize(..100)).unwrap();
            let mut bits = Vec::new();
            for _ in 0..random.usize(..20) {
                let value = random.bool();
                match random.u32(..3) {
                    0 => {
                        builder.append(value).unwrap();
                        bits.push(value);
                    }
                    1 => {
                        let count = random.usize(..100);
                        builder.append_n(count, value).unwrap();
                        bits.resize(bits.len() + count, value);
                        runs += usize::from(count > 16 && bits.len() % 8 != 0);
                    }
                    _ => {
                        let values: Vec<bool> = (0..random.usize(..300)).map(|_| random.bool()).collect();
                        builder.append_slice(&values).unwrap();
                        bits.extend(&values);
                        words += usize::from(values.len() >= 128);
                    }
                }
                assert_eq!((builder.len(), builder.is_empty()), (bits.len(), bits.is_empty()));
                assert_eq!(builder.count_false(), bits.iter().filter(|&&bit| !bit).count());
                assert!(builder.capacity() >= bits.len());
            }
            assert_eq!(builder.as_bytes(), packed(&bits));
            assert!((0..bits.len() + 2).all(|index| builder.get(index) == bits.get(index).copied()));
            let (buffer, len) = builder.finish();
            assert_eq!((&buffer.read().unwrap()[..], len), (&packed(&bits)[..], bits.len()));
        }
        assert!(words > 100 && runs > 100, "{words} slices of words, {runs} long runs");
    }

    #[test]
    fn a_builder_goes_on_where_bytes_end() {
        let mut bytes = MutableBuffer::new().unwrap();
        bytes.push(0b1010_0001_u8).unwrap();
        let mut builder = BitmapBuilder::over(bytes);
        assert_eq!((builder.len(), builder.count_false()), (8, 5));
        builder.append(true).unwrap();
        assert_eq!(builder.as_bytes(), [0b1010_0001, 1]);
    }

    #[test]
    fn more_bits_than_any_memory_holds_are_an_error_and_change_nothing() {
        let mut builder = BitmapBuilder::new().unwrap();
        builder.append_n(3, true).unwrap();
        // With pointers of 32 bits, memory may hold all bits that can be counted.
        let counts = [usize::MAX, usize::MAX - 3, isize::MAX as usize];
        for count in counts.into_iter().filter(|_| usize::BITS == 64) {
            assert!(builder.append_n(count, true).unwrap_err().is_out_of_memory());
            assert!(builder.reserve(count).unwrap_err().is_out_of_memory());
        }
        assert_eq!((builder.len(), builder.as_bytes()), (3, &[7][..]));
        assert!(usize::BITS < 64 || BitmapBuilder::with_capacity(usize::MAX).unwrap_err().is_out_of_memory());
        assert!(builder.append_n(usize::MAX, true).unwrap_err().is_out_of_memory());
    }
}
