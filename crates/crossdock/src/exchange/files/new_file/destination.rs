//! Where the bytes of a new file go: the target of its path.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::files::new_file::already_there;
use crate::memory::os::{FileKind, errors, files};

/// The limit of Linux.
const MOST_LINKS: usize = 40;

#[derive(Debug)]
pub(super) enum Destination {
    /// No file exists there.
    New(PathBuf),
    /// A regular file exists there. It was opened for writing, to check the permission and to read
    /// its owner.
    Old(PathBuf, File),
    /// An open file that cannot be replaced: a pipe, a device, or a descriptor.
    Through(File),
}

/// Another process may replace the file during a look, but hardly this often in a row.
const LOOKS: usize = 100;

/// Follows `path`. Without `replaces`, a path to existing data is an error.
pub(super) fn find(path: &Path, replaces: bool) -> Result<Destination> {
    for _ in 0..LOOKS {
        if let Some(place) = look(path, replaces)? {
            return Ok(place);
        }
    }
    Err(refused(
        io::Error::from(ErrorKind::Other),
        "it is being replaced by another process again and again; try again later",
    ))
}

/// Like [`find`]; `None` if another file took the place during the look.
fn look(path: &Path, replaces: bool) -> Result<Option<Destination>> {
    if path.as_os_str().is_empty() {
        return Err(refused(io::Error::from(ErrorKind::NotFound), "the name is empty; name a file"));
    }
    // The system follows links here, and refuses those that it protects users from.
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return new(path).map(Some),
        Err(error) => return Err(not_reached(error)),
    };
    let kind = files::kind(found.file_type());
    if kind == FileKind::Folder {
        return Err(Error::new(Kind::Unsupported, "it is a directory, not a file; name a file in it"));
    }
    let (place, link) = follow(path)?;
    if let Some(link) = link {
        return through_link(&link, path, &found, replaces).map(Some);
    }
    if kind == FileKind::Socket {
        return Err(Error::new(
            Kind::Unsupported,
            "it is a socket, which cannot be opened; write to a pipe instead",
        ));
    }
    if !replaces && matches!(kind, FileKind::Regular | FileKind::BlockDevice) {
        return Err(already_there());
    }
    let opened = to_write(path)?;
    if kind != FileKind::Regular {
        return Ok(Some(Destination::Through(opened)));
    }
    let is_there = files::is_at(&place, &opened).map_err(not_reached)?;
    Ok(is_there.then_some(Destination::Old(place, opened)))
}

/// A path to a file that does not exist yet, possibly through dangling links.
fn new(path: &Path) -> Result<Destination> {
    let (place, link) = follow(path)?;
    if link.is_some() || place.file_name().is_none() || ends_with_separator(&place) {
        let text = "no such directory; create it first, or name a file";
        return Err(refused(io::Error::from(ErrorKind::NotFound), text));
    }
    if std::fs::canonicalize(parent(&place)).is_ok_and(|parent| parent.starts_with("/proc")) {
        let text = "no file can be created in /proc; write to another directory";
        return Err(refused(io::Error::from(ErrorKind::NotFound), text));
    }
    Ok(Destination::New(place))
}

/// The name at the end of a chain of links. If the chain ends at a link in `/proc`, that link, too:
/// it leads to an open file, not to a name.
fn follow(path: &Path) -> Result<(PathBuf, Option<PathBuf>)> {
    let mut place = path.to_owned();
    for _ in 0..=MOST_LINKS {
        match std::fs::symlink_metadata(&place) {
            Ok(found) if found.is_symlink() => {}
            Ok(_) => return Ok((place, None)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((place, None)),
            Err(error) => return Err(not_reached(error)),
        }
        let parent = std::fs::canonicalize(parent(&place)).map_err(not_reached)?;
        if parent.starts_with("/proc") {
            let link = parent.join(place.file_name().unwrap_or_default());
            return Ok((place, Some(link)));
        }
        place = parent.join(std::fs::read_link(&place).map_err(not_reached)?);
    }
    Err(refused(errors::loop_of_links(), "its symbolic links form a loop; remove one of them"))
}

/// The folder in which a file lies.
pub(super) fn parent(place: &Path) -> &Path {
    match place.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Opens a link of `/proc`. A descriptor of this process is duplicated, so that writing continues
/// at its position; a file of another process is opened.
fn through_link(link: &Path, path: &Path, found: &Metadata, replaces: bool) -> Result<Destination> {
    if let Some(descriptor) = own_descriptor(link) {
        let copy = files::duplicate(descriptor).map_err(not_reached)?;
        return Ok(Destination::Through(File::from(copy)));
    }
    let kind = files::kind(found.file_type());
    if !replaces && matches!(kind, FileKind::Regular | FileKind::BlockDevice) {
        return Err(already_there());
    }
    let file = to_write(path)?;
    if kind == FileKind::Regular {
        file.set_len(0).map_err(not_reached)?;
    }
    Ok(Destination::Through(file))
}

/// The number of a descriptor of this process, from `/proc/PID/fd/N` or `/proc/PID/task/TID/fd/N`.
fn own_descriptor(link: &Path) -> Option<i32> {
    let mut names = link.strip_prefix("/proc").ok()?.iter().map(|name| name.to_str().unwrap_or_default());
    if names.next()? != std::process::id().to_string() {
        return None;
    }
    let rest: Vec<&str> = names.collect();
    match rest[..] {
        ["fd", number] | ["task", _, "fd", number] => number.parse().ok(),
        _ => None,
    }
}

/// Opens an existing file without truncating it. For a pipe, waits until it has a reader.
fn to_write(path: &Path) -> Result<File> {
    files::open_to_write(path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            refused(error, "no permission to write it; change its mode (chmod u+w), or remove it first")
        }
        _ => not_reached(error),
    })
}

fn ends_with_separator(place: &Path) -> bool {
    let last = place.as_os_str().as_encoded_bytes().last();
    last.is_some_and(|&byte| std::path::is_separator(byte.into()))
}

fn not_reached(error: io::Error) -> Error {
    let text = match error.kind() {
        ErrorKind::NotADirectory => "part of the path is a file, not a directory; check the name".into(),
        ErrorKind::PermissionDenied => "no permission to write in its directory".into(),
        ErrorKind::InvalidFilename => "the name is longer than the file system permits; shorten it".into(),
        ErrorKind::ReadOnlyFilesystem => "it is on a read-only file system; write to another one".into(),
        _ => format!("it could not be opened for writing: {}", system_text(&error)),
    };
    refused(error, text)
}

fn refused(error: io::Error, text: impl Into<String>) -> Error {
    Error::caused(Kind::Io, text, error)
}
