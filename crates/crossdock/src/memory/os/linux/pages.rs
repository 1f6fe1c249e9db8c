//! Mappings: moves, huge pages and nodes.

use std::io;
use std::ptr::NonNull;

pub(crate) use crate::memory::os::unix::pages::*;

/// Grows a mapping where it is. `None`: it is unchanged, since the addresses behind it are used.
///
/// # Safety
///
/// 1. The range is one mapping of the caller's own, which no other code accesses.
#[inline]
pub(crate) unsafe fn grow_in_place(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    // SAFETY: clause 1 of `# Safety`; without `MREMAP_MAYMOVE` the mapping grows in place, or the
    // call fails.
    mapped(unsafe { libc::mremap(base.as_ptr().cast(), old, new, 0) })
}

/// Grows a mapping, and moves its pages if they have no room where they are. `None`: it is
/// unchanged.
///
/// # Safety
///
/// 1. The range is one mapping of the caller's own, which no other code accesses; if the result is
///    `Some`, its old addresses are not used any more.
#[inline]
pub(crate) unsafe fn grow(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    // SAFETY: clause 1 of `# Safety`; without `MREMAP_FIXED` the system picks free addresses.
    mapped(unsafe { libc::mremap(base.as_ptr().cast(), old, new, libc::MREMAP_MAYMOVE) })
}

/// Moves the pages of a mapping to a reserved range of `new` bytes, and grows it to that size.
/// `None`: it is unchanged, and the reserved range may be unmapped.
///
/// # Safety
///
/// 1. The range is one mapping of the caller's own, which no other code accesses; if the result is
///    `Some`, its old addresses are not used any more.
/// 2. The caller reserved `place`, or owns what is mapped there and does not use it any more.
#[inline]
pub(crate) unsafe fn move_to(
    base: NonNull<u8>,
    old: usize,
    new: usize,
    place: NonNull<u8>,
) -> Option<NonNull<u8>> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    let place = place.as_ptr().cast::<libc::c_void>();
    // SAFETY: clauses 1 and 2 of `# Safety`: the range is the caller's own, and the move replaces
    // only what the caller does not use.
    mapped(unsafe { libc::mremap(base.as_ptr().cast(), old, new, flags, place) })
}

/// Makes all pages of a mapping of the caller's own resident, as far as memory suffices. `false` if
/// it does not.
#[inline]
pub(crate) fn populate(base: NonNull<u8>, nbytes: usize) -> bool {
    // SAFETY: `MADV_POPULATE_WRITE` changes no byte of the range.
    let done = unsafe { libc::madvise(base.as_ptr().cast(), nbytes, libc::MADV_POPULATE_WRITE) } == 0;
    // Systems before Linux 5.14 do not know the advice.
    done || io::Error::last_os_error().kind() == io::ErrorKind::InvalidInput
}

/// Has the system use huge pages for a range, or small ones only.
#[inline]
pub(crate) fn advise_huge(base: NonNull<u8>, nbytes: usize, is_huge: bool) {
    let advice = if is_huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
    // SAFETY: advice on huge pages changes no byte of the range.
    let _refused = unsafe { libc::madvise(base.as_ptr().cast(), nbytes, advice) };
}

/// Moves what is resident into huge pages, as far as the system can (from Linux 6.1 on).
#[inline]
pub(crate) fn collapse(base: NonNull<u8>, nbytes: usize) {
    /// From `linux/mman.h`.
    const MADV_COLLAPSE: i32 = 25;
    // SAFETY: the advice changes no byte of the range.
    let _refused = unsafe { libc::madvise(base.as_ptr().cast(), nbytes, MADV_COLLAPSE) };
}

/// Makes a node preferred for the pages of a range.
pub(crate) fn prefer_node(base: NonNull<u8>, nbytes: usize, node: u32) {
    const WORDS: usize = 16;
    let mut nodes = [0u64; WORDS];
    let Some(word) = nodes.get_mut(node as usize / 64) else { return };
    *word = 1 << (node % 64);
    // The system ignores the last of the bits that it is passed.
    let bits = WORDS * 64 + 1;
    // SAFETY: `mbind` changes no byte of the range. It reads `bits - 1` bits of the mask, which is
    // the size of `nodes`.
    let _refused = unsafe {
        libc::syscall(libc::SYS_mbind, base.as_ptr(), nbytes, libc::MPOL_PREFERRED, nodes.as_ptr(), bits, 0)
    };
}
