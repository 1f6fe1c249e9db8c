//! Integers of a buffer, loaded by value: offsets, sizes, indices, run ends, identifiers.
//!
//! Other owners may write the memory between two loads, so callers check each value that they use.

use std::ops::Range;

use crate::buffer::{Buffer, ReadOrPinLease};
use crate::element::{DType, ScalarKind};
use crate::error::{Error, Kind, Result};
use crate::table::column_type::OffsetWidth;
use crate::table::constant_offsets::ConstantOffsets;

/// How many integers are loaded at a time.
const BLOCK: usize = 512;

/// The size of an integer in bytes, and whether it has a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntegerKind {
    pub(crate) nbytes: usize,
    signed: bool,
}

impl IntegerKind {
    pub(crate) const I8: Self = Self::signed(1);
    pub(crate) const I32: Self = Self::signed(4);

    const fn signed(nbytes: usize) -> Self {
        Self { nbytes, signed: true }
    }

    /// The integers of a dtype, if they have 8 to 64 bits in native byte order.
    pub(crate) fn of(dtype: &DType) -> Option<Self> {
        let kind = dtype.as_scalar().filter(|_| dtype.is_native())?.kind();
        let (nbytes, signed) = match kind {
            ScalarKind::Int8 => (1, true),
            ScalarKind::Int16 => (2, true),
            ScalarKind::Int32 => (4, true),
            ScalarKind::Int64 => (8, true),
            ScalarKind::UInt8 => (1, false),
            ScalarKind::UInt16 => (2, false),
            ScalarKind::UInt32 => (4, false),
            ScalarKind::UInt64 => (8, false),
            _ => return None,
        };
        Some(Self { nbytes, signed })
    }

    /// The bytes of a value, of which the first `nbytes` count; `None` if this kind does not have
    /// it.
    pub(crate) fn bytes_of(self, value: i64) -> Option<[u8; 8]> {
        let mut bytes = [0; 8];
        let mut put = |native: &[u8]| bytes[..native.len()].copy_from_slice(native);
        match (self.nbytes, self.signed) {
            (1, true) => put(&i8::try_from(value).ok()?.to_ne_bytes()),
            (1, false) => put(&u8::try_from(value).ok()?.to_ne_bytes()),
            (2, true) => put(&i16::try_from(value).ok()?.to_ne_bytes()),
            (2, false) => put(&u16::try_from(value).ok()?.to_ne_bytes()),
            (4, true) => put(&i32::try_from(value).ok()?.to_ne_bytes()),
            (4, false) => put(&u32::try_from(value).ok()?.to_ne_bytes()),
            (_, true) => put(&value.to_ne_bytes()),
            (_, false) => put(&u64::try_from(value).ok()?.to_ne_bytes()),
        }
        Some(bytes)
    }

    /// The values of as many bytes. One loop for each kind, so that none decides for each element.
    fn values(self, bytes: &[u8], values: &mut [i64]) {
        match (self.nbytes, self.signed) {
            (4, true) => {
                let (bytes, _) = bytes.as_chunks::<4>();
                values.iter_mut().zip(bytes).for_each(|(value, x)| *value = i32::from_ne_bytes(*x).into());
            }
            (8, true) => {
                let (bytes, _) = bytes.as_chunks::<8>();
                values.iter_mut().zip(bytes).for_each(|(value, x)| *value = i64::from_ne_bytes(*x));
            }
            (nbytes, _) => {
                let bytes = bytes.chunks_exact(nbytes);
                values.iter_mut().zip(bytes).for_each(|(value, x)| *value = self.value(x));
            }
        }
    }

    /// The value of as many bytes; the greatest one instead of those beyond it.
    fn value(self, bytes: &[u8]) -> i64 {
        match (bytes, self.signed) {
            (&[a], true) => i64::from(a as i8),
            (&[a], false) => i64::from(a),
            (&[a, b], true) => i64::from(i16::from_ne_bytes([a, b])),
            (&[a, b], false) => i64::from(u16::from_ne_bytes([a, b])),
            (&[a, b, c, d], true) => i64::from(i32::from_ne_bytes([a, b, c, d])),
            (&[a, b, c, d], false) => i64::from(u32::from_ne_bytes([a, b, c, d])),
            (&[a, b, c, d, e, f, g, h], true) => i64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            (&[a, b, c, d, e, f, g, h], false) => {
                i64::try_from(u64::from_ne_bytes([a, b, c, d, e, f, g, h])).unwrap_or(i64::MAX)
            }
            _ => 0,
        }
    }
}

impl From<OffsetWidth> for IntegerKind {
    fn from(width: OffsetWidth) -> Self {
        Self::signed(width.nbytes())
    }
}

/// The integers of a buffer, under a lease.
pub(crate) struct Integers {
    lease: ReadOrPinLease,
    kind: IntegerKind,
    len: usize,
}

impl Integers {
    /// The integers from the first byte of a buffer on.
    ///
    /// # Errors
    ///
    /// As [`Buffer::pin`].
    pub(crate) fn at(buffer: &Buffer, kind: impl Into<IntegerKind>) -> Result<Self> {
        let kind = kind.into();
        Ok(Self { lease: ReadOrPinLease::at(buffer)?, kind, len: buffer.nbytes() / kind.nbytes })
    }

    /// One integer. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub(crate) fn get(&self, index: usize) -> Result<i64> {
        if index >= self.len {
            return Err(beyond(index, self.len));
        }
        let (mut room, nbytes) = ([0; 8], self.kind.nbytes);
        self.lease.copy_out(index * nbytes, &mut room[..nbytes])?;
        Ok(self.kind.value(&room[..nbytes]))
    }

    /// Passes on each integer of a range with its index.
    ///
    /// # Errors
    ///
    /// `is_bounds`; that of `each`.
    pub(crate) fn for_each(
        &self,
        range: Range<usize>,
        mut each: impl FnMut(usize, i64) -> Result<()>,
    ) -> Result<()> {
        let mut room = [0; BLOCK];
        for start in range.clone().step_by(BLOCK) {
            let block = &mut room[..BLOCK.min(range.end - start)];
            self.load(start, block)?;
            for (k, &value) in block.iter().enumerate() {
                each(start + k, value)?;
            }
        }
        Ok(())
    }

    /// Offsets, in place; `None` beyond the buffer, and where another party may write them.
    pub(crate) fn in_memory(&self, range: Range<usize>) -> Option<ConstantOffsets<'_>> {
        let ReadOrPinLease::Constant(guard) = &self.lease else { return None };
        let width = if self.kind.nbytes == 4 { OffsetWidth::I32 } else { OffsetWidth::I64 };
        let bytes = guard.get(range.start * self.kind.nbytes..range.end * self.kind.nbytes)?;
        Some(ConstantOffsets::new(bytes, width))
    }

    /// Loads as many integers as `values` has, from an index on.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub(crate) fn load(&self, start: usize, values: &mut [i64]) -> Result<()> {
        let end = start.saturating_add(values.len());
        if end > self.len {
            return Err(beyond(end - 1, self.len));
        }
        let (mut room, nbytes) = ([0; 8 * BLOCK], self.kind.nbytes);
        for (start, values) in (start..end).step_by(BLOCK).zip(values.chunks_mut(BLOCK)) {
            let range = start * nbytes..(start + values.len()) * nbytes;
            self.kind.values(self.lease.bytes(range, &mut room)?, values);
        }
        Ok(())
    }
}

#[cold]
fn beyond(index: usize, len: usize) -> Error {
    Error::new(Kind::Bounds, format!("index {index} is out of bounds for a buffer of {len} integers"))
}
