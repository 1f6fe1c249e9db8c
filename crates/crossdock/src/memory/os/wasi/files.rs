//! Files: what a descriptor is open on, and the ways to open them.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use crate::memory::os::types::FileKind;

/// The kind of a file.
pub(crate) fn kind(found: FileType) -> FileKind {
    match () {
        () if found.is_file() => FileKind::Regular,
        () if found.is_dir() => FileKind::Folder,
        () => FileKind::Other,
    }
}

fn stat(fd: RawFd) -> io::Result<libc::stat> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `stat` is a record of the right type that the call may write; for a descriptor that
    // is not open it fails.
    if unsafe { libc::fstat(fd, stat.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the record was zeroed before the call; every field of it is a number, for which zero
    // is a value.
    Ok(unsafe { stat.assume_init() })
}

/// The size of a file in bytes, or `None` if the system does not report it.
pub(crate) fn size(fd: RawFd) -> Option<u64> {
    u64::try_from(stat(fd).ok()?.st_size).ok()
}

/// The device and inode of a file: the same for every descriptor of it.
pub(crate) fn identity(fd: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let stat = stat(fd.as_raw_fd())?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Whether a path leads to an open file.
pub(crate) fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    Ok(identity(File::open(path)?.as_fd())? == identity(file.as_fd())?)
}

/// Reads bytes from a position on, and returns their number: 0 at the end of the file.
pub(crate) fn read_at(file: &File, room: &mut [u8], offset: u64) -> io::Result<usize> {
    let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // SAFETY: the call writes at most `room.len()` bytes at `room`, which is borrowed.
    let read = unsafe { libc::pread(file.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), offset) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// File systems have no numbers.
pub(crate) fn file_system(_: BorrowedFd<'_>) -> Option<u32> {
    None
}

/// The system does not report it.
pub(crate) fn is_open_for_writing(_: BorrowedFd<'_>) -> bool {
    true
}

pub(crate) fn reopen(_: BorrowedFd<'_>, _writable: bool) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The system starts no programs.
pub(crate) fn inheritable(_: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// No path names an open file of this process.
pub(crate) fn duplicate(_: i32) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// No path names a file that has none of its own.
pub(crate) fn path_of(_: BorrowedFd<'_>) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens an existing file for writing.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Creates a file for reading and writing. Files have no mode.
pub(crate) fn create_new(path: &Path, _mode: u32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

pub(crate) fn unnamed(_: &Path, _: u32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn link_unnamed(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
