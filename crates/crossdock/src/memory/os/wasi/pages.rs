//! Memory of the allocator in the place of mappings. Files are read.

use std::alloc::Layout;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;

use crate::memory::os::fd::BorrowedFd;
use crate::memory::os::types::{PageAccess, PageAdvice};
use crate::memory::os::wasi::files;

/// The size of a page of memory, in bytes.
#[inline]
pub(crate) fn size() -> usize {
    64 << 10
}

/// Any byte of a file can be the first that is read.
#[inline]
pub(crate) fn granularity() -> usize {
    1
}

/// Whether memory is mapped in pages: the allocator has no pages, and takes back whole blocks only.
pub(crate) const HAS_MAPPINGS: bool = false;

fn layout(nbytes: usize, align: usize) -> Option<Layout> {
    Layout::from_size_align(nbytes, align).ok()
}

/// Zeros. `None`: out of memory.
pub(crate) fn map(nbytes: usize, access: PageAccess) -> Option<NonNull<u8>> {
    map_aligned(nbytes, size(), access)
}

/// As [`map`].
pub(crate) fn map_unreserved(nbytes: usize, access: PageAccess) -> Option<NonNull<u8>> {
    map(nbytes, access)
}

/// Pools take no such memory, so that [`unmap`] need not know its alignment.
pub(crate) fn map_aligned(nbytes: usize, align: usize, _: PageAccess) -> Option<NonNull<u8>> {
    let layout = layout(nbytes, align).filter(|layout| layout.size() > 0 && align == size())?;
    // SAFETY: the size is not 0, as checked above.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
}

/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn replace(_: NonNull<u8>, _: usize, _: PageAccess) -> bool {
    false
}

/// Reads bytes of a file, from byte `offset` on. Memory that would write to the file is not
/// supported.
pub(crate) fn map_file(
    fd: BorrowedFd<'_>,
    offset: u64,
    nbytes: usize,
    access: PageAccess,
    _near: Option<NonNull<u8>>,
) -> io::Result<NonNull<u8>> {
    if access != PageAccess::Read {
        let text = "this system maps no files, so that memory cannot write to one";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    let base = map(nbytes, access).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: `base` has `nbytes` zeros, which no other code knows.
    let room = unsafe { std::slice::from_raw_parts_mut(base.as_ptr(), nbytes) };
    // SAFETY: `fd` is borrowed, so it is open, and the file is never dropped.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd.as_raw_fd()) });
    let mut done = 0;
    while done < nbytes {
        match files::read_at(&file, &mut room[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) => {
                // SAFETY: clauses 1 to 3 of `unmap`: the memory was made above.
                unsafe { unmap(base, nbytes) };
                return Err(error);
            }
        }
    }
    Ok(base)
}

/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn map_file_over(_: NonNull<u8>, _: usize, _: BorrowedFd<'_>) -> Option<NonNull<u8>> {
    None
}

/// Frees memory of [`map`].
///
/// # Safety
///
/// 1. It was made with this size.
/// 2. It is not used any more.
pub(crate) unsafe fn unmap(base: NonNull<u8>, nbytes: usize) -> bool {
    let Some(layout) = layout(nbytes, size()) else { return false };
    // SAFETY: clauses 1 and 2 of `# Safety`: `map` allocated it with this layout, and it is not
    // used any more.
    unsafe { std::alloc::dealloc(base.as_ptr(), layout) };
    true
}

/// Frees memory of [`map_file`].
///
/// # Safety
///
/// 1. It was made with this size.
/// 2. It is not used any more.
pub(crate) unsafe fn unmap_file(base: NonNull<u8>, nbytes: usize) {
    // SAFETY: clauses 1 and 2 of `unmap` are clauses 1 and 2 of `# Safety`.
    unsafe { unmap(base, nbytes) };
}

pub(crate) fn advise(_: *const u8, _: usize, _: PageAdvice) {}

/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn release_file_pages(_: *const u8, _: usize) {}

/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn grow_in_place(_: NonNull<u8>, _: usize, _: usize) -> Option<NonNull<u8>> {
    None
}

/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn grow(_: NonNull<u8>, _: usize, _: usize) -> Option<NonNull<u8>> {
    None
}

/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn move_to(_: NonNull<u8>, _: usize, _: usize, _: NonNull<u8>) -> Option<NonNull<u8>> {
    None
}

pub(crate) fn populate(_: NonNull<u8>, _: usize) -> bool {
    true
}

pub(crate) fn advise_huge(_: NonNull<u8>, _: usize, _: bool) {}

pub(crate) fn collapse(_: NonNull<u8>, _: usize) {}

pub(crate) fn prefer_node(_: NonNull<u8>, _: usize, _: u32) {}
