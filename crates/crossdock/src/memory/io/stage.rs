//! A block of host memory through which bytes pass that cannot be shown where they are.

use crate::error::Result;
use crate::memory::buffer::Buffer;
use crate::memory::copied::count_copied;

/// The size of a block, in bytes, for memory that the processor addresses but others may write.
pub(super) const HOST_NBYTES: usize = 64 << 10;

/// Some bytes of a stream, as they were at one moment. The block is had when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Stage {
    block: Option<Buffer>,
    /// The position in the stream of the first byte, and how many there are.
    start: usize,
    nbytes: usize,
}

impl Stage {
    /// The bytes from a position of the stream on, none where they are not here.
    pub(super) fn bytes_from(&mut self, position: usize) -> Result<&[u8]> {
        let skipped = position.checked_sub(self.start).filter(|&skipped| skipped < self.nbytes);
        match (&mut self.block, skipped) {
            (Some(block), Some(skipped)) => Ok(&block.as_mut_slice()?[skipped..self.nbytes]),
            _ => Ok(&[]),
        }
    }

    /// Lets `fill` write `nbytes` bytes that stand at a position of the stream. What was here is gone, also after an error. Counts them.
    pub(super) fn fill(
        &mut self,
        position: usize,
        nbytes: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        self.discard();
        if self.block.as_ref().is_none_or(|block| block.nbytes() < nbytes) {
            self.block = Some(Buffer::zeroed(nbytes)?);
        }
        let Some(block) = &mut self.block else { return Ok(()) };
        fill(&mut block.as_mut_slice()?[..nbytes])?;
        count_copied(nbytes);
        (self.start, self.nbytes) = (position, nbytes);
        Ok(())
    }

    pub(super) fn discard(&mut self) {
        self.nbytes = 0;
    }
}
