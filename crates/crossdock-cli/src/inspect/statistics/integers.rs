//! Sums of integers of up to 64 bits, including dates and durations.

use crossdock::element::{ByteOrder, NAT, ScalarKind, Value};

use crate::inspect::statistics::moments::Moments;

#[derive(Debug, Default)]
pub(super) struct Integers {
    pub(super) count: u64,
    pub(super) nat: u64,
    pub(super) zeros: u64,
    pub(super) range: Option<(i128, i128)>,
    pub(super) sum: i128,
    pub(super) moments: Moments,
}

/// So few values that their sums do not overflow.
const BLOCK: usize = 1 << 12;

/// Adds packed integers of a type, in sums of another type that a block cannot overflow.
macro_rules! narrow {
    ($tally:ident, $bytes:ident, $order:ident, $ty:ty, $sum:ty, $squares:ty) => {
        for words in $bytes.as_chunks().0.chunks(BLOCK) {
            let (mut least, mut greatest, mut zeros) = (<$ty>::MAX, <$ty>::MIN, 0u32);
            let (mut sum, mut squares) = (0 as $sum, 0 as $squares);
            for &word in words {
                let value = match $order {
                    ByteOrder::Little => <$ty>::from_le_bytes(word),
                    ByteOrder::Big => <$ty>::from_be_bytes(word),
                };
                least = least.min(value);
                greatest = greatest.max(value);
                zeros += u32::from(value == 0);
                sum += value as $sum;
                squares += value as $squares * value as $squares;
            }
            let squares = i128::from(squares);
            $tally.add_narrow(words.len(), zeros, (least.into(), greatest.into()), sum.into(), squares);
        }
    };
}

/// As `narrow`, for 16 bits: squares are added in two halves, since vectors of sums of 64 bits are
/// half as long.
macro_rules! halves {
    ($tally:ident, $bytes:ident, $order:ident, $ty:ty, $sum:ty) => {
        for words in $bytes.as_chunks().0.chunks(BLOCK) {
            let (mut least, mut greatest, mut zeros) = (<$ty>::MAX, <$ty>::MIN, 0u32);
            let (mut sum, mut low, mut high) = (0 as $sum, 0u32, 0u32);
            for &word in words {
                let value = match $order {
                    ByteOrder::Little => <$ty>::from_le_bytes(word),
                    ByteOrder::Big => <$ty>::from_be_bytes(word),
                };
                least = least.min(value);
                greatest = greatest.max(value);
                zeros += u32::from(value == 0);
                sum += value as $sum;
                let square = (value as $sum * value as $sum) as u32;
                low += square & 0xffff;
                high += square >> 16;
            }
            let squares = i128::from((u64::from(high) << 16) + u64::from(low));
            $tally.add_narrow(words.len(), zeros, (least.into(), greatest.into()), sum.into(), squares);
        }
    };
}

/// As `narrow`, with squares of differences as floats.
macro_rules! wide {
    ($tally:ident, $bytes:ident, $order:ident, $ty:ty, $sum:ty) => {
        for words in $bytes.as_chunks().0.chunks(BLOCK) {
            let decode = |word| match $order {
                ByteOrder::Little => <$ty>::from_le_bytes(word),
                ByteOrder::Big => <$ty>::from_be_bytes(word),
            };
            let origin = decode(words[0]) as f64;
            let (mut least, mut greatest, mut zeros, mut sum) = (<$ty>::MAX, <$ty>::MIN, 0u32, 0 as $sum);
            let mut lanes = [(0.0, 0.0); 4];
            for group in words.chunks(4) {
                for (&word, lane) in group.iter().zip(&mut lanes) {
                    let value = decode(word);
                    least = least.min(value);
                    greatest = greatest.max(value);
                    zeros += u32::from(value == 0);
                    sum += value as $sum;
                    let distance = value as f64 - origin;
                    *lane = (lane.0 + distance, lane.1 + distance * distance);
                }
            }
            let distances = lanes.iter().map(|lane| lane.0).sum();
            let squares = lanes.iter().map(|lane| lane.1).sum();
            let count = words.len() as u64;
            $tally.add_block(count, zeros.into(), (least.into(), greatest.into()), sum.into());
            $tally.moments.merge(Moments::of(count, origin, distances, squares));
        }
    };
}

impl Integers {
    /// Adds packed integers of this kind.
    #[inline(always)]
    pub(super) fn add(&mut self, bytes: &[u8], kind: ScalarKind, order: ByteOrder) {
        match kind {
            ScalarKind::Int8 => narrow!(self, bytes, order, i8, i32, i32),
            ScalarKind::UInt8 => narrow!(self, bytes, order, u8, u32, u32),
            ScalarKind::Int16 => halves!(self, bytes, order, i16, i32),
            ScalarKind::UInt16 => halves!(self, bytes, order, u16, u32),
            ScalarKind::Int32 => wide!(self, bytes, order, i32, i64),
            ScalarKind::UInt32 => wide!(self, bytes, order, u32, u64),
            ScalarKind::Int64 => wide!(self, bytes, order, i64, i128),
            ScalarKind::UInt64 => wide!(self, bytes, order, u64, i128),
            // Dates and durations.
            _ => {
                for &word in bytes.as_chunks().0 {
                    let count = match order {
                        ByteOrder::Little => i64::from_le_bytes(word),
                        ByteOrder::Big => i64::from_be_bytes(word),
                    };
                    match count {
                        NAT => self.nat += 1,
                        count => self.add_block(1, u64::from(count == 0), (count.into(), count.into()), 0),
                    }
                }
            }
        }
    }

    /// Adds a block with the exact sum of its squares.
    #[inline(always)]
    pub(super) fn add_narrow(
        &mut self,
        len: usize,
        zeros: u32,
        range: (i128, i128),
        sum: i128,
        squares: i128,
    ) {
        let count = len as u64;
        self.add_block(count, zeros.into(), range, sum);
        // Exact, until it is rounded once.
        let (numbers, total) = (count as f64, sum as f64);
        let distances = (i128::from(count) * squares - sum * sum) as f64 / numbers;
        let block = Moments::of(count, 0.0, total, distances + total / numbers * total);
        self.moments.merge(block);
    }

    #[inline(always)]
    pub(super) fn add_block(&mut self, count: u64, zeros: u64, (least, greatest): (i128, i128), sum: i128) {
        let (low, high) = self.range.unwrap_or((least, greatest));
        self.range = Some((low.min(least), high.max(greatest)));
        self.count += count;
        self.zeros += zeros;
        self.sum += sum;
    }

    pub(super) fn merge(&mut self, other: Self) {
        if let Some(range) = other.range {
            self.add_block(other.count, other.zeros, range, other.sum);
        }
        self.nat += other.nat;
        self.moments.merge(other.moments);
    }

    /// A value of this kind.
    pub(super) fn value(kind: ScalarKind, number: i128) -> Value {
        match (kind, i64::try_from(number)) {
            (ScalarKind::DateTime(unit), Ok(count)) => Value::DateTime { count, unit },
            (ScalarKind::TimeDelta(unit), Ok(count)) => Value::TimeDelta { count, unit },
            (_, Ok(count)) => Value::Int(count),
            // Only a `u64` is too large for an `i64`.
            (_, Err(_)) => Value::UInt(number as u64),
        }
    }
}
