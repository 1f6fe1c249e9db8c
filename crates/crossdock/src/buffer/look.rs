//! A lease for looking at a buffer's bytes, whichever can be had.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::buffer::guard::{PinGuard, ReadGuard};
use crate::error::Result;
use crate::memory::{Birth, LeaseKind};

/// The bytes in place where nobody writes them, else racily.
#[derive(Debug)]
pub(crate) enum Look {
    Constant(ReadGuard),
    Changing(PinGuard),
}

impl Look {
    /// Errors as [`Buffer::pin`]: where a Read lease cannot be had, a Pin lease will do.
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

    /// Some of the bytes: in place, or copied to `room`, which has as much room. Not counted.
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

    /// Copies bytes out, from an offset on that has as many. Not counted.
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
