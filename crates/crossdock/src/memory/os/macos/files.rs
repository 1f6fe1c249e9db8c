//! Files: second opens by the path that the system knows. Files without a name, and locks of open
//! files, are Linux's.

use std::ffi::{CStr, OsStr};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::memory::os::types::FileState;
pub(crate) use crate::memory::os::unix::files::*;

/// The path of the file of a descriptor. Fails with `Unsupported` for shared memory, which has
/// none.
pub(crate) fn path_of(fd: BorrowedFd<'_>) -> io::Result<PathBuf> {
    let mut path = [0u8; libc::PATH_MAX as usize];
    // SAFETY: `F_GETPATH` writes at most `PATH_MAX` bytes, which `path` has.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETPATH, path.as_mut_ptr()) } != 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| io::ErrorKind::InvalidFilename)?;
    Ok(OsStr::from_bytes(path.to_bytes()).into())
}

/// Opens the file of a descriptor a second time: for reading, or for reading and writing. Fails
/// with `Unsupported` for shared memory, which has no path.
pub(crate) fn reopen(fd: BorrowedFd<'_>, writable: bool) -> io::Result<OwnedFd> {
    let path = path_of(fd)?;
    let opened = OwnedFd::from(OpenOptions::new().read(true).write(writable).open(path)?);
    // Another file may have taken the place.
    match identity(opened.as_fd())? == identity(fd)? {
        true => Ok(opened),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// The device and inode of a file: the same for every descriptor of it, by whichever path it was
/// opened.
pub(crate) fn identity(fd: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let stat = stat(fd.as_raw_fd())?;
    Ok((stat.st_dev as u64, stat.st_ino))
}

/// File systems have no numbers that code may rely on.
pub(crate) fn file_system(_: BorrowedFd<'_>) -> Option<u32> {
    None
}

/// What a descriptor is open on.
pub(crate) fn state(fd: BorrowedFd<'_>) -> io::Result<FileState> {
    let stat = stat(fd.as_raw_fd())?;
    Ok(FileState {
        device: stat.st_dev as u64,
        inode: stat.st_ino,
        nbytes: u64::try_from(stat.st_size).unwrap_or(0),
        mode: u32::from(stat.st_mode),
        is_regular: stat.st_mode & libc::S_IFMT == libc::S_IFREG,
    })
}

/// Whether flags are of a descriptor that can read, and do nothing else.
pub(crate) fn only_reads(flags: i32) -> bool {
    flags & libc::O_ACCMODE == libc::O_RDONLY
}

pub(crate) fn unnamed(_: &Path, _: u32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn link_unnamed(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn try_lock_byte(_: BorrowedFd<'_>, _: usize) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn unlock_byte(_: BorrowedFd<'_>, _: usize) {}
