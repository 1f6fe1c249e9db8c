//! The memory of tables that are written into a set: one after the other, in a region that grows.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;

use crate::error::{Error, Result};
use crate::exchange::protocol::hold::builder::ALIGN;
use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::memory::{self, failed};
use crate::memory::os::{errors, process};

/// A region for tables, not sealed yet.
#[derive(Debug)]
pub(crate) struct TableMemory {
    file: File,
    nbytes: u64,
}

impl TableMemory {
    /// No tables, in the region with this number.
    pub(in crate::exchange) fn new(label: &Label, region: usize) -> Result<Self> {
        let file = memory::growing(label, &format!("region {region}"))?;
        Ok(Self { file, nbytes: 0 })
    }

    /// Writes a table behind the others. Returns where it begins, its bytes, and what `write`
    /// returns. If `write` fails, the memory is as before.
    pub(in crate::exchange) fn append<T>(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<T>,
    ) -> Result<(u64, usize, T)> {
        let start = self.nbytes.next_multiple_of(ALIGN);
        let unwritten = |error: io::Error| failed("the table could not be written to shared memory", error);
        self.file.seek(SeekFrom::Start(start)).map_err(unwritten)?;
        let mut writer = LimitedWriter { file: &self.file, end: start, limit: process::file_limit() };
        let written = write(&mut writer);
        let end = writer.end;
        match written {
            Ok(written) => {
                self.nbytes = end;
                Ok((start, usize::try_from(end - start).unwrap_or(usize::MAX), written))
            }
            Err(error) => {
                self.file.set_len(self.nbytes).map_err(unwritten)?;
                Err(error)
            }
        }
    }

    /// The memory, to be sealed.
    pub(in crate::exchange) fn into_region(self) -> OwnedFd {
        self.file.into()
    }

    /// Another descriptor of the memory, to be sealed.
    pub(super) fn region(&self) -> Result<OwnedFd> {
        self.file
            .try_clone()
            .map(OwnedFd::from)
            .map_err(|error| -> Error { failed("the descriptor could not be duplicated", error) })
    }
}

/// Fails at the limit of the process for files (`ulimit -f`), where the system would send a signal.
struct LimitedWriter<'a> {
    file: &'a File,
    end: u64,
    limit: u64,
}

impl Write for LimitedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.end.saturating_add(bytes.len() as u64) > self.limit {
            return Err(errors::too_large());
        }
        let count = self.file.write(bytes)?;
        self.end += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
