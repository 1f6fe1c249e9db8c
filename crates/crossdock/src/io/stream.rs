//! What readers and writers of a buffer share: the lease that they hold while they are open, and a
//! position.

use std::io::SeekFrom;

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Rejected, Result};
use crate::io::position;
use crate::io::stage::Stage;

/// A buffer with a position, open under a lease until it is closed. Size and position stay after
/// that.
#[derive(Debug)]
pub(super) struct Stream<Access> {
    open: Option<Open<Access>>,
    /// No more than `nbytes`.
    position: usize,
    nbytes: usize,
    /// `reader` or `writer`.
    name: &'static str,
}

/// The buffer, how its bytes are reached under the lease, and those that were shown or kept back.
#[derive(Debug)]
pub(super) struct Open<Access> {
    pub(super) buffer: Buffer,
    pub(super) access: Access,
    pub(super) stage: Stage,
}

impl<Access> Stream<Access> {
    /// At the first byte, under the lease that `access` takes. Without it, the buffer comes back.
    pub(super) fn open(
        name: &'static str,
        buffer: Buffer,
        access: impl FnOnce(&Buffer) -> Result<Access>,
    ) -> Result<Self, Rejected<Buffer>> {
        match access(&buffer) {
            Ok(access) => {
                let nbytes = buffer.nbytes();
                let open = Some(Open { buffer, access, stage: Stage::default() });
                Ok(Self { open, position: 0, nbytes, name })
            }
            Err(error) => Err(Rejected { value: buffer, error }),
        }
    }

    pub(super) fn opened(&self) -> Result<&Open<Access>> {
        self.open.as_ref().ok_or_else(|| closed(self.name))
    }

    pub(super) fn opened_mut(&mut self) -> Result<&mut Open<Access>> {
        self.open.as_mut().ok_or_else(|| closed(self.name))
    }

    /// What is open, if it is not closed.
    pub(super) fn get(&self) -> Option<&Open<Access>> {
        self.open.as_ref()
    }

    pub(super) fn nbytes(&self) -> usize {
        self.nbytes
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// How many bytes there are from the position to the end.
    pub(super) fn remaining(&self) -> usize {
        self.nbytes - self.position
    }

    /// Moves the position by bytes that were read or written, which are no more than remain.
    pub(super) fn advance(&mut self, nbytes: usize) {
        self.position += nbytes;
    }

    /// Moves the position within the stream or to its end, and returns it. After an error it stays.
    pub(super) fn seek(&mut self, to: SeekFrom) -> Result<usize> {
        self.opened()?;
        self.position = position::seek(self.position, self.nbytes, to)?;
        Ok(self.position)
    }

    /// Gives the lease back, and the buffer where it was open still.
    pub(super) fn close(&mut self) -> Option<Buffer> {
        self.open.take().map(|open| open.buffer)
    }
}

#[cold]
pub(super) fn closed(name: &str) -> Error {
    Error::new(Kind::Closed, format!("the {name} is closed"))
}
