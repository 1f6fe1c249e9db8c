//! Validity bitmaps: imported as booleans, exported from booleans.

use crate::array::DArray;
use crate::buffer::{BitmapBuilder, Buffer};
use crate::element::{DType, NAT};
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::memory::count_copied;

/// The bitmap of one level of a column: a bit for each of its rows. Every row has the same number
/// of elements below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValidityBits<'a> {
    bytes: &'a [u8],
    /// The bit of the first row.
    start: usize,
    rows: usize,
}

impl<'a> ValidityBits<'a> {
    /// The bits `start..start + rows`, the least significant of a byte first.
    ///
    /// # Safety
    ///
    /// 1. The bytes that hold these bits are readable from the CPU at `bytes`.
    /// 2. They stay constant for `'a`.
    pub(super) unsafe fn new(bytes: *const u8, start: usize, rows: usize) -> Self {
        let first = bytes.wrapping_add(start / 8);
        let start = start % 8;
        // SAFETY: clauses 1 and 2 of `# Safety`: the bytes from the one of the first bit to the one
        // of the last are readable, and constant for `'a`.
        let bytes = unsafe { std::slice::from_raw_parts(first, (start + rows).div_ceil(8)) };
        Self { bytes, start, rows }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn is_valid(&self, row: usize) -> bool {
        let bit = self.start + row;
        self.bytes[bit / 8] >> (bit % 8) & 1 != 0
    }

    /// How many rows are null. O(rows / 8).
    pub(super) fn nulls(&self) -> usize {
        let ones: usize = self.bytes.iter().map(|byte| byte.count_ones() as usize).sum();
        // The producer's other bits of the first and the last byte are arbitrary.
        let outside = |bits: std::ops::Range<usize>| {
            bits.filter(|bit| self.bytes[bit / 8] >> (bit % 8) & 1 != 0).count()
        };
        let end = self.start + self.rows;
        self.rows - (ones - outside(0..self.start) - outside(end..8 * self.bytes.len()))
    }
}

/// A boolean for each of `shape`'s elements, in row-major order: false if any level marks it as
/// null. Copies, and counts, a byte for each.
pub(super) fn mask(levels: &[ValidityBits<'_>], shape: &[usize]) -> Result<DArray> {
    let layout = Layout::contiguous(shape, 1, Order::RowMajor)?;
    let mut valid = Vec::new();
    // Elements without bytes may outnumber the bytes of memory.
    valid.try_reserve_exact(layout.len()).map_err(|_| Error::out_of_memory(layout.len(), 1))?;
    valid.resize(layout.len(), 1u8);
    for level in levels.iter().filter(|_| !layout.is_empty()) {
        for (row, elements) in valid.chunks_exact_mut(layout.len() / level.rows).enumerate() {
            if !level.is_valid(row) {
                elements.fill(0);
            }
        }
    }
    count_copied(valid.len());
    DArray::from_buffer(Buffer::from_vec(valid)?, DType::BOOL, layout, 0)
}

/// A bitmap to export, which marks at least one element as null.
pub(super) struct Nulls {
    pub(super) bits: Buffer,
    pub(super) count: usize,
}

impl Nulls {
    /// The bitmap of a mask, in row-major order of its indices; `None` if all of it is true.
    /// Copies, and counts, a byte for each element.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_conflict` while another party holds Write of the mask; `is_place`.
    pub(super) fn of(mask: &DArray) -> Result<Option<Self>> {
        let copy = mask.to_order(Order::RowMajor)?;
        let mut bits = BitmapBuilder::with_capacity(copy.len())?;
        for &byte in copy.buffer()?.0.read()?.iter() {
            bits.append(byte != 0)?;
        }
        Ok(Self::built(bits))
    }

    /// The bitmap of contiguous dates or durations; `None` if all of them are a time. Reads the
    /// elements once. If one is not a time, copies, and counts, a byte for eight.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_conflict` while there is a Write lease of the array; `is_place`.
    pub(super) fn of_times(array: &DArray) -> Result<Option<Self>> {
        if array.is_empty() {
            return Ok(None);
        }
        let memory = array.buffer()?.0.read()?;
        let (counts, _) = memory.as_chunks::<8>();
        if counts.iter().all(is_time) {
            return Ok(None);
        }
        let mut bits = BitmapBuilder::with_capacity(counts.len())?;
        for count in counts {
            bits.append(is_time(count))?;
        }
        count_copied(counts.len().div_ceil(8));
        Ok(Self::built(bits))
    }

    fn built(bits: BitmapBuilder) -> Option<Self> {
        let count = bits.count_false();
        let (bits, _) = bits.finish();
        (count > 0).then_some(Self { bits, count })
    }

    /// Combines two bitmaps of `len` elements: an element is null if either marks it so.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub(super) fn or(self, other: Self, len: usize) -> Result<Self> {
        let (one, other) = (self.bits.read()?, other.bits.read()?);
        let both: Vec<u8> = one.iter().zip(other.iter()).map(|(one, other)| one & other).collect();
        let valid = |index: &usize| both[index / 8] >> (index % 8) & 1 != 0;
        let count = (0..len).filter(|index| !valid(index)).count();
        Ok(Self { bits: Buffer::from_vec(both)?, count })
    }
}

fn is_time(count: &[u8; 8]) -> bool {
    i64::from_ne_bytes(*count) != NAT
}

/// Whether every element that a level marks as null is also not a time as a number, so that the
/// dtype itself expresses it. `times` are dates or durations, `levels` the bitmaps above them.
pub(super) fn nulls_are_no_times(levels: &[ValidityBits<'_>], times: &[u8]) -> bool {
    let (counts, _) = times.as_chunks::<8>();
    if counts.is_empty() {
        return false;
    }
    // There are elements, so every level has rows.
    levels.iter().all(|level| {
        let rows = counts.chunks_exact(counts.len() / level.rows);
        rows.enumerate().all(|(row, counts)| level.is_valid(row) || !counts.iter().any(is_time))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_testkit::seed;

    #[test]
    fn nulls_are_counted_between_any_two_bits() {
        let mut random = fastrand::Rng::with_seed(seed());
        let bytes: Vec<u8> = (0..40).map(|_| random.u8(..)).collect();
        for start in 0..70 {
            for rows in 0..200 {
                // SAFETY: the vector holds 320 bits, of which at most the first 269 are read, and
                // it stays unchanged while `bits` lives.
                let bits = unsafe { ValidityBits::new(bytes.as_ptr(), start, rows) };
                let is_valid = |row: usize| bytes[(start + row) / 8] & 1 << ((start + row) % 8) != 0;
                assert_eq!(bits.nulls(), (0..rows).filter(|&row| !is_valid(row)).count());
                assert!((0..rows).all(|row| bits.is_valid(row) == is_valid(row)));
            }
        }
    }

    #[test]
    fn an_element_is_valid_where_no_level_says_that_it_is_null() {
        static ROWS: [u8; 1] = [0b10];
        static ELEMENTS: [u8; 1] = [0b0101_1101];
        // SAFETY: the static byte is constant and holds 8 bits, of which the first 2 are read.
        let rows = unsafe { ValidityBits::new(ROWS.as_ptr(), 0, 2) };
        // SAFETY: the static byte is constant and holds 8 bits, of which 6 from the second on are
        // read.
        let elements = unsafe { ValidityBits::new(ELEMENTS.as_ptr(), 1, 6) };
        let mask = mask(&[rows, elements], &[2, 3]).unwrap();
        let valid = (0..6).map(|i| mask.get(&[i / 3, i % 3]).unwrap().as_bool().unwrap());
        assert!(valid.eq([false, false, false, true, false, true]));
    }
}
