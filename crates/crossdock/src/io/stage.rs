//! A block of host memory that stages bytes which the CPU cannot borrow or address where they are.

use crate::buffer::Buffer;
use crate::error::Result;

/// The size of a block, in bytes, for host memory that another holder may write.
pub(super) const HOST_NBYTES: usize = 64 << 10;

/// The size of a block, in bytes, for memory of a device, where starting a copy takes long.
pub(super) const DEVICE_NBYTES: usize = 1 << 20;

/// Some bytes of a stream: a copy of them, or bytes still to be written. The block is allocated on
/// first use.
///
/// The caller that fills or empties the block counts the copies.
#[derive(Debug, Default)]
pub(super) struct Stage {
    block: Option<Buffer>,
    /// The position of the first byte in the stream, and the number of bytes.
    start: usize,
    nbytes: usize,
}

impl Stage {
    fn block(&mut self, nbytes: usize) -> Result<&mut Buffer> {
        let block = match self.block.take() {
            Some(block) if block.nbytes() >= nbytes => block,
            _ => Buffer::zeroed(nbytes)?,
        };
        Ok(self.block.insert(block))
    }

    /// The staged bytes from a position of the stream on; empty if that position is not staged.
    pub(super) fn bytes_from(&mut self, position: usize) -> Result<&[u8]> {
        let skipped = position.checked_sub(self.start).filter(|&skipped| skipped < self.nbytes);
        match (&mut self.block, skipped) {
            (Some(block), Some(skipped)) => Ok(&block.as_mut_slice()?[skipped..self.nbytes]),
            _ => Ok(&[]),
        }
    }

    /// Calls `fill` with a buffer for the `nbytes` bytes at a position of the stream. Discards the
    /// staged bytes, even after an error.
    pub(super) fn fill(
        &mut self,
        position: usize,
        nbytes: usize,
        fill: impl FnOnce(&Buffer) -> Result<()>,
    ) -> Result<()> {
        self.discard();
        let room = self.block(nbytes)?.slice(..nbytes)?;
        fill(&room)?;
        (self.start, self.nbytes) = (position, nbytes);
        Ok(())
    }

    /// Stages bytes for a position of the stream until they are flushed. Returns `false` if they do
    /// not follow the staged bytes, or do not fit a block of `limit` bytes with them.
    pub(super) fn keep(&mut self, position: usize, src: &[u8], limit: usize) -> Result<bool> {
        let kept = self.nbytes;
        let follows = kept == 0 || self.start + kept == position;
        if !follows || src.len() > limit - kept {
            return Ok(false);
        }
        if !src.is_empty() {
            self.block(limit)?.as_mut_slice()?[kept..kept + src.len()].copy_from_slice(src);
            (self.start, self.nbytes) = (position - kept, kept + src.len());
        }
        Ok(true)
    }

    /// Writes the staged bytes to the buffer. After an error they stay staged.
    pub(super) fn flush_into(&mut self, buffer: &Buffer) -> Result<()> {
        if let (Some(block), 1..) = (&self.block, self.nbytes) {
            block.slice(..self.nbytes)?.copy_into(&buffer.slice(self.start..self.start + self.nbytes)?)?;
            self.discard();
        }
        Ok(())
    }

    pub(super) fn discard(&mut self) {
        self.nbytes = 0;
    }
}

/// Copies bytes of a buffer on a device to `dst`, block by block, from a position on that has as
/// many.
pub(super) fn copy_from_device(buffer: &Buffer, at: usize, dst: &mut [u8]) -> Result<()> {
    let block = Buffer::zeroed(dst.len().min(DEVICE_NBYTES))?;
    let mut at = at;
    for dst in dst.chunks_mut(DEVICE_NBYTES) {
        let part = block.slice(..dst.len())?;
        buffer.slice(at..at + dst.len())?.copy_into(&part)?;
        dst.copy_from_slice(&part.read()?);
        at += dst.len();
    }
    Ok(())
}
