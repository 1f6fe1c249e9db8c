//! Files: second opens through `/proc`, files without a name, and locks of open files.

use std::ffi::{CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::memory::os::types::{FileState, wide};
pub(crate) use crate::memory::os::unix::files::*;

/// Opens the file of a descriptor a second time: for reading, or for reading and writing.
pub(crate) fn reopen(fd: BorrowedFd<'_>, writable: bool) -> io::Result<OwnedFd> {
    // The path is on the stack, so that running out of memory cannot end the process.
    let mut path = io::Cursor::new([0; 32]);
    write!(path, "/proc/self/fd/{}", fd.as_raw_fd())?;
    let nbytes = path.position() as usize;
    let path = OsStr::from_bytes(&path.get_ref()[..nbytes]);
    OpenOptions::new().read(true).write(writable).open(path).map(OwnedFd::from)
}

/// A path that opens the file of a descriptor, whether it has a name or not.
pub(crate) fn path_of(fd: BorrowedFd<'_>) -> io::Result<PathBuf> {
    Ok(format!("/proc/self/fd/{}", fd.as_raw_fd()).into())
}

/// The device and inode of a file: the same for every descriptor of it, by whichever path it was
/// opened.
pub(crate) fn identity(fd: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let stat = stat(fd.as_raw_fd())?;
    Ok((stat.st_dev, wide(stat.st_ino)))
}

/// The number of the file system of the file (`statfs(2)`, `f_type`); `None` if the system does not
/// report it.
pub(crate) fn file_system(fd: BorrowedFd<'_>) -> Option<u32> {
    let mut stat = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `fd` is borrowed, so it is open, and `stat` is a record of the right type that the
    // call may write.
    let failed = unsafe { libc::fstatfs(fd.as_raw_fd(), stat.as_mut_ptr()) } != 0;
    // SAFETY: the record was zeroed before the call; every field of it is a number, for which zero
    // is a value.
    let stat = unsafe { stat.assume_init() };
    // The numbers have 32 bits; some systems sign-extend them.
    (!failed).then_some(stat.f_type as u32)
}

/// What a descriptor is open on, without a request to the server of the file, if it has one, which
/// may take its time.
pub(crate) fn state(fd: BorrowedFd<'_>) -> io::Result<FileState> {
    let mut stat = MaybeUninit::<libc::statx>::zeroed();
    let (at, how) = (fd.as_raw_fd(), libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC);
    let (path, mask) = (c"".as_ptr(), libc::STATX_BASIC_STATS);
    // musl has no such function before 1.2.5.
    //
    // SAFETY: the path is an empty C string, and `stat` is a record of the right type that the call
    // may write.
    let failed = unsafe { libc::syscall(libc::SYS_statx, at, path, how, mask, stat.as_mut_ptr()) } != 0;
    if failed {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the record was zeroed before the call; every field of it is a number, for which zero
    // is a value.
    let stat = unsafe { stat.assume_init() };
    let mode = u32::from(stat.stx_mode);
    Ok(FileState {
        device: libc::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        inode: stat.stx_ino,
        nbytes: stat.stx_size,
        mode,
        is_regular: mode & libc::S_IFMT == libc::S_IFREG,
    })
}

/// Whether flags are of a descriptor that can read, and do nothing else.
pub(crate) fn only_reads(flags: i32) -> bool {
    flags & (libc::O_ACCMODE | libc::O_PATH) == libc::O_RDONLY
}

/// A new file without a name in a folder, if its file system supports that.
pub(crate) fn unnamed(folder: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder)
}

/// Links a file without a name to a name that must not exist.
pub(crate) fn link_unnamed(file: &File, name: &Path) -> io::Result<()> {
    let to_text = |bytes: &[u8]| CString::new(bytes).map_err(io::Error::from);
    let from = to_text(path_of(file.as_fd())?.as_os_str().as_bytes())?;
    let to = to_text(name.as_os_str().as_bytes())?;
    let (here, how) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: `from` and `to` are `CString`s, which end with a NUL and live until the end of this
    // function; the kernel only reads them.
    let done = unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), how) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Locks a byte for an open file. `false` if another open file has the lock, which ends with its
/// last descriptor.
pub(crate) fn try_lock_byte(file: BorrowedFd<'_>, byte: usize) -> io::Result<bool> {
    match set_lock(file, byte, libc::F_WRLCK) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn unlock_byte(file: BorrowedFd<'_>, byte: usize) {
    let _unlocked = set_lock(file, byte, libc::F_UNLCK);
}

fn set_lock(file: BorrowedFd<'_>, byte: usize, kind: i32) -> io::Result<()> {
    let range = libc::flock {
        l_type: kind as _,
        l_whence: libc::SEEK_SET as _,
        l_start: byte as _,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: `file` is an open descriptor, and `range` a record of the right type that outlives
    // the call, which only reads it.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
