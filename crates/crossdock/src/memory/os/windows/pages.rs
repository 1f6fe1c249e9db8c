//! Memory and mappings. An allocation of addresses is released whole; its end can give up its pages
//! before, and keeps the addresses.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{self, NonNull};

use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, FILE_MAP_WRITE, MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE,
    MEMORY_BASIC_INFORMATION, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFileEx, PAGE_NOACCESS, PAGE_READONLY,
    PAGE_READWRITE, PrefetchVirtualMemory, UnmapViewOfFile, VirtualAlloc, VirtualFree, VirtualQuery,
    WIN32_MEMORY_RANGE_ENTRY,
};
use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use crate::memory::os::fd::BorrowedFd;
use crate::memory::os::types::{PageAccess, PageAdvice};

fn system() -> SYSTEM_INFO {
    let mut found = MaybeUninit::<SYSTEM_INFO>::zeroed();
    // SAFETY: `found` is a record of the right type that the call writes.
    unsafe { GetSystemInfo(found.as_mut_ptr()) };
    // SAFETY: the record was zeroed before the call; every field of it is a number or a pointer,
    // for which zero is a value.
    unsafe { found.assume_init() }
}

/// The size of a page of memory, in bytes.
#[inline]
pub(crate) fn size() -> usize {
    system().dwPageSize as usize
}

/// The offsets in a file at which mappings can begin are multiples of this many bytes, which is a
/// multiple of the page size.
#[inline]
pub(crate) fn granularity() -> usize {
    system().dwAllocationGranularity as usize
}

/// Whether memory is mapped in pages.
pub(crate) const HAS_MAPPINGS: bool = true;

fn protection(access: PageAccess) -> u32 {
    match access {
        PageAccess::None => PAGE_NOACCESS,
        PageAccess::Read => PAGE_READONLY,
        PageAccess::ReadWrite => PAGE_READWRITE,
    }
}

/// Private zeros at addresses that the system chooses, or reserved addresses. `None`: out of
/// memory.
#[inline]
pub(crate) fn map(nbytes: usize, access: PageAccess) -> Option<NonNull<u8>> {
    map_at(ptr::null(), nbytes, access)
}

/// As [`map`]: the system promises the memory.
#[inline]
pub(crate) fn map_unreserved(nbytes: usize, access: PageAccess) -> Option<NonNull<u8>> {
    map(nbytes, access)
}

/// As [`map`], at free addresses from `place` on, or `None`.
fn map_at(place: *const c_void, nbytes: usize, access: PageAccess) -> Option<NonNull<u8>> {
    let how = if access == PageAccess::None { MEM_RESERVE } else { MEM_RESERVE | MEM_COMMIT };
    // SAFETY: with `MEM_RESERVE` the call takes free addresses only.
    NonNull::new(unsafe { VirtualAlloc(place, nbytes, how, protection(access)) }.cast())
}

/// How often [`map_aligned`] looks for a place, which another thread can take meanwhile.
const LOOKS: usize = 16;

/// As [`map`], at a multiple of `align`, a power of two of at least a page.
pub(crate) fn map_aligned(nbytes: usize, align: usize, access: PageAccess) -> Option<NonNull<u8>> {
    let whole = nbytes.checked_add(align)?;
    for _ in 0..LOOKS {
        let start = map(whole, PageAccess::None)?;
        let lead = start.addr().get().wrapping_neg() % align;
        let place = start.as_ptr().wrapping_add(lead);
        // SAFETY: clauses 1 to 3 of `unmap`: the addresses were reserved above, and no other party
        // knows them.
        unsafe { unmap(start, whole) };
        let mapped = map_at(place.cast(), nbytes, access);
        if mapped.is_some() {
            return mapped;
        }
    }
    None
}

