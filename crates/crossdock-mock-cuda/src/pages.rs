//! Pages of the system: a fence, which faults when it is touched, and rooms for bytes.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;

/// Pages of our own.
///
/// # Invariants
///
/// 1. `base..base + nbytes` is a mapping of our own, which nobody else unmaps.
#[derive(Debug)]
pub(crate) struct Pages {
    base: *mut u8,
    nbytes: usize,
    /// What stands behind them, where other processes can map them too.
    file: Option<File>,
}

// SAFETY: an address range of the process, bound to no thread.
unsafe impl Send for Pages {}
// SAFETY: as for Send: `&Pages` gives only the address.
unsafe impl Sync for Pages {}

const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Pages {
    /// Addresses that fault.
    pub(crate) fn fence(nbytes: usize) -> Option<Self> {
        Self::map(nbytes, libc::PROT_NONE, PRIVATE, None)
    }

    /// Zeroed bytes.
    pub(crate) fn room(nbytes: usize) -> Option<Self> {
        Self::map(nbytes, libc::PROT_READ | libc::PROT_WRITE, PRIVATE, None)
    }

    /// Zeroed bytes that other processes can map.
    pub(crate) fn shared(nbytes: usize) -> Option<Self> {
        // SAFETY: the name ends with a NUL.
        let descriptor = unsafe { libc::memfd_create(c"crossdock-mock-cuda".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return None;
        }
        // SAFETY: a new descriptor, which nobody else closes.
        let file = unsafe { File::from_raw_fd(descriptor) };
        file.set_len(rounded(nbytes)?.try_into().ok()?).ok()?;
        Self::of(file, nbytes)
    }

    /// The bytes of a file that another process made by [`Pages::shared`].
    pub(crate) fn of(file: File, nbytes: usize) -> Option<Self> {
        Self::map(nbytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, Some(file))
    }

    fn map(nbytes: usize, protection: i32, flags: i32, file: Option<File>) -> Option<Self> {
        let nbytes = rounded(nbytes)?;
        let descriptor = file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        // SAFETY: a new mapping at an address that the system chooses touches no memory of ours.
        let base = unsafe { libc::mmap(ptr::null_mut(), nbytes, protection, flags, descriptor, 0) };
        (base != libc::MAP_FAILED).then(|| Self { base: base.cast(), nbytes, file })
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    pub(crate) fn descriptor(&self) -> Option<i32> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    pub(crate) fn covers(&self, address: usize) -> bool {
        (self.base.addr()..self.base.addr() + self.nbytes).contains(&address)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: Pages 1.
        unsafe { libc::munmap(self.base.cast(), self.nbytes) };
    }
}

fn rounded(nbytes: usize) -> Option<usize> {
    const PAGE: usize = 4096;
    nbytes.max(1).checked_next_multiple_of(PAGE).filter(|&nbytes| isize::try_from(nbytes).is_ok())
}
