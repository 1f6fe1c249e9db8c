//! Mappings. A mapping belongs to the process, not to a thread.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

use crate::memory::os::types::{PageAccess, PageAdvice};

/// The size of a page of memory, in bytes.
#[inline]
pub(crate) fn size() -> usize {
    // SAFETY: `sysconf` returns a constant of the system and takes no pointer, so it accesses no
    // memory of the caller.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// The offsets in a file at which mappings can begin are multiples of this many bytes, which is a
/// multiple of the page size or 1.
#[inline]
pub(crate) fn granularity() -> usize {
    size()
}

/// Whether memory is mapped in pages: a range of them can be unmapped, and the rest stays.
pub(crate) const HAS_MAPPINGS: bool = true;

fn protection(access: PageAccess) -> i32 {
    match access {
        PageAccess::None => libc::PROT_NONE,
        PageAccess::Read => libc::PROT_READ,
        PageAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
    }
}

/// Private zeros at addresses that the system chooses. `None`: out of memory.
#[inline]
pub(crate) fn map(nbytes: usize, access: PageAccess) -> Option<NonNull<u8>> {
    map_anonymous(nbytes, access, 0)
}

/// As [`map`]; the system promises no memory before a page is touched.
#[inline]
pub(crate) fn map_unreserved(nbytes: usize, access: PageAccess) -> Option<NonNull<u8>> {
    map_anonymous(nbytes, access, libc::MAP_NORESERVE)
}

#[inline]
fn map_anonymous(nbytes: usize, access: PageAccess, flags: i32) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a null address without `MAP_FIXED`: the system picks a free range, so no existing
    // mapping changes.
    mapped(unsafe { libc::mmap(ptr::null_mut(), nbytes, protection(access), flags, -1, 0) })
}

/// As [`map`], at a multiple of `align`, a power of two of at least a page: maps a longer range and
/// unmaps its ends.
pub(crate) fn map_aligned(nbytes: usize, align: usize, access: PageAccess) -> Option<NonNull<u8>> {
    let whole = nbytes.checked_add(align)?;
    let start = map(whole, access)?;
    let lead = start.addr().get().wrapping_neg() % align;
    // SAFETY: `lead < align`, and the mapping has `nbytes + align` bytes, so the sum stays within
    // it.
    let base = unsafe { start.add(lead) };
    // SAFETY: clauses 1 and 2 of `unmap_part`: the range is the front of the mapping made above,
    // which no other party knows.
    if lead > 0 && !unsafe { unmap_part(start, lead) } {
        // SAFETY: clauses 1 and 2 of `unmap_part`: the failed call removed nothing, so the whole
        // mapping made above is left, which no other party knows.
        unsafe { unmap_part(start, whole) };
        return None;
    }
    // SAFETY: `lead < align` bytes lie in front of `base`, so `nbytes` more stay within the
    // `nbytes + align` bytes of the mapping.
    let end = unsafe { base.add(nbytes) };
    // SAFETY: clauses 1 and 2 of `unmap_part`: the range is the end of the mapping made above,
    // which no other party knows.
    if !unsafe { unmap_part(end, align - lead) } {
        // SAFETY: clauses 1 and 2 of `unmap_part`: the failed call removed nothing, so all of the
        // mapping from `base` on is left, which no other party knows.
        unsafe { unmap_part(base, whole - lead) };
        return None;
    }
    Some(base)
}

/// Replaces what is mapped at a range of pages with private zeros. A signal handler may call it.
/// `false`: the system refused.
///
/// # Safety
///
/// 1. The caller owns the addresses, and no reference to their bytes is left, or their bytes may
///    change at any time.
#[inline]
pub(crate) unsafe fn replace(base: NonNull<u8>, nbytes: usize, access: PageAccess) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let at = base.as_ptr().cast();
    // SAFETY: clause 1 of `# Safety`: only memory of the caller is replaced.
    mapped(unsafe { libc::mmap(at, nbytes, protection(access), flags, -1, 0) }).is_some()
}

