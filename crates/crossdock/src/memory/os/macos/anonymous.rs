//! Memory without a name: an object of `shm_open(2)` whose name is removed at once. It can be
//! mapped and sent, but neither read nor written as a file, and its size is set once.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use crate::memory::os::macos::process::fill_random;
use crate::memory::os::types::PageAccess;
use crate::memory::os::unix::pages;

/// Whether pools can consist of such memory.
pub(crate) const HAS_SHARED: bool = true;

/// The system has no seals. The constants keep the numbers that they have on Linux.
pub(crate) const HAS_SEALS: bool = false;
pub(crate) const SEAL_SEAL: i32 = 1;
pub(crate) const SEAL_SHRINK: i32 = 2;
pub(crate) const SEAL_GROW: i32 = 4;
pub(crate) const SEAL_WRITE: i32 = 8;
pub(crate) const SEAL_FUTURE_WRITE: i32 = 16;

/// The most bytes of a name, which the system does not show.
pub(crate) const MOST_NAME_NBYTES: usize = 249;

/// The size of such memory is set once.
pub(crate) fn growing(_: &CStr) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// New memory of a fixed size.
pub(crate) fn sized(nbytes: u64, _: &CStr) -> io::Result<OwnedFd> {
    let mut random = [0; 8];
    fill_random(&mut random)?;
    let name = CString::new(format!("/crossdock-{:016x}", u64::from_ne_bytes(random)))?;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    // SAFETY: `name` ends in NUL and outlives the call, which only reads it.
    let fd = unsafe { libc::shm_open(name.as_ptr(), flags, 0o600) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `shm_open` returned `fd`, which is not negative, so it is open, and nothing else owns
    // it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: `name` ends in NUL and outlives the call, which only reads it.
    unsafe { libc::shm_unlink(name.as_ptr()) };
    let size = libc::off_t::try_from(nbytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // SAFETY: `fd` is an open descriptor; no map of the new memory exists yet.
    match unsafe { libc::ftruncate(fd.as_raw_fd(), size) } {
        0 => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn add_seals(_: BorrowedFd<'_>, _: i32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn seals(_: BorrowedFd<'_>) -> i32 {
    0
}

/// The system allocates pages when they are touched.
pub(crate) fn reserve(_: BorrowedFd<'_>, _: usize, _: usize) -> bool {
    false
}

/// Makes the bytes of a range zeros.
///
/// # Safety
///
/// 1. No code uses the bytes.
pub(crate) unsafe fn discard(fd: BorrowedFd<'_>, offset: usize, nbytes: usize) {
    let end = offset + nbytes;
    let Ok(base) = pages::map_file(fd, 0, end, PageAccess::ReadWrite, None) else { return };
    // SAFETY: the mapping has `end` bytes, so the sum stays within it.
    let at = unsafe { base.add(offset) };
    // SAFETY: `at` has `nbytes` bytes, which no other code uses (clause 1 of `# Safety`).
    unsafe { at.write_bytes(0, nbytes) };
    // SAFETY: clauses 1 and 2 of `unmap_file`: the range was mapped above, and no other code
    // knows it.
    unsafe { pages::unmap_file(base, end) };
}

/// Copies the first bytes of such memory, which is no shorter.
///
/// # Safety
///
/// 1. `to` has `nbytes` bytes, which no other code accesses.
pub(crate) unsafe fn read_to(fd: BorrowedFd<'_>, to: NonNull<u8>, nbytes: usize) -> io::Result<()> {
    let base = pages::map_file(fd.as_fd(), 0, nbytes, PageAccess::Read, None)?;
    // SAFETY: clause 1 of `# Safety`; the mapping has as many bytes. The C library copies them, so
    // that another process may write them meanwhile.
    unsafe { libc::memcpy(to.as_ptr().cast(), base.as_ptr().cast(), nbytes) };
    // SAFETY: clauses 1 and 2 of `unmap_file`: the range was mapped above, and no other code
    // knows it.
    unsafe { pages::unmap_file(base, nbytes) };
    Ok(())
}
