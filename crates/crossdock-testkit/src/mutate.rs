//! Damaged inputs.

use fastrand::Rng;

/// Changes a few of the bytes, most often near the beginning, and may add and remove some.
pub fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.usize(1..=4) {
        if bytes.is_empty() {
            return;
        }
        // Headers are at the beginning, or at the end.
        let near = bytes.len().min([64, 512, usize::MAX][rng.usize(..3)]);
        let at = if rng.u8(..4) == 0 { bytes.len() - 1 - rng.usize(..near) } else { rng.usize(..near) };
        match rng.u8(..8) {
            0 => bytes[at] ^= 1 << rng.u8(..8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][rng.usize(..5)],
            2 => bytes[at] = b'0' + rng.u8(..10),
            3 => bytes.truncate(at),
            4 => {
                let end = (at + rng.usize(1..64)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = rng.usize(..=bytes.len());
                bytes.splice(to..to, piece);
            }
            5 => drop(bytes.drain(at..(at + rng.usize(1..16)).min(bytes.len()))),
            _ => {
                let number = [0, u64::MAX, 1 << 31, 1 << 40, rng.u64(..)][rng.usize(..5)];
                let count = [2, 4, 8][rng.usize(..3)].min(bytes.len() - at);
                let little = number.to_le_bytes();
                bytes[at..at + count].copy_from_slice(&little[..count]);
            }
        }
    }
}
