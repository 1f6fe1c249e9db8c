//! Files: what a descriptor is open on, and the ways to open them.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::memory::os::types::FileKind;

/// The kind of a file.
pub(crate) fn kind(found: FileType) -> FileKind {
    match () {
        () if found.is_file() => FileKind::Regular,
        () if found.is_dir() => FileKind::Folder,
        () if found.is_fifo() => FileKind::Pipe,
        () if found.is_socket() => FileKind::Socket,
        () if found.is_block_device() => FileKind::BlockDevice,
        () => FileKind::Other,
    }
}

/// Reads bytes from a position on, and returns their number: 0 at the end of the file.
pub(crate) fn read_at(file: &File, room: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(room, offset)
}

/// Whether a path, whose last name is no link, leads to an open file.
pub(crate) fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let (there, here) = (std::fs::symlink_metadata(path)?, file.metadata()?);
    Ok((there.dev(), there.ino()) == (here.dev(), here.ino()))
}

pub(crate) fn stat(fd: RawFd) -> io::Result<libc::stat> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `stat` is a record of the right type that the call may write; for a descriptor that
    // is not open it fails.
    let failed = unsafe { libc::fstat(fd, stat.as_mut_ptr()) } != 0;
    if failed {
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

/// The flags with which a descriptor was opened.
pub(crate) fn flags(fd: BorrowedFd<'_>) -> io::Result<i32> {
    // SAFETY: `fd` is borrowed, so the descriptor is open; `F_GETFL` reads its flags and accesses
    // no memory of this process.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) } {
        flags @ 0.. => Ok(flags),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the descriptor permits writing; `true` if the system does not report it.
pub(crate) fn is_open_for_writing(fd: BorrowedFd<'_>) -> bool {
    flags(fd).map_or(true, |flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

/// Whether flags are of a descriptor that is open for reading and writing.
pub(crate) fn reads_and_writes(flags: i32) -> bool {
    flags & libc::O_ACCMODE == libc::O_RDWR
}

/// Another descriptor of the same open file, which programs that this process starts inherit.
pub(crate) fn inheritable(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: `fd` is borrowed, so the descriptor is open; the call accesses no memory.
    let copy = unsafe { libc::dup(fd.as_raw_fd()) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `dup` returned `copy`, which is not negative, so it is open, and nothing else owns
    // it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Another descriptor of the open file that a number stands for, if it does for one. It is closed
/// when this process executes another program.
pub(crate) fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: with `F_DUPFD_CLOEXEC`, `fcntl` accesses no memory of this process; for a number that
    // is not a descriptor it returns an error.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fcntl` returned `copy` as a new descriptor (it is not negative, as checked above),
    // and no other object owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// # Safety
///
/// 1. The descriptor belongs to the caller, and no code uses it any more.
pub(crate) unsafe fn close(fd: RawFd) {
    // SAFETY: the descriptor is the caller's own, and no code uses its number any more (clause 1 of
    // `# Safety`), so the system may give it to another file.
    unsafe { libc::close(fd) };
}

/// Opens a folder, and no link to one.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

/// Opens a file of this user's own for reading and writing, and no link to one. It is made if it
/// does not exist.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Opens an existing file for writing. A terminal does not become this process's own.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(libc::O_NOCTTY).open(path)
}

/// Creates a file for reading and writing. The umask restricts its mode.
pub(crate) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path)
}
