//! A mapped file.
//!
//! Reasons: `DESIGN.md`, "A mapped file gives no references".

use std::fs::File;
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result, system_text};
use crate::memory::fault;
use crate::memory::handle::Handle;
use crate::memory::header::{Birth, Descriptor, Region};
use crate::memory::memfd::is_out_of_memory;
use crate::memory::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use crate::memory::os::{PageAccess, files, pages};
use crate::memory::overlap::{Elsewhere, Extent};
use crate::memory::owner::beside::BesideOwner;
use crate::memory::owner::keep::{Keep, adopt};
use crate::memory::place::{Backing, Place};

/// How to map a file.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::memory::MapOptions;
/// # let path = std::env::temp_dir().join(format!("crossdock-map-{}", std::process::id()));
/// # std::fs::write(&path, b"0123456789")?;
/// let file = std::fs::File::open(&path)?;
/// let buffer = Buffer::map(file, MapOptions::new().range(4, 3))?;
/// assert_eq!(buffer.pin()?.to_vec(), b"456");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MapOptions {
    offset: u64,
    nbytes: Option<usize>,
    writable: bool,
    guarded: bool,
}

impl MapOptions {
    /// The whole file, read-only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only `nbytes` bytes from byte `offset` on. Neither need be a multiple of the page size.
    pub fn range(mut self, offset: u64, nbytes: usize) -> Self {
        self.offset = offset;
        self.nbytes = Some(nbytes);
        self
    }

    /// Makes the array writable, and with it the file, which must be open for reading and writing.
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.writable
    }

    /// Reports a file that shrinks under its map as an error of
    /// [`Buffer::fault`](crate::buffer::Buffer::fault), instead of ending the process. Bytes beyond
    /// the new end read as zero.
    ///
    /// On POSIX systems it installs a handler of `SIGBUS` for the process; the handler forwards
    /// faults elsewhere to the previous handler. At most 128 maps are guarded at a time: one more
    /// is an error (`is_exhausted`).
    pub fn guarded(mut self, guarded: bool) -> Self {
        self.guarded = guarded;
        self
    }
}

/// # Invariants
///
/// 1. `base..base + nbytes` is a mapping that `new` made, and only the drop of this value unmaps
///    it.
pub(super) struct FileMapping {
    base: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: FileMapping 1: an address range belongs to the process, and `munmap` may run on any
// thread.
unsafe impl Send for FileMapping {}

impl FileMapping {
    /// Maps `nbytes` (not 0) from byte `offset`, a multiple of [`pages::granularity`]; at the
    /// address `near` if that range is free.
    pub(super) fn new(
        fd: BorrowedFd<'_>,
        offset: u64,
        nbytes: usize,
        writable: bool,
        near: Option<NonNull<u8>>,
    ) -> std::io::Result<Self> {
        let base = pages::map_file(fd, offset, nbytes, PageAccess::to_write(writable), near)?;
        Ok(Self { base, nbytes })
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub(super) fn nbytes(&self) -> usize {
        self.nbytes
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: clauses 1 and 2 of `unmap_file`: by FileMapping 1 the range is this value's own
        // mapping, and the drop runs once.
        unsafe { pages::unmap_file(self.base, self.nbytes) };
    }
}

/// A mapping of a file or of shared memory, with the descriptor that it came from.
pub(super) struct Mapped {
    // The next two fields are declared before the mapping, and so are dropped before it: a watched
    // range is always mapped.
    /// The file behind the mapping, for [`overlap`](crate::memory::overlap): it may be mapped a
    /// second time.
    _file: Option<Elsewhere>,
    pub(super) watch: Option<fault::Watch>,
    /// `None` for an empty range.
    pub(super) mapping: Option<FileMapping>,
    pub(super) fd: OwnedFd,
    /// The byte of the file at which the region begins, and the region's length.
    pub(super) offset: u64,
    pub(super) nbytes: usize,
}

impl Mapped {
    /// Maps `nbytes` bytes of a descriptor from byte `offset` on, which need not be page-aligned;
    /// the descriptor has these bytes. Returns the address of the first byte: `near` if that range
    /// is free.
    pub(super) fn new(
        fd: OwnedFd,
        offset: u64,
        nbytes: usize,
        writable: bool,
        near: Option<NonNull<u8>>,
    ) -> Result<(Self, NonNull<u8>)> {
        if nbytes == 0 {
            return Ok((
                Self { _file: None, watch: None, mapping: None, fd, offset, nbytes },
                NonNull::dangling(),
            ));
        }
        // The bytes between the place where a mapping can begin and the range are mapped, too.
        let lead = (offset % pages::granularity() as u64) as usize;
        let whole = nbytes.checked_add(lead).ok_or_else(|| Error::out_of_memory(nbytes, 1))?;
        let first = offset - lead as u64;
        let near = near.and_then(|near| NonNull::new(near.as_ptr().wrapping_sub(lead)));
        let mapping = FileMapping::new(fd.as_fd(), first, whole, writable, near).map_err(|error| {
            let text =
                format!("{nbytes} bytes from byte {offset} on could not be mapped: {}", system_text(&error));
            let kind = if is_out_of_memory(&error) { Kind::OutOfMemory } else { Kind::Io };
            Error::caused(kind, text, error)
        })?;
        // SAFETY: the mapping has `whole = lead + nbytes` bytes, so that the sum stays within it.
        let ptr = unsafe { mapping.base().add(lead) };
        let bytes = Extent::of_host(mapping.base().addr().get(), whole);
        let file = Elsewhere::new(bytes, Extent::of_file(identity(&fd)?, first, whole))?;
        Ok((Self { _file: Some(file), watch: None, mapping: Some(mapping), fd, offset, nbytes }, ptr))
    }

