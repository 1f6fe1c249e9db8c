//! Memory that is shared with other processes: an anonymous file whose size is sealed, and which
//! can be sealed against writing.
//!
//! | seal | set by | effect |
//! |---|---|---|
//! | `F_SEAL_SHRINK`, `F_SEAL_GROW` | [`allocate_shared`] | fixed size: no map can fault |
//! | `F_SEAL_FUTURE_WRITE` | [`deny_new_writers`] | existing maps can write; no new writable map |
//! | `F_SEAL_WRITE`, `F_SEAL_SEAL` | [`seal`] | no process can write it |
//!
//! A system without seals maps such memory behind the guard for files that shrink, and it is never
//! constant. Windows refuses to shrink it.
//!
//! Seals belong to the memory, not to a descriptor or a process, and are never removed. Source:
//! `fcntl(2)`, "File Sealing".
//!
//! Reasons: `DESIGN.md`, "Each step towards constant memory is a call".

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result, system_text};
use crate::memory::handle::Handle;
use crate::memory::header::{Birth, Region};
use crate::memory::memfd::{is_out_of_memory, sized_memory};
use crate::memory::os::anonymous::{self, HAS_SEALS, MOST_NAME_NBYTES, add_seals, seals};
use crate::memory::os::fd::{AsFd, BorrowedFd, OwnedFd};
use crate::memory::os::{files, pages};
use crate::memory::owner::beside::BesideOwner;
use crate::memory::owner::file::{HUGE_PAGES, HUGE_PAGES_REFUSED, Mapped};
use crate::memory::owner::keep::adopt;
use crate::memory::place::{Backing, Place};
use crate::memory::publish::publish;
use crate::memory::word::LeaseKind;

/// Either of these denies every process a new writable map.
const NO_NEW_WRITERS: i32 = anonymous::SEAL_WRITE | anonymous::SEAL_FUTURE_WRITE;

/// Allocates `nbytes` zeroed bytes of shared memory. Its size is sealed, so that no map of it can
/// fault.
pub(crate) fn allocate_shared(nbytes: usize, name: &CStr) -> Result<Handle> {
    let name_nbytes = name.count_bytes();
    if name_nbytes > MOST_NAME_NBYTES {
        let text = format!(
            "the name of shared memory has {name_nbytes} bytes, and the system takes at most {MOST_NAME_NBYTES}"
        );
        return Err(Error::new(Kind::Value, text));
    }
    // The system maps whole pages.
    if nbytes.checked_next_multiple_of(pages::size()).is_none_or(|mapped| isize::try_from(mapped).is_err()) {
        return Err(Error::out_of_memory(nbytes, 1));
    }
    let fd = sized_memory(nbytes, name).map_err(|error| {
        let text = format!("{nbytes} bytes of shared memory could not be allocated: {}", system_text(&error));
        let kind = match error.kind() {
            io::ErrorKind::Unsupported => Kind::Unsupported,
            _ if is_out_of_memory(&error) => Kind::OutOfMemory,
            _ => Kind::Io,
        };
        Error::caused(kind, text, error)
    })?;
    map(fd, 0, nbytes, true, None, Birth::Aliased)
}

/// The file system of a `memfd` (`TMPFS_MAGIC`): a missing page is allocated when it is touched.
pub(crate) const ORDINARY_PAGES: u32 = 0x0102_1994;

/// Maps shared memory that another process made and sealed against shrinking. If it is sealed
/// against writing, too, it is constant.
///
/// Huge pages are refused: the seal keeps their size, but the sender can still punch a hole, and
/// the reader gets `SIGBUS` if no huge page is free to fill it. A hole in ordinary pages reads as
/// zeros.
pub(crate) fn map_shared(fd: OwnedFd, offset: u64, nbytes: usize, writable: bool) -> Result<Handle> {
    let (fd, birth) = check_shared(fd, offset, nbytes, writable)?;
    map(fd, offset, nbytes, writable, None, birth)
}

/// As [`map_shared`], for reading; the last holder drops `value` after the map.
pub(crate) fn map_shared_keeping<T: Send + 'static>(
    fd: OwnedFd,
    offset: u64,
    nbytes: usize,
    value: T,
) -> Result<Handle> {
    let (fd, birth) = check_shared(fd, offset, nbytes, false)?;
    let (mapped, ptr) = Mapped::new(fd, offset, nbytes, false, None)?;
    let mapped = if HAS_SEALS { mapped } else { mapped.watched(false)? };
    let region = Region { ptr, nbytes, place: Place::CPU, backing: Backing::Shared };
    // SAFETY: clauses 1 to 3 of `adopt`, as in `map`: the region lies within the mapping, only
    // `mapped` unmaps it, and `check_shared` returns `Constant` only where it found `F_SEAL_WRITE`.
    unsafe { adopt(region, birth, BesideOwner { mapped, value }) }
}

