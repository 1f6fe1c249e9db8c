//! `FILE[:EXPR]`: an array file, and a view of it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crossdock::DArray;
use crossdock::exchange::files::OpenOptions;

use crate::failure::Failure;

/// A file that was opened in place, and the view that was asked for.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The file.
    pub(crate) path: PathBuf,
    /// The expression that picks the view; empty for the whole.
    pub(crate) expr: String,
    /// The view. Its memory is a guarded map of the file.
    pub(crate) view: DArray,
}

impl Opened {
    /// Opens `FILE[:EXPR]`, for writing too if that is asked for.
    pub(crate) fn open(target: &OsStr, writable: bool) -> Result<Self, Failure> {
        let (path, expr) = split(target)?;
        let whole = OpenOptions::new().writable(writable).guarded(true).open(&path)?;
        let view =
            whole.at(&expr).map_err(|error| Failure::new(format_args!("{}: {error}", path.display())))?;
        let opened = Self { path, expr, view };
        opened.check()?;
        Ok(opened)
    }

    /// Asks the guard whether all that was read of the map so far was really there.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.view.fault().map_or(Ok(()), |fault| Err(Failure::shrank(&self.path, fault)))
    }

    /// Asks whether the file is still as large as what was mapped of it, for those whose faults the guard does not see.
    pub(crate) fn check_size(&self) -> Result<(), Failure> {
        let (buffer, _) = self.view.buffer()?;
        let mapped = buffer.retained_nbytes() as u64;
        let Some((fd, _)) = buffer.descriptor() else { return Ok(()) };
        let size = fd.try_clone_to_owned().and_then(|fd| File::from(fd).metadata()).map(|data| data.len());
        match size {
            Ok(size) if size < mapped => {
                let detail =
                    format_args!("the file shrank from {mapped} to {size} bytes while it was mapped");
                Err(Failure::shrank(&self.path, detail))
            }
            Ok(_) => Ok(()),
            Err(error) => {
                Err(Failure::new(format_args!("{}: its size is unknown: {error}", self.path.display())))
            }
        }
    }
}

/// Parts a target at the first colon in front of which there is a file; the whole, where that is a file itself.
fn split(target: &OsStr) -> Result<(PathBuf, String), Failure> {
    if Path::new(target).exists() {
        return Ok((target.into(), String::new()));
    }
    let bytes = target.as_bytes();
    let colons = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b':').map(|(at, _)| at);
    for at in colons {
        let path = Path::new(OsStr::from_bytes(&bytes[..at]));
        if at > 0 && path.exists() {
            let expr = OsString::from_vec(bytes[at + 1..].to_vec()).into_string().map_err(|expr| {
                Failure::new(format_args!("the view {expr:?} is not UTF-8: write it in UTF-8"))
            })?;
            return Ok((path.to_owned(), expr));
        }
    }
    // Opening it says best why it cannot be.
    let end = bytes.iter().position(|&byte| byte == b':').unwrap_or(bytes.len());
    Ok((Path::new(OsStr::from_bytes(&bytes[..end])).to_owned(), String::new()))
}
