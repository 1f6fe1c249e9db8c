//! Elements of fewer than 8 bits: contiguous in a file, one per byte in memory.

use std::io::Read;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::Result;
use crate::exchange::files::contents::Encoded;
use crate::exchange::files::pinned_reader::{PinnedReader, decode_error};
use crate::layout::Layout;
use crate::memory::count_copied;

/// A multiple of 3 bytes, which holds a whole number of elements of 4 or 6 bits.
const CHUNK: usize = 3 << 14;

/// A tensor that must be unpacked.
pub(super) struct Packed {
    pub(super) bytes: Buffer,
    pub(super) bits: usize,
    pub(super) dtype: DType,
    /// Invariant 1: one byte per element, for as many elements as `bytes` holds.
    pub(super) layout: Layout,
}

impl Encoded for Packed {
    fn what(&self) -> &'static str {
        "packed"
    }

    fn decode(&self) -> Result<DArray> {
        let mut stream = PinnedReader::new(&self.bytes)?;
        let mut buffer = Buffer::zeroed(self.layout.nbytes())?;
        let mut packed = vec![0; CHUNK.min(self.bytes.nbytes())];
        for chunk in buffer.as_mut_slice()?.chunks_mut(CHUNK / self.bits * 8) {
            let packed = &mut packed[..chunk.len() * self.bits / 8];
            stream.read_exact(packed).map_err(|error| decode_error(error, |said| said))?;
            unpack(packed, self.bits, chunk);
        }
        count_copied(buffer.nbytes());
        DArray::from_buffer(buffer, self.dtype.clone(), self.layout.clone(), 0)
    }

    /// The format has no checksum, and any bits are valid elements.
    fn verify(&self) -> Result<()> {
        Ok(())
    }
}

/// Unpacks elements; the first one is in the lowest bits.
fn unpack(packed: &[u8], bits: usize, elements: &mut [u8]) {
    let (mut held, mut count, mut bytes) = (0u32, 0, packed.iter());
    for element in elements {
        if count < bits {
            held |= u32::from(*bytes.next().unwrap_or(&0)) << count;
            count += 8;
        }
        *element = (held & ((1 << bits) - 1)) as u8;
        held >>= bits;
        count -= bits;
    }
}

/// The inverse of `unpack`; the bits above an element are dropped.
pub(super) fn pack(elements: &[u8], bits: usize) -> Vec<u8> {
    let mut packed = Vec::with_capacity(elements.len() * bits / 8);
    let (mut held, mut count) = (0u32, 0);
    for &element in elements {
        held |= (u32::from(element) & ((1 << bits) - 1)) << count;
        count += bits;
        if count >= 8 {
            packed.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back_from_their_bits() {
        assert_eq!(pack(&[1, 2, 0xf, 0], 4), [0x21, 0x0f]);
        assert_eq!(pack(&[0b10_0001, 0b11_1111, 0, 0b10_0000], 6), [0b1110_0001, 0b0000_1111, 0b1000_0000]);
        for bits in [4, 6] {
            let elements: Vec<u8> =
                (0..4000u32).map(|n| n.wrapping_mul(2_654_435) as u8 & ((1 << bits) - 1)).collect();
            let mut back = vec![0xff; elements.len()];
            unpack(&pack(&elements, bits), bits, &mut back);
            assert_eq!(back, elements);
        }
    }
}
