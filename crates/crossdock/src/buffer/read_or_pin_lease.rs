//! The best lease for reading a buffer's bytes.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::buffer::guard::{PinGuard, ReadGuard};
use crate::error::Result;
use crate::memory::{Birth, LeaseKind};

/// A Read lease, for bytes that are constant, or a Pin lease, for racy loads.
#[derive(Debug)]
pub(crate) enum ReadOrPinLease {
    Constant(ReadGuard),
    Changing(PinGuard),
}

impl ReadOrPinLease {
    /// Takes a Read lease or, where that is refused, a Pin lease. Errors as [`Buffer::pin`].
    pub(crate) fn at(buffer: &Buffer) -> Result<Self> {
        if buffer.birth() != Birth::Aliased {
            match buffer.read() {
                Ok(guard) => return Ok(Self::Constant(guard)),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
        buffer.pin().map(Self::Changing)
    }

    pub(crate) fn kind(&self) -> LeaseKind {
        match self {
            Self::Constant(_) => LeaseKind::Read,
            Self::Changing(_) => LeaseKind::Pin,
        }
    }

    /// Some of the bytes: zero-copy, or copied to `room`, which must be large enough. Not counted.
    pub(crate) fn bytes<'a>(&'a self, range: Range<usize>, room: &'a mut [u8]) -> Result<&'a [u8]> {
        match self {
            Self::Constant(guard) => Ok(&guard[range]),
            Self::Changing(guard) => {
                let room = &mut room[..range.len()];
                guard.copy_out(range.start, room)?;
                Ok(room)
            }
        }
    }

    /// Copies bytes from an offset on, which must have as many, to `dst`. Not counted.
    pub(crate) fn copy_out(&self, offset: usize, dst: &mut [u8]) -> Result<()> {
        match self {
            Self::Constant(guard) => {
                dst.copy_from_slice(&guard[offset..offset + dst.len()]);
                Ok(())
            }
            Self::Changing(guard) => guard.copy_out(offset, dst),
        }
    }
}