/// Maps bytes of a file for all its users, from byte `offset` on, a multiple of the page size; at
/// the address `near` if that range is free.
#[inline]
pub(crate) fn map_file(
    fd: BorrowedFd<'_>,
    offset: u64,
    nbytes: usize,
    access: PageAccess,
    near: Option<NonNull<u8>>,
) -> io::Result<NonNull<u8>> {
    let Ok(offset) = libc::off_t::try_from(offset) else {
        return Err(io::ErrorKind::FileTooLarge.into());
    };
    let near = near.map_or(ptr::null_mut(), NonNull::as_ptr).cast();
    let (prot, fd) = (protection(access), fd.as_raw_fd());
    // SAFETY: without `MAP_FIXED`, `near` is a hint and the system picks a free range, so that no
    // existing mapping changes.
    let base = unsafe { libc::mmap(near, nbytes, prot, libc::MAP_SHARED, fd, offset) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// Maps the beginning of a file, for reading and writing, over reserved addresses.
///
/// # Safety
///
/// 1. The caller reserved the range, and no code uses it.
#[inline]
pub(crate) unsafe fn map_file_over(
    place: NonNull<u8>,
    nbytes: usize,
    fd: BorrowedFd<'_>,
) -> Option<NonNull<u8>> {
    let (flags, at) = (libc::MAP_SHARED | libc::MAP_FIXED, place.as_ptr().cast());
    let (prot, fd) = (protection(PageAccess::ReadWrite), fd.as_raw_fd());
    // SAFETY: clause 1 of `# Safety`: the new mapping replaces nothing that is used.
    mapped(unsafe { libc::mmap(at, nbytes, prot, flags, fd, 0) })
}

/// Unmaps a mapping of [`map`] and its like, or its end: the rest stays as it is. `false`: the
/// system refused, and nothing changed.
///
/// # Safety
///
/// 1. The range begins and ends at a page, and its mapping is the caller's own.
/// 2. It is not used any more.
/// 3. It is the end of the mapping, or all that is left of it: some systems keep the addresses of a
///    mapping together.
#[inline]
pub(crate) unsafe fn unmap(base: NonNull<u8>, nbytes: usize) -> bool {
    // SAFETY: clauses 1 and 2 of `unmap_part` are clauses 1 and 2 of `# Safety`.
    unsafe { unmap_part(base, nbytes) }
}

/// Unmaps what [`map_file`] mapped, all of it.
///
/// # Safety
///
/// 1. The range is a mapping of the caller's own.
/// 2. It is not used any more.
#[inline]
pub(crate) unsafe fn unmap_file(base: NonNull<u8>, nbytes: usize) {
    // SAFETY: clauses 1 and 2 of `unmap_part` are clauses 1 and 2 of `# Safety`.
    unsafe { unmap_part(base, nbytes) };
}

/// # Safety
///
/// 1. The range begins and ends at a page, and its mappings are the caller's own.
/// 2. It is not used any more.
#[inline]
unsafe fn unmap_part(base: NonNull<u8>, nbytes: usize) -> bool {
    // SAFETY: clauses 1 and 2 of `# Safety`: the range is the caller's own mapping, and no
    // reference to it is left.
    unsafe { libc::munmap(base.as_ptr().cast(), nbytes) == 0 }
}

/// Passes advice on the pages that have the range. A hint, whose failure changes nothing.
#[inline]
pub(crate) fn advise(start: *const u8, nbytes: usize, advice: PageAdvice) {
    let advice = match advice {
        PageAdvice::Normal => libc::MADV_NORMAL,
        PageAdvice::Random => libc::MADV_RANDOM,
        PageAdvice::WillNeed => libc::MADV_WILLNEED,
    };
    // `madvise` requires the address of a page.
    let within = start.addr() % size();
    let page = start.wrapping_sub(within).cast_mut().cast();
    // SAFETY: each advice of the table above only changes what the system reads when; no byte of
    // any memory changes, whatever is mapped there.
    unsafe { libc::madvise(page, nbytes + within, advice) };
}

/// Removes the pages that have the range from the memory of this process; the next access maps
/// them again.
///
/// # Safety
///
/// 1. The pages are of shared mappings of files: others would lose what was written.
#[inline]
pub(crate) unsafe fn release_file_pages(start: *const u8, nbytes: usize) {
    let within = start.addr() % size();
    let page = start.wrapping_sub(within).cast_mut().cast();
    // SAFETY: clause 1 of `# Safety`: such a map loses no byte, since the next access reads the
    // file again.
    unsafe { libc::madvise(page, nbytes + within, libc::MADV_DONTNEED) };
}

/// The result of `mmap`, or of a call that returns what it does.
#[inline]
pub(crate) fn mapped(result: *mut c_void) -> Option<NonNull<u8>> {
    if result == libc::MAP_FAILED { None } else { NonNull::new(result.cast()) }
}
