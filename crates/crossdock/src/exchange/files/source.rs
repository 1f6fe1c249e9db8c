//! Opens a file to be mapped, with an error for every other kind of file.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Kind, Result, system_text};
#[cfg(feature = "arrow-ipc")]
use crate::exchange::files::magic;
use crate::memory::os::{FileKind, files};

/// Opens a regular file, also for writing if `writable` is set. The error does not name the path.
pub(super) fn open(path: &Path, writable: bool) -> Result<File> {
    // Checks the kind first, since opening a pipe would wait for a writer.
    let kind = std::fs::metadata(path).map_err(|error| refused(error, "read"))?.file_type();
    let unmapped = |what: &str| {
        let text =
            format!("it is {what}, which cannot be mapped; write its data to a file, and open that file");
        Err(Error::new(Kind::Unsupported, text))
    };
    match files::kind(kind) {
        FileKind::Regular => {}
        FileKind::Folder => {
            return Err(Error::new(Kind::Unsupported, "it is a directory, not a file; name a file in it"));
        }
        FileKind::Pipe => return unmapped("a pipe"),
        FileKind::Socket => return unmapped("a socket"),
        FileKind::BlockDevice | FileKind::Other => return unmapped("a device"),
    }
    File::options()
        .read(true)
        .write(writable)
        .open(path)
        .map_err(|error| refused(error, if writable { "read and write" } else { "read" }))
}

/// The first [`magic::NBYTES`] bytes, or fewer if the file is shorter, without a map.
#[cfg(feature = "arrow-ipc")]
pub(super) fn first_bytes(file: &File) -> Result<Vec<u8>> {
    let mut bytes = vec![0; magic::NBYTES];
    let mut len = 0;
    while len < bytes.len() {
        match files::read_at(file, &mut bytes[len..], len as u64) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(refused(error, "read")),
        }
    }
    bytes.truncate(len);
    Ok(bytes)
}

fn refused(error: std::io::Error, wanted: &str) -> Error {
    let text = match error.kind() {
        ErrorKind::NotFound => "no such file; check the name".into(),
        ErrorKind::NotADirectory => "part of the path is a file, not a directory; check the name".into(),
        ErrorKind::PermissionDenied => {
            format!("no permission to {wanted} it; change its mode (chmod), or ask its owner")
        }
        ErrorKind::ReadOnlyFilesystem => {
            "it is on a read-only file system; copy it to another one, or open it for reading only".into()
        }
        _ => format!("it could not be opened to {wanted}: {}", system_text(&error)),
    };
    Error::caused(Kind::Io, text, error)
}
