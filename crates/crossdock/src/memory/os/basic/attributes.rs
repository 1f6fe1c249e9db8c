//! The attributes of a file: those of a replaced file are not kept.

use std::fs::{File, Metadata};
use std::io;

/// Files have no owner that the library could keep.
pub(crate) fn owner(_: &Metadata) -> Option<(u32, u32)> {
    None
}

pub(crate) fn set_owner(_: &File, _: (u32, u32)) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Files have no mode.
pub(crate) fn set_mode(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

pub(crate) fn keep(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}
