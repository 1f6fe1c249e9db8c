//! One number for all bytes of an array, in order.

use crossdock::DArray;
use crossdock::view::{MemoryView, Request};

use crate::failure::Result;

/// The sum of each byte times its position in row-major order, counted from 1, modulo 2^64. Swapped
/// elements change it, and every consumer can compute it for any dtype.
#[derive(Debug, Default)]
pub(super) struct Checksum {
    sum: u64,
    position: u64,
}

impl Checksum {
    /// Adds the next bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.position += 1;
            self.sum = self.sum.wrapping_add(self.position.wrapping_mul(byte.into()));
        }
    }

    /// The sum so far.
    pub(super) fn finish(self) -> u64 {
        self.sum
    }

    /// The checksum of all elements of a view, some kibibytes at a time.
    pub(super) fn of_view(view: &MemoryView) -> Result<u64> {
        let (mut checksum, mut chunks) = (Self::default(), view.chunks()?);
        while let Some(bytes) = chunks.next_chunk() {
            checksum.add(bytes);
        }
        Ok(checksum.finish())
    }

    /// The checksum of all elements of an array, without a copy.
    pub(super) fn of(array: &DArray) -> Result<u64> {
        Self::of_view(&crossdock::view(array, Request::pin())?)
    }
}

#[cfg(test)]
mod tests {
    use crossdock::Array;

    use super::*;

    #[test]
    fn it_is_each_byte_times_its_position_whatever_the_strides() {
        let numbers: Vec<u32> = (0..7 * 11 * 13).map(|n: u32| n.wrapping_mul(2_654_435_761)).collect();
        let whole = DArray::from(Array::from_vec(numbers, [7, 11, 13]).unwrap());
        for expr in ["", "::-2", ":, ::-3, 4:", "..., 0", "3, ::-1, ::-1", "2:2", "1, 2, 3"] {
            let view = whole.at(expr).unwrap().transpose().unwrap();
            let bytes = view.export(&Request::pin()).unwrap().to_bytes().unwrap();
            let naive: u64 = bytes.iter().zip(1..).map(|(&byte, position)| u64::from(byte) * position).sum();
            assert_eq!(Checksum::of(&view).unwrap(), naive, "{expr:?}");
        }
    }

    #[test]
    fn elements_that_changed_places_change_it() {
        let of = |bytes: [u8; 4]| {
            let mut checksum = Checksum::default();
            checksum.add(&bytes);
            checksum.finish()
        };
        assert_eq!(of([1, 2, 3, 4]), 30);
        assert_ne!(of([1, 2, 3, 4]), of([2, 1, 3, 4]));
        assert_ne!(of([1, 2, 3, 4]), of([4, 3, 2, 1]));
    }
}
