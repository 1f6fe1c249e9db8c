//! Files without a name, of which Windows has its own kind, and other systems none that processes
//! could share.

use std::ffi::CStr;
use std::io;
use std::ptr::NonNull;

use crate::memory::os::fd::{BorrowedFd, OwnedFd};

/// Whether pools can consist of such memory.
pub(crate) const HAS_SHARED: bool = false;

/// The systems have no seals. The constants keep the numbers that they have on Linux.
pub(crate) const HAS_SEALS: bool = false;
pub(crate) const SEAL_SEAL: i32 = 1;
pub(crate) const SEAL_SHRINK: i32 = 2;
pub(crate) const SEAL_GROW: i32 = 4;
pub(crate) const SEAL_WRITE: i32 = 8;
pub(crate) const SEAL_FUTURE_WRITE: i32 = 16;

/// The most bytes of a name.
pub(crate) const MOST_NAME_NBYTES: usize = 249;

pub(crate) fn sized(_: u64, _: &CStr) -> io::Result<OwnedFd> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no shared memory"))
}

pub(crate) fn add_seals(_: BorrowedFd<'_>, _: i32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn seals(_: BorrowedFd<'_>) -> i32 {
    0
}

pub(crate) fn reserve(_: BorrowedFd<'_>, _: usize, _: usize) -> bool {
    false
}

/// # Safety
///
/// None: there are no such files.
pub(crate) unsafe fn discard(_: BorrowedFd<'_>, _: usize, _: usize) {}

/// # Safety
///
/// None: there are no such files.
pub(crate) unsafe fn read_to(_: BorrowedFd<'_>, _: NonNull<u8>, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
