//! The part that readers and writers share: a position, and the lease that they hold while they are
//! open.
//!
//! Reasons: `DESIGN.md`, "A reader holds a lease while it lives".

use std::io::SeekFrom;

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Rejected, Result};
use crate::io::position;
use crate::io::stage::Stage;

/// A buffer with a position, open under a lease until it is closed. Size and position survive that.
#[derive(Debug)]
pub(super) struct BufferStream<Access> {
    open: Option<OpenBuffer<Access>>,
    /// At most `nbytes`.
    position: usize,
    nbytes: usize,
    /// `reader` or `writer`.
    name: &'static str,
}

/// The buffer, the access to its bytes under the lease, and the staged bytes.
#[derive(Debug)]
pub(super) struct OpenBuffer<Access> {
    pub(super) buffer: Buffer,
    pub(super) access: Access,
    pub(super) stage: Stage,
}

impl<Access> BufferStream<Access> {
    /// Opens the buffer at the first byte, under the lease that `access` takes. The error returns
    /// the buffer.
    pub(super) fn open(
        name: &'static str,
        buffer: Buffer,
        access: impl FnOnce(&Buffer) -> Result<Access>,
    ) -> Result<Self, Rejected<Buffer>> {
        match access(&buffer) {
            Ok(access) => {
                let nbytes = buffer.nbytes();
                let open = Some(OpenBuffer { buffer, access, stage: Stage::default() });
                Ok(Self { open, position: 0, nbytes, name })
            }
            Err(error) => Err(Rejected { value: buffer, error }),
        }
    }

    pub(super) fn opened(&self) -> Result<&OpenBuffer<Access>> {
        self.open.as_ref().ok_or_else(|| closed(self.name))
    }

    pub(super) fn opened_mut(&mut self) -> Result<&mut OpenBuffer<Access>> {
        self.open.as_mut().ok_or_else(|| closed(self.name))
    }

    /// The open buffer; `None` once it is closed.
    pub(super) fn get(&self) -> Option<&OpenBuffer<Access>> {
        self.open.as_ref()
    }

    pub(super) fn nbytes(&self) -> usize {
        self.nbytes
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// How many bytes are left from the position to the end.
    pub(super) fn remaining(&self) -> usize {
        self.nbytes - self.position
    }

    /// Advances the position by bytes that were read or written, at most as many as are left.
    pub(super) fn advance(&mut self, nbytes: usize) {
        self.position += nbytes;
    }

    /// Moves the position within the stream or to its end, and returns it. After an error it is
    /// unchanged.
    pub(super) fn seek(&mut self, to: SeekFrom) -> Result<usize> {
        self.opened()?;
        self.position = position::seek(self.position, self.nbytes, to)?;
        Ok(self.position)
    }

    /// Releases the lease, and returns the buffer if it was open.
    pub(super) fn close(&mut self) -> Option<Buffer> {
        self.open.take().map(|open| open.buffer)
    }
}

#[cold]
pub(super) fn closed(name: &str) -> Error {
    Error::new(Kind::Closed, format!("the {name} is closed"))
}
