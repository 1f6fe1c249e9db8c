//! Files without a name: `memfd_create(2)`. Seals: `fcntl(2)`, "File Sealing".

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Whether pools can consist of such memory.
pub(crate) const HAS_SHARED: bool = true;

/// The seals of the system. A receiver believes nothing of memory without them.
pub(crate) const HAS_SEALS: bool = true;
pub(crate) const SEAL_SEAL: i32 = libc::F_SEAL_SEAL;
pub(crate) const SEAL_SHRINK: i32 = libc::F_SEAL_SHRINK;
pub(crate) const SEAL_GROW: i32 = libc::F_SEAL_GROW;
pub(crate) const SEAL_WRITE: i32 = libc::F_SEAL_WRITE;
pub(crate) const SEAL_FUTURE_WRITE: i32 = libc::F_SEAL_FUTURE_WRITE;

/// The most bytes of a name.
pub(crate) const MOST_NAME_NBYTES: usize = 249;

/// A new file of no bytes, which grows as any file does.
pub(crate) fn growing(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: `name` is a `CStr`, so it ends in NUL; the call only reads it and opens a new
    // descriptor.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `memfd_create` returned `fd`, which is not negative, so it is open, and nothing else
    // owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A new file of a fixed size.
pub(crate) fn sized(nbytes: u64, name: &CStr) -> io::Result<OwnedFd> {
    let file = File::from(growing(name)?);
    file.set_len(nbytes)?;
    let fd = OwnedFd::from(file);
    add_seals(fd.as_fd(), SEAL_SHRINK | SEAL_GROW)?;
    Ok(fd)
}

/// Adds seals to the memory behind a descriptor that is open for writing.
pub(crate) fn add_seals(fd: BorrowedFd<'_>, seals: i32) -> io::Result<()> {
    // SAFETY: `fd` is borrowed, so it is open; `F_ADD_SEALS` takes an integer and accesses no
    // memory of this process.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The seals of the memory behind a descriptor; none if it cannot have any.
pub(crate) fn seals(fd: BorrowedFd<'_>) -> i32 {
    // SAFETY: `fd` is borrowed, so it is open; `F_GET_SEALS` accesses no memory of this process.
    let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
    seals.max(0)
}

/// Allocates the pages of a range. `false` if the system refuses.
pub(crate) fn reserve(fd: BorrowedFd<'_>, offset: usize, nbytes: usize) -> bool {
    loop {
        // SAFETY: `fd` is borrowed, so it is open; the call changes no byte.
        if unsafe { libc::fallocate(fd.as_raw_fd(), 0, offset as libc::off_t, nbytes as libc::off_t) } == 0 {
            return true;
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return false;
        }
    }
}

/// Discards the pages of a range, which reads as zeros then.
///
/// # Safety
///
/// 1. No code uses the bytes.
pub(crate) unsafe fn discard(fd: BorrowedFd<'_>, offset: usize, nbytes: usize) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: `fd` is borrowed, so it is open, and no code uses the bytes (clause 1 of `# Safety`).
    unsafe { libc::fallocate(fd.as_raw_fd(), mode, offset as libc::off_t, nbytes as libc::off_t) };
}

/// Reads the first bytes of a file, which ends behind them or later, to memory.
///
/// # Safety
///
/// 1. `to` has `nbytes` bytes, which no other code accesses.
pub(crate) unsafe fn read_to(fd: BorrowedFd<'_>, to: NonNull<u8>, nbytes: usize) -> io::Result<()> {
    let mut done = 0;
    while done < nbytes {
        // SAFETY: clause 1 of `# Safety`, and `done` is less than `nbytes`.
        let rest = unsafe { to.add(done) };
        let at = done as libc::off_t;
        // SAFETY: the call writes at most `nbytes - done` bytes at `rest`, which has as many.
        match unsafe { libc::pread(fd.as_raw_fd(), rest.as_ptr().cast(), nbytes - done, at) } {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read @ 1.. => done += read.unsigned_abs(),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}
