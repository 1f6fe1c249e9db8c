//! Windows, which has neither signals nor descriptors.

pub(crate) mod signals;

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use crate::failure::Result;

/// Whether standard output can be written: the first write tells.
pub(crate) fn check_stdout() -> io::Result<()> {
    Ok(())
}

/// Whether both describe the same file. Only files that are written directly are compared, and
/// Windows has none.
pub(crate) fn is_same(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// Whether a file is standard output, which no path names here.
pub(crate) fn is_stdout(_: &File) -> bool {
    false
}

/// Nothing can be done: a process that is ended leaves the hidden file behind.
pub(crate) fn remove_when_ended(_: &Path) -> Result<()> {
    Ok(())
}

/// There are no signals to defer.
pub(crate) fn defer_signals() -> Result<()> {
    Ok(())
}
