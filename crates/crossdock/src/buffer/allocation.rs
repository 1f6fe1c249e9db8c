//! Exclusive buffers as allocations, and back.

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Rejected, Result};
use crate::memory::Allocation;

impl Buffer {
    /// # Errors
    ///
    /// `is_conflict` while anything but this handle keeps the memory alive, `is_bounds` where the
    /// buffer covers only a part of it, `is_read_only`.
    fn check_only_and_whole(&mut self) -> Result<()> {
        self.handle_mut().only_handle()?;
        self.mutable_address()?;
        let whole = self.header().nbytes();
        if self.nbytes() == whole {
            return Ok(());
        }
        Err(Error::new(
            Kind::Bounds,
            format!("the buffer covers {} of the {whole} bytes of its memory", self.nbytes()),
        ))
    }
}

impl From<Allocation> for Buffer {
    fn from(allocation: Allocation) -> Self {
        Self::whole(allocation.into_handle())
    }
}

impl TryFrom<Buffer> for Allocation {
    type Error = Rejected<Buffer>;

    /// `is_conflict` while anything but this handle keeps the memory alive, `is_bounds` where the
    /// buffer covers only a part of it, `is_read_only`.
    fn try_from(mut buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        match buffer.check_only_and_whole() {
            Ok(()) => Ok(Self::of(buffer.into_parts().0)),
            Err(error) => Err(Rejected { value: buffer, error }),
        }
    }
}