    /// Adds the guard for files that shrink.
    pub(super) fn watched(mut self, writable: bool) -> Result<Self> {
        if let Some(mapping) = &self.mapping {
            let (offset, nbytes) = (self.offset, self.nbytes);
            let file = fault::FilePart { fd: self.fd.as_raw_fd(), offset, nbytes };
            // SAFETY: FileMapping 1: `self` owns the mapping, which has the access `writable`
            // states, and drops it after `watch`, which is declared first.
            self.watch =
                Some(unsafe { fault::Watch::new(mapping.base(), mapping.nbytes(), writable, &file) }?);
        }
        Ok(self)
    }
}

impl Keep for Mapped {
    unsafe fn free(self) {
        drop(self);
    }

    fn descriptor(&self) -> Option<Descriptor> {
        // The system reports the mode: a read-only map can come from a descriptor that is open for
        // writing.
        Some(Descriptor {
            fd: self.fd.as_raw_fd(),
            offset: self.offset,
            writable: files::is_open_for_writing(self.fd.as_fd()),
        })
    }

    fn fault(&self) -> Option<Error> {
        self.watch.as_ref()?.fault()
    }
}

pub(crate) fn map_file(file: File, options: &MapOptions) -> Result<Handle> {
    let (keep, region) = mapped_file(file, options)?;
    // SAFETY: clauses 1 and 2 of `adopt`: `mapped_file` returns a region within the mapping, which
    // only `keep` unmaps; a file's bytes are initialised. Clause 3: other processes may write the
    // file, hence `Aliased`; this library's accesses to aliased memory are racy ones.
    unsafe { adopt(region, Birth::Aliased, keep) }
}

/// As [`map_file`]; the last holder drops `value` after the map.
pub(crate) fn map_file_keeping<T: Send + 'static>(
    file: File,
    options: &MapOptions,
    value: T,
) -> Result<Handle> {
    let (mapped, region) = mapped_file(file, options)?;
    // SAFETY: clauses 1 and 2 of `adopt`: `mapped_file` returns a region within the mapping, which
    // only `mapped` unmaps; a file's bytes are initialised. Clause 3: other processes may write the
    // file, hence `Aliased`.
    unsafe { adopt(region, Birth::Aliased, BesideOwner { mapped, value }) }
}

/// Maps a regular file. The region lies within the mapping.
fn mapped_file(file: File, options: &MapOptions) -> Result<(Mapped, Region)> {
    let metadata = file.metadata().map_err(|error| {
        let text = format!("the file's size could not be read: {}", system_text(&error));
        Error::caused(Kind::Io, text, error)
    })?;
    if !metadata.is_file() {
        return Err(Error::new(
            Kind::Unsupported,
            "it is not a regular file, and only a regular file can be mapped",
        ));
    }
    if files::file_system(file.as_fd()) == Some(HUGE_PAGES) {
        return Err(Error::new(Kind::Unsupported, HUGE_PAGES_REFUSED));
    }
    let (offset, file_nbytes) = (options.offset, metadata.len());
    let available = file_nbytes.checked_sub(offset).ok_or_else(|| {
        Error::new(
            Kind::Bounds,
            format!("byte {offset} is past the end of the file, which has {file_nbytes} bytes"),
        )
    })?;
    let wanted = options.nbytes.map_or(available, |nbytes| nbytes as u64);
    if wanted > available {
        return Err(Error::new(
            Kind::Bounds,
            format!(
                "{wanted} bytes from byte {offset} on were requested, but the file has {file_nbytes} bytes: \
                {} are missing",
                wanted - available
            ),
        ));
    }
    let nbytes = usize::try_from(wanted)
        .map_err(|_| Error::new(Kind::Overflow, format!("{wanted} bytes exceed the address space")))?;
    let (keep, ptr) = Mapped::new(file.into(), offset, nbytes, options.writable, None)?;
    let keep = if options.guarded { keep.watched(options.writable)? } else { keep };
    Ok((keep, Region { ptr, nbytes, place: Place::CPU, backing: Backing::File }))
}

/// The file system of huge pages (`HUGETLBFS_MAGIC`).
pub(super) const HUGE_PAGES: u32 = 0x9584_58f6;

/// Why memory with huge pages is refused.
pub(super) const HUGE_PAGES_REFUSED: &str = "the descriptor is memory of huge pages (hugetlbfs), which faults when the system has none left; copy \
    it into a memfd of ordinary pages";

/// The device and inode of a file: the same for every descriptor of it, by whichever path it was
/// opened.
pub(crate) fn identity(fd: impl AsFd) -> Result<(u64, u64)> {
    files::identity(fd.as_fd()).map_err(|error| {
        Error::caused(
            Kind::Io,
            format!("the file behind the descriptor could not be identified: {}", system_text(&error)),
            error,
        )
    })
}