/// Checks that the memory has the range and permits the access. Returns the descriptor to map, and
/// who else may access the memory.
fn check_shared(fd: OwnedFd, offset: u64, nbytes: usize, writable: bool) -> Result<(OwnedFd, Birth)> {
    let seals = seals(fd.as_fd());
    if HAS_SEALS && seals & anonymous::SEAL_SHRINK == 0 {
        return Err(Error::new(
            Kind::Unsupported,
            "the descriptor is not memory sealed against shrinking; map it as a file",
        ));
    }
    match files::file_system(fd.as_fd()) {
        Some(ORDINARY_PAGES) => {}
        _ if !HAS_SEALS => {}
        Some(HUGE_PAGES) => return Err(Error::new(Kind::Unsupported, HUGE_PAGES_REFUSED)),
        other => {
            let text = match other {
                Some(magic) => format!("the descriptor is of file system {magic:#x}"),
                None => "the file system of the descriptor could not be read".to_owned(),
            };
            let text =
                format!("{text}, but shared memory must be a memfd of ordinary pages ({ORDINARY_PAGES:#x})");
            return Err(Error::new(Kind::Unsupported, text));
        }
    }
    if writable && seals & NO_NEW_WRITERS != 0 {
        return Err(Error::new(
            Kind::ReadOnly,
            format!("the shared memory accepts no new writers (seals {seals:#x}); map it for reading"),
        ));
    }
    let file = File::from(fd);
    let size = file
        .metadata()
        .map_err(|error| {
            let text = format!("the size of the shared memory could not be read: {}", system_text(&error));
            Error::caused(Kind::Io, text, error)
        })?
        .len();
    let end = offset.checked_add(nbytes as u64);
    if end.is_none_or(|end| end > size) {
        return Err(Error::new(
            Kind::Bounds,
            format!(
                "{nbytes} bytes from byte {offset} on were requested, but the shared memory has {size} \
                bytes"
            ),
        ));
    }
    if seals & anonymous::SEAL_WRITE == 0 {
        return Ok((file.into(), Birth::Aliased));
    }
    // Systems before Linux 6.7 refuse any shared map of write-sealed memory through a descriptor
    // that is open for writing.
    let fd = OwnedFd::from(file);
    let fd = if files::is_open_for_writing(fd.as_fd()) { for_reading(fd.as_fd()).unwrap_or(fd) } else { fd };
    // A seal is never removed, so the seals read above still hold.
    Ok((fd, Birth::Constant))
}

/// Denies all processes new writable maps of the memory, and writes through a descriptor. Existing
/// maps are unchanged.
pub(crate) fn deny_new_writers(handle: &Handle) -> Result<()> {
    let (fd, seals) = sealable(handle, NO_NEW_WRITERS)?;
    if seals & NO_NEW_WRITERS != 0 {
        return Ok(());
    }
    add_seals(fd, anonymous::SEAL_FUTURE_WRITE).map_err(|error| {
        Error::caused(Kind::Io, format!("new writers could not be denied: {}", system_text(&error)), error)
    })
}

/// Whether new writable maps of the memory are denied.
pub(crate) fn is_closed_to_writers(handle: &Handle) -> bool {
    // Other memory than shared memory has no seals.
    let descriptor = handle.descriptor().filter(|_| handle.header().backing() == Backing::Shared);
    descriptor.is_some_and(|descriptor| {
        // SAFETY: the owner keeps this descriptor open, and `handle` keeps the owner alive.
        let fd = unsafe { BorrowedFd::borrow_raw(descriptor.fd) };
        seals(fd) & NO_NEW_WRITERS != 0
    })
}

/// The result of a failed [`seal`].
pub(crate) struct NotSealed {
    /// The memory, unchanged or (`is_readonly`) mapped for reading only.
    pub(crate) handle: Handle,
    pub(crate) is_readonly: bool,
    pub(crate) error: Error,
}

/// Seals the memory against writing, permanently, and makes it constant. The handle's whole region
/// gets a new, read-only map.
///
/// The system refuses while any writable map exists, this handle's included, so that map is removed
/// first. If the system refuses because of another map, the memory is mapped for writing again, at
/// the same address if that is free.
pub(crate) fn seal(mut handle: Handle, is_readonly: bool) -> Result<Handle, NotSealed> {
    if handle.header().birth() == Birth::Constant && handle.header().backing() == Backing::Shared {
        return Ok(handle);
    }
    let prepared = handle.only_handle().map_err(Error::from).and_then(|()| PreparedSeal::new(&handle));
    let PreparedSeal { writer, ptr, nbytes, offset, reader } = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Err(NotSealed { handle, is_readonly, error }),
    };
    // This is the only handle: dropping it unmaps the memory.
    drop(handle);
    let Err(error) = add_seals(writer.as_fd(), anonymous::SEAL_WRITE | anonymous::SEAL_SEAL) else {
        // SAFETY: clause 1 of `mark_constant`: `F_SEAL_WRITE` was added, which the system does only
        // if no writable map exists, and it refuses new ones. Clause 2: `reader` is the one handle,
        // and buffers made of constant memory are read-only.
        unsafe { reader.mark_constant() };
        return Ok(reader);
    };
    let error = match error.kind() {
        io::ErrorKind::ResourceBusy => Error::caused(
            Kind::Conflict,
            "the memory cannot be sealed while another map of it, in this process or another, is writable",
            error,
        ),
        _ => {
            Error::caused(Kind::Io, format!("the memory could not be sealed: {}", system_text(&error)), error)
        }
    };
    if is_readonly {
        return Err(NotSealed { handle: reader, is_readonly, error });
    }
    Err(match map(writer, offset, nbytes, true, Some(ptr), Birth::Aliased) {
        Ok(handle) => {
            note_exports(&reader, &handle);
            NotSealed { handle, is_readonly, error }
        }
        // New writers were denied before, or there is no memory for a map.
        Err(_) => NotSealed { handle: reader, is_readonly: true, error },
    })
}