/// What the system says of an address.
fn found_at(place: *const u8) -> MEMORY_BASIC_INFORMATION {
    let mut found = MaybeUninit::<MEMORY_BASIC_INFORMATION>::zeroed();
    let nbytes = size_of::<MEMORY_BASIC_INFORMATION>();
    // SAFETY: the call accepts any address, and `found` is a record of `nbytes` bytes that it may
    // write.
    unsafe { VirtualQuery(place.cast(), found.as_mut_ptr(), nbytes) };
    // SAFETY: the record was zeroed before the call; every field of it is a number or a pointer,
    // for which zero is a value.
    unsafe { found.assume_init() }
}

/// Pages of a mapping cannot be replaced, and need not be: no page is ever missing.
///
/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn replace(_: NonNull<u8>, _: usize, _: PageAccess) -> bool {
    false
}

/// Maps bytes of a file for all its users, from byte `offset` on, a multiple of [`granularity`]; at
/// the address `near` if that range is free.
pub(crate) fn map_file(
    fd: BorrowedFd<'_>,
    offset: u64,
    nbytes: usize,
    access: PageAccess,
    near: Option<NonNull<u8>>,
) -> io::Result<NonNull<u8>> {
    let (attributes, name) = (ptr::null(), ptr::null());
    // SAFETY: `fd` is borrowed, so it is open; null pointers request the defaults, and no size that
    // of the file.
    let section = unsafe { CreateFileMappingW(fd.handle(), attributes, protection(access), 0, 0, name) };
    if section.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned `section`, which is not null, so it is open, and nothing else owns
    // it. Views keep the section alive.
    let section = unsafe { OwnedHandle::from_raw_handle(section) };
    let wanted = if access == PageAccess::ReadWrite { FILE_MAP_WRITE } else { FILE_MAP_READ };
    let view = |near: *const c_void| {
        let (high, low) = ((offset >> 32) as u32, offset as u32);
        // SAFETY: `section` is open. The call maps at free addresses only.
        unsafe { MapViewOfFileEx(section.as_raw_handle(), wanted, high, low, nbytes, near) }.Value
    };
    let at_near = near.and_then(|near| NonNull::new(view(near.as_ptr().cast())));
    let base = at_near.or_else(|| NonNull::new(view(ptr::null())));
    base.map(NonNull::cast).ok_or_else(io::Error::last_os_error)
}

/// Pools have no shared memory to map.
///
/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn map_file_over(_: NonNull<u8>, _: usize, _: BorrowedFd<'_>) -> Option<NonNull<u8>> {
    None
}

/// Unmaps a mapping of [`map`] and its like, or its end, whose addresses stay reserved. `false`:
/// the system refused, and nothing changed.
///
/// # Safety
///
/// 1. The range begins and ends at a page, and its mapping is the caller's own.
/// 2. It is not used any more.
/// 3. It is the end of the mapping, or all that is left of it.
pub(crate) unsafe fn unmap(base: NonNull<u8>, nbytes: usize) -> bool {
    let is_front = found_at(base.as_ptr()).AllocationBase == base.as_ptr().cast();
    let (nbytes, how) = if is_front { (0, MEM_RELEASE) } else { (nbytes, MEM_DECOMMIT) };
    // SAFETY: clauses 1 to 3 of `# Safety`: a range that begins where its mapping does is all that
    // is left of it, and any other the end, whose pages no code uses.
    unsafe { VirtualFree(base.as_ptr().cast(), nbytes, how) != 0 }
}

/// Unmaps what [`map_file`] mapped, all of it.
///
/// # Safety
///
/// 1. The range is a mapping of the caller's own.
/// 2. It is not used any more.
pub(crate) unsafe fn unmap_file(base: NonNull<u8>, _nbytes: usize) {
    // SAFETY: clauses 1 and 2 of `# Safety`: `base` is the first address of a view, which no code
    // uses.
    unsafe { UnmapViewOfFile(MEMORY_MAPPED_VIEW_ADDRESS { Value: base.as_ptr().cast() }) };
}

