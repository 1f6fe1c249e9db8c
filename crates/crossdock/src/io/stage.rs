//! A block of host memory through which bytes pass that the processor cannot be shown where they
//! are, or cannot reach there.

use crate::buffer::Buffer;
use crate::error::Result;

/// The size of a block, in bytes, for memory that the processor addresses but others may write.
pub(super) const HOST_NBYTES: usize = 64 << 10;

/// The size of a block, in bytes, for memory of a device: a copy from or to it takes long to begin.
pub(super) const DEVICE_NBYTES: usize = 1 << 20;

/// Some bytes of a stream: as they were at one moment, or as they are to be. The block is had when
/// it is first needed.
///
/// The caller that fills or empties the block counts what is copied.
#[derive(Debug, Default)]
pub(super) struct Stage {
    block: Option<Buffer>,
    /// The position in the stream of the first byte, and how many there are.
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

    /// The bytes from a position of the stream on, none where they are not here.
    pub(super) fn bytes_from(&mut self, position: usize) -> Result<&[u8]> {
        let skipped = position.checked_sub(self.start).filter(|&skipped| skipped < self.nbytes);
        match (&mut self.block, skipped) {
            (Some(block), Some(skipped)) => Ok(&block.as_mut_slice()?[skipped..self.nbytes]),
            _ => Ok(&[]),
        }
    }

    /// Lets `fill` put `nbytes` bytes, which stand at a position of the stream, into a buffer of as
    /// many. What was here is gone, also after an error.
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

    /// Keeps bytes that are to stand at a position of the stream until they are flushed. `false`:
    /// there are others, on which they do not follow or beside which there is no room in a block of
    /// `limit` bytes.
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

    /// Copies what is kept to where it belongs. After an error it is kept still.
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

/// Copies bytes of a buffer on a device, from a position on that has as many, by blocks.
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
