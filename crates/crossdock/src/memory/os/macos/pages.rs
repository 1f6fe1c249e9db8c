//! Mappings: moves. Huge pages and nodes are the system's own matter.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

pub(crate) use crate::memory::os::unix::pages::*;

// From `mach/mach_init.h` and `mach/mach_vm.h`.
unsafe extern "C" {
    static mach_task_self_: u32;
    fn mach_vm_remap(
        target: u32,
        address: *mut u64,
        size: u64,
        mask: u64,
        flags: i32,
        source: u32,
        source_address: u64,
        copy: u32,
        protection: *mut i32,
        most_protection: *mut i32,
        inheritance: u32,
    ) -> i32;
}

/// `VM_FLAGS_FIXED` and `VM_FLAGS_OVERWRITE`.
const OVERWRITE: i32 = 0x4000;

/// `VM_INHERIT_COPY`: a forked child gets the pages as of a private mapping.
const INHERIT_COPY: u32 = 1;

/// Grows a mapping where it is. `None`: it is unchanged, since the addresses behind it are used.
///
/// # Safety
///
/// 1. The range is a private mapping of the caller's own, which no other code accesses.
#[inline]
pub(crate) unsafe fn grow_in_place(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    let end: *mut c_void = base.as_ptr().wrapping_add(old).cast();
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: without `MAP_FIXED` the address is a hint, so no existing mapping changes.
    let more = mapped(unsafe { libc::mmap(end, new - old, prot, flags, -1, 0) })?;
    if more.as_ptr().cast() == end {
        return Some(base);
    }
    // SAFETY: clauses 1 to 3 of `unmap`: the range was mapped above, and no code knows it.
    unsafe { unmap(more, new - old) };
    None
}

/// Grows a mapping, and moves its pages if they have no room where they are. `None`: it is
/// unchanged.
///
/// # Safety
///
/// 1. The range is a private mapping of the caller's own, which no other code accesses; if the
///    result is `Some`, its old addresses are not used any more.
#[inline]
pub(crate) unsafe fn grow(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    // SAFETY: clause 1 of `# Safety`.
    if let Some(stayed) = unsafe { grow_in_place(base, old, new) } {
        return Some(stayed);
    }
    let place = map(new, crate::memory::os::types::PageAccess::ReadWrite)?;
    // SAFETY: clause 1 of `# Safety`; `place` was mapped above, and no other code knows it.
    let moved = unsafe { move_to(base, old, new, place) };
    if moved.is_none() {
        // SAFETY: clauses 1 to 3 of `unmap`: the move failed, so `place` is as it was mapped.
        unsafe { unmap(place, new) };
    }
    moved
}

/// Moves the pages of a mapping to a reserved range of `new` bytes, and grows it to that size: both
/// addresses show the same pages for a moment, then the old ones are unmapped. `None`: it is
/// unchanged.
///
/// # Safety
///
/// 1. The range is a private mapping of the caller's own, which no other code accesses; if the
///    result is `Some`, its old addresses are not used any more.
/// 2. The caller reserved `place`, or owns what is mapped there and does not use it any more.
#[inline]
pub(crate) unsafe fn move_to(
    base: NonNull<u8>,
    old: usize,
    new: usize,
    place: NonNull<u8>,
) -> Option<NonNull<u8>> {
    if new > old {
        let end: *mut c_void = place.as_ptr().wrapping_add(old).cast();
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: clause 2 of `# Safety`: the end of the reserved range becomes accessible.
        if unsafe { libc::mprotect(end, new - old, prot) } != 0 {
            return None;
        }
    }
    // SAFETY: the C library sets the static before any code of this library runs.
    let task = unsafe { mach_task_self_ };
    let (mut address, source) = (place.addr().get() as u64, base.addr().get() as u64);
    let (mut protection, mut most) = (0, 0);
    let out = (&raw mut protection, &raw mut most);
    // SAFETY: clauses 1 and 2 of `# Safety`: the call maps the pages of `base` over the front of
    // `place`, and writes to the three locals.
    let failed = unsafe {
        mach_vm_remap(
            task,
            &raw mut address,
            old as u64,
            0,
            OVERWRITE,
            task,
            source,
            0,
            out.0,
            out.1,
            INHERIT_COPY,
        )
    };
    if failed != 0 {
        return None;
    }
    // SAFETY: clauses 1 to 3 of `unmap`: the range is the caller's own mapping, whose old
    // addresses are not used any more, since the result is `Some` (clause 1 of `# Safety`).
    unsafe { unmap(base, old) };
    NonNull::new(ptr::with_exposed_provenance_mut(address as usize))
}

/// The system decides when pages become resident.
#[inline]
pub(crate) fn populate(_: NonNull<u8>, _: usize) -> bool {
    true
}

/// The system decides on the sizes of pages.
#[inline]
pub(crate) fn advise_huge(_: NonNull<u8>, _: usize, _: bool) {}

/// The system decides on the sizes of pages.
#[inline]
pub(crate) fn collapse(_: NonNull<u8>, _: usize) {}

/// The system has no nodes.
pub(crate) fn prefer_node(_: NonNull<u8>, _: usize, _: u32) {}