/// Passes advice on the pages that have the range. A hint, whose failure changes nothing.
pub(crate) fn advise(start: *const u8, nbytes: usize, advice: PageAdvice) {
    if advice == PageAdvice::WillNeed {
        let range =
            WIN32_MEMORY_RANGE_ENTRY { VirtualAddress: start.cast_mut().cast(), NumberOfBytes: nbytes };
        // SAFETY: the call reads the one record, and makes pages resident that are mapped. It
        // changes no byte.
        unsafe { PrefetchVirtualMemory(GetCurrentProcess(), 1, &raw const range, 0) };
    }
}

/// The system trims the pages of files by itself.
///
/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn release_file_pages(_: *const u8, _: usize) {}

/// Grows a mapping into addresses that an earlier [`unmap`] of its end left reserved. `None`: it is
/// unchanged, since there are none.
///
/// # Safety
///
/// 1. The range is one mapping of the caller's own, which no other code accesses.
pub(crate) unsafe fn grow_in_place(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    let end = base.as_ptr().wrapping_add(old);
    let found = found_at(end);
    let is_own = found.AllocationBase == base.as_ptr().cast() && found.State == MEM_RESERVE;
    if !is_own || found.RegionSize < new - old {
        return None;
    }
    // SAFETY: the addresses are reserved for this mapping, which is the caller's own (clause 1 of
    // `# Safety`), and have no pages.
    let grown = unsafe { VirtualAlloc(end.cast(), new - old, MEM_COMMIT, PAGE_READWRITE) };
    (!grown.is_null()).then_some(base)
}

/// Grows a mapping, and copies it to another place if it has no room where it is. `None`: it is
/// unchanged.
///
/// # Safety
///
/// 1. The range is one mapping of the caller's own, which no other code accesses; if the result is
///    `Some`, its old addresses are not used any more.
pub(crate) unsafe fn grow(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    // SAFETY: clause 1 of `# Safety`.
    if let Some(stayed) = unsafe { grow_in_place(base, old, new) } {
        return Some(stayed);
    }
    let place = map(new, PageAccess::None)?;
    // SAFETY: clause 1 of `# Safety`; `place` was reserved above, and no other code knows it.
    unsafe { move_to(base, old, new, place) }
}

/// Copies a mapping to a reserved range of `new` bytes, and unmaps it. `None`: it is unchanged, and
/// the reserved range is unmapped.
///
/// # Safety
///
/// 1. The range is one mapping of the caller's own, which no other code accesses; if the result is
///    `Some`, its old addresses are not used any more.
/// 2. The caller reserved `place`, and does not use it any more.
pub(crate) unsafe fn move_to(
    base: NonNull<u8>,
    old: usize,
    new: usize,
    place: NonNull<u8>,
) -> Option<NonNull<u8>> {
    // SAFETY: clause 2 of `# Safety`: the addresses are reserved, and have no pages.
    let grown = unsafe { VirtualAlloc(place.as_ptr().cast(), new, MEM_COMMIT, PAGE_READWRITE) };
    if grown.is_null() {
        // SAFETY: clauses 1 to 3 of `unmap`: the caller reserved the range, and does not use it
        // (clause 2 of `# Safety`).
        unsafe { unmap(place, new) };
        return None;
    }
    // SAFETY: the mapping has `old` bytes and the new one `new`, no fewer; they are different
    // allocations.
    unsafe { place.copy_from_nonoverlapping(base, old.min(new)) };
    // SAFETY: clauses 1 to 3 of `unmap`: the range is the caller's own mapping, whose old addresses
    // are not used any more, since the result is `Some` (clause 1 of `# Safety`).
    unsafe { unmap(base, old) };
    Some(place)
}

/// The system promised the memory, and makes pages resident when they are touched.
#[inline]
pub(crate) fn populate(_: NonNull<u8>, _: usize) -> bool {
    true
}

/// The system has huge pages for privileged users only.
#[inline]
pub(crate) fn advise_huge(_: NonNull<u8>, _: usize, _: bool) {}

/// The system has huge pages for privileged users only.
#[inline]
pub(crate) fn collapse(_: NonNull<u8>, _: usize) {}

/// The node is the system's choice.
pub(crate) fn prefer_node(_: NonNull<u8>, _: usize, _: u32) {}
