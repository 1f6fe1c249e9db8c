//! FlatBuffers, read: the encoding of the metadata. Source: the FlatBuffers internals, and Arrow's
//! `Message.fbs`, `Schema.fbs` and `File.fbs` as of Arrow 26.
//!
//! Each access checks its range, so that untrusted bytes need no verification beforehand.
//! References lead to greater offsets only, so they cannot form a cycle; callers count what they
//! visit, since two references may lead to the same table.

use crate::error::{Error, Kind, Result};

/// A table in the bytes of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    vtable: &'a [u8],
}

/// Elements of one size, or references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<'a> {
    bytes: &'a [u8],
    start: usize,
    len: usize,
}

/// `N` bytes at an offset.
fn load<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let found = bytes.get(at..).and_then(|from| from.first_chunk());
    found.copied().ok_or_else(|| beyond(at, N, bytes.len()))
}

/// The target of a reference at `at`.
fn target(bytes: &[u8], at: usize) -> Result<usize> {
    let distance = u32::from_le_bytes(load(bytes, at)?) as usize;
    // Both are less than 2³³.
    match distance {
        0 => Err(malformed(format!("a reference at byte {at} of its metadata leads to itself"))),
        _ => Ok(at + distance),
    }
}

impl<'a> Table<'a> {
    /// The table to which the first bytes refer.
    pub(super) fn root(bytes: &'a [u8]) -> Result<Self> {
        Self::at(bytes, target(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Result<Self> {
        let distance = i64::from(i32::from_le_bytes(load(bytes, at)?));
        let start = usize::try_from(at as i64 - distance).map_err(|_| beyond(at, 2, bytes.len()))?;
        let len = usize::from(u16::from_le_bytes(load(bytes, start)?));
        let vtable = bytes.get(start..start + len).filter(|_| len >= 4);
        Ok(Self { bytes, at, vtable: vtable.ok_or_else(|| beyond(start, len, bytes.len()))? })
    }

    /// The offset of a field; `None` if it has its default.
    fn field(&self, slot: usize) -> Option<usize> {
        let offset = u16::from_le_bytes(*self.vtable.get(4 + 2 * slot..)?.first_chunk()?);
        (offset != 0).then(|| self.at + usize::from(offset))
    }

    fn scalar<const N: usize>(&self, slot: usize) -> Result<Option<[u8; N]>> {
        self.field(slot).map(|at| load(self.bytes, at)).transpose()
    }

    pub(super) fn u8(&self, slot: usize) -> Result<u8> {
        Ok(self.scalar(slot)?.map_or(0, u8::from_le_bytes))
    }

    pub(super) fn bool(&self, slot: usize) -> Result<bool> {
        Ok(self.u8(slot)? != 0)
    }

    pub(super) fn i16(&self, slot: usize, default: i16) -> Result<i16> {
        Ok(self.scalar(slot)?.map_or(default, i16::from_le_bytes))
    }

    pub(super) fn i32(&self, slot: usize, default: i32) -> Result<i32> {
        Ok(self.scalar(slot)?.map_or(default, i32::from_le_bytes))
    }

    pub(super) fn i64(&self, slot: usize) -> Result<i64> {
        Ok(self.scalar(slot)?.map_or(0, i64::from_le_bytes))
    }

    pub(super) fn table(&self, slot: usize) -> Result<Option<Table<'a>>> {
        let Some(at) = self.field(slot) else { return Ok(None) };
        Table::at(self.bytes, target(self.bytes, at)?).map(Some)
    }

    /// Elements of `size` bytes each; none if the field is missing.
    pub(super) fn vector(&self, slot: usize, size: usize) -> Result<Vector<'a>> {
        let Some(at) = self.field(slot) else { return Ok(Vector { bytes: &[], start: 0, len: 0 }) };
        let at = target(self.bytes, at)?;
        let len = u32::from_le_bytes(load(self.bytes, at)?) as usize;
        let nbytes = len.checked_mul(size).ok_or_else(|| beyond(at, usize::MAX, self.bytes.len()))?;
        match self.bytes.len().checked_sub(at + 4).is_some_and(|rest| nbytes <= rest) {
            true => Ok(Vector { bytes: self.bytes, start: at + 4, len }),
            false => Err(beyond(at + 4, nbytes, self.bytes.len())),
        }
    }

    /// Text or other bytes; `None` if the field is missing.
    pub(super) fn bytes(&self, slot: usize) -> Result<Option<&'a [u8]>> {
        if self.field(slot).is_none() {
            return Ok(None);
        }
        let vector = self.vector(slot, 1)?;
        Ok(Some(&vector.bytes[vector.start..vector.start + vector.len]))
    }

    /// References to tables.
    pub(super) fn tables(&self, slot: usize) -> Result<impl ExactSizeIterator<Item = Result<Table<'a>>>> {
        let vector = self.vector(slot, 4)?;
        Ok((0..vector.len).map(move |k| Table::at(vector.bytes, target(vector.bytes, vector.start + 4 * k)?)))
    }
}

impl<'a> Vector<'a> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The elements, of as many bytes as the vector was asked for.
    pub(super) fn elements<const N: usize>(self) -> impl ExactSizeIterator<Item = &'a [u8; N]> {
        let bytes = self.bytes.get(self.start..).unwrap_or_default();
        bytes.as_chunks().0[..self.len].iter()
    }
}

/// A signed number of eight bytes in a struct.
pub(super) fn number(bytes: &[u8], at: usize) -> i64 {
    bytes.get(at..).and_then(|from| from.first_chunk()).map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

#[cold]
fn beyond(at: usize, nbytes: usize, len: usize) -> Error {
    malformed(format!("{nbytes} bytes at byte {at} of its metadata are beyond their {len} bytes"))
}

#[cold]
pub(super) fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}

#[cold]
pub(super) fn unsupported(text: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, text)
}