/// Everything that can fail before the memory is changed.
struct PreparedSeal {
    /// A descriptor that can write.
    writer: OwnedFd,
    /// The address, the size and the offset of the region.
    ptr: NonNull<u8>,
    nbytes: usize,
    offset: u64,
    /// The same region, mapped for reading.
    reader: Handle,
}

impl PreparedSeal {
    fn new(handle: &Handle) -> Result<Self> {
        if handle.is_part() {
            return Err(Error::new(
                Kind::Unsupported,
                "part of an allocation cannot be sealed, only all of it",
            ));
        }
        let (fd, _) = sealable(handle, anonymous::SEAL_WRITE)?;
        // A device may still be writing.
        handle.await_work(LeaseKind::Write)?;
        let again = |error: io::Error| {
            Error::caused(
                Kind::Io,
                format!("the descriptor could not be reopened: {}", system_text(&error)),
                error,
            )
        };
        let writer = fd.try_clone_to_owned().map_err(again)?;
        let reading = for_reading(fd).map_err(again)?;
        let header = handle.header();
        let (ptr, nbytes) = (header.ptr(), header.nbytes());
        let offset = handle.descriptor().map_or(0, |descriptor| descriptor.offset);
        let reader = map(reading, offset, nbytes, false, None, Birth::Aliased)?;
        note_exports(handle, &reader);
        Ok(Self { writer, ptr, nbytes, offset, reader })
    }
}

/// The descriptor behind shared memory that has one of the wanted seals or can get it, and its
/// present seals.
fn sealable(handle: &Handle, wanted: i32) -> Result<(BorrowedFd<'_>, i32)> {
    if !HAS_SEALS {
        let text = "this system has no seals, so other processes can always write shared memory";
        return Err(Error::new(Kind::Unsupported, text));
    }
    let backing = handle.header().backing();
    let descriptor = if backing == Backing::Shared { publish(handle)? } else { None };
    let Some(descriptor) = descriptor else {
        let text = format!("{backing} memory cannot be sealed, only shared memory");
        return Err(Error::new(Kind::Unsupported, text));
    };
    // SAFETY: the owner keeps this descriptor open, and `handle`, which the result borrows, keeps
    // the owner alive.
    let fd = unsafe { BorrowedFd::borrow_raw(descriptor.fd) };
    let seals = seals(fd);
    if seals & wanted == 0 {
        if !descriptor.writable {
            let text = "the descriptor is open for reading only; memory can be sealed only through a writable \
                descriptor";
            return Err(Error::new(Kind::ReadOnly, text));
        }
        if seals & anonymous::SEAL_SEAL != 0 {
            let text = format!("another process forbade further seals (seals {seals:#x})");
            return Err(Error::new(Kind::Unsupported, text));
        }
    }
    Ok((fd, seals))
}

/// Maps a range that the shared memory has. `Birth::Constant` requires that the memory is sealed
/// against writing.
fn map(
    fd: OwnedFd,
    offset: u64,
    nbytes: usize,
    writable: bool,
    near: Option<NonNull<u8>>,
    birth: Birth,
) -> Result<Handle> {
    let (keep, ptr) = Mapped::new(fd, offset, nbytes, writable, near)?;
    // Without seals, another process may have made the memory, and may shrink it.
    let keep = if HAS_SEALS { keep } else { keep.watched(writable)? };
    let region = Region { ptr, nbytes, place: Place::CPU, backing: Backing::Shared };
    // SAFETY: clause 1 of `adopt`: the region lies within the mapping, and a file's bytes are
    // initialised. Clause 2: only `keep` unmaps it. Clause 3: other processes may write the bytes,
    // hence `Aliased`; `Constant` comes from `check_shared`, where it found `F_SEAL_WRITE` set.
    unsafe { adopt(region, birth, keep) }
}

/// The same memory, opened for reading only.
pub(crate) fn for_reading(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    files::reopen(fd, false)
}

/// Copies the record of exports, which a refusal names, to the new handle.
fn note_exports(from: &Handle, to: &Handle) {
    if let Ok(lease) = to.lease(LeaseKind::Pin) {
        lease.mark_exported(from.header().exported());
    }
}
