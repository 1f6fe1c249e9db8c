//! Pages of the system: fences, which fault on access, and rooms for bytes.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;

/// A mapping of pages.
///
/// # Invariants
///
/// 1. `base..base + nbytes` is a mapping that this value created and alone unmaps.
#[derive(Debug)]
pub(crate) struct Pages {
    base: *mut u8,
    nbytes: usize,
    /// The file of pages that other processes can map.
    file: Option<File>,
}

// SAFETY: the mapping is bound to no thread, and any thread may unmap it (Pages 1).
unsafe impl Send for Pages {}
// SAFETY: `&Pages` returns the address, the size and the descriptor only, and accesses no bytes.
unsafe impl Sync for Pages {}

const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Pages {
    /// Addresses that fault on access.
    pub(crate) fn fence(nbytes: usize) -> Option<Self> {
        Self::map(nbytes, libc::PROT_NONE, PRIVATE, None)
    }

    /// As [`Pages::fence`], at a multiple of a power of two.
    pub(crate) fn aligned_fence(nbytes: usize, alignment: usize) -> Option<Self> {
        let nbytes = rounded(nbytes)?;
        let all = std::mem::ManuallyDrop::new(Self::fence(nbytes.checked_add(alignment)?)?);
        let before = all.base.addr().next_multiple_of(alignment) - all.base.addr();
        let part = |from: usize, nbytes| Self { base: all.base.wrapping_add(from), nbytes, file: None };
        // Three parts of the mapping, of which this returns the middle one and unmaps the others.
        let (_before, _behind) = (part(0, before), part(before + nbytes, all.nbytes - before - nbytes));
        Some(part(before, nbytes))
    }

    /// Zeroed bytes.
    pub(crate) fn room(nbytes: usize) -> Option<Self> {
        Self::map(nbytes, libc::PROT_READ | libc::PROT_WRITE, PRIVATE, None)
    }

    /// Zeroed bytes that other processes can map.
    pub(crate) fn shared(nbytes: usize) -> Option<Self> {
        // SAFETY: the name is a C string, and the call creates a descriptor without any other
        // effect.
        let descriptor = unsafe { libc::memfd_create(c"crossdock-mock-cuda".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return None;
        }
        // SAFETY: the call above created the descriptor, which no other value owns.
        let file = unsafe { File::from_raw_fd(descriptor) };
        file.set_len(rounded(nbytes)?.try_into().ok()?).ok()?;
        Self::of(file, nbytes)
    }

    /// The bytes of a file that [`Pages::shared`] created in another process.
    pub(crate) fn of(file: File, nbytes: usize) -> Option<Self> {
        Self::map(nbytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, Some(file))
    }

    fn map(nbytes: usize, protection: i32, flags: i32, file: Option<File>) -> Option<Self> {
        let nbytes = rounded(nbytes)?;
        let descriptor = file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        // SAFETY: the system chooses an unused address, so the new mapping replaces no memory of
        // this process.
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
        // SAFETY: the range is a mapping that this value created and alone unmaps; users of its
        // bytes hold the value (Pages 1).
        unsafe { libc::munmap(self.base.cast(), self.nbytes) };
    }
}

fn rounded(nbytes: usize) -> Option<usize> {
    const PAGE: usize = 4096;
    nbytes.max(1).checked_next_multiple_of(PAGE).filter(|&nbytes| isize::try_from(nbytes).is_ok())
}
