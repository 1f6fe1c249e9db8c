//! A window on an allocation.

use std::ffi::CStr;
use std::fmt;
use std::fs::File;
use std::ops::{Bound, Deref, Range, RangeBounds};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use crate::error::{Error, Kind, Rejected, Result, try_with_capacity};
use crate::memory::allocation::{Birth, Handle, Header, Lease};
use crate::memory::conflict::Protocols;
use crate::memory::guard::{PinGuard, ReadGuard, ShareGuard, WriteGuard};
use crate::memory::mutable::MutableBuffer;
use crate::memory::owner;
use crate::memory::place::{Backing, Place};
use crate::memory::pool::{self, Block};
use crate::memory::{LeaseKind, MapOptions, Pod};

/// Bytes that somebody owns: a counted handle on an allocation, a pointer and a length.
///
/// Cloning and slicing are O(1), copy nothing and allocate nothing; every clone and slice keeps the whole allocation alive. A
/// buffer by itself gives no access: the bytes are touched under a lease ([`Buffer::read`], [`Buffer::write`],
/// [`Buffer::share`], [`Buffer::pin`]), or through `&mut` when it is the only handle ([`Buffer::as_mut_slice`]).
///
/// ```text
///   Buffer { handle, ptr, nbytes, readonly }
///              │      └──────────────┐
///              └─> header ──> [......|======|.......]   one region, one owner
/// ```
///
/// ```
/// use crossdock::memory::Buffer;
///
/// let buffer = Buffer::from_vec(vec![10u8, 20, 30, 40])?; // adopted, not copied
/// let middle = buffer.slice(1..3)?;
/// drop(buffer);
/// assert_eq!(&middle.read()?[..], [20, 30]);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. `ptr..ptr + nbytes` lies within the region of the handle's header.
/// 2. `readonly` is set if the memory was born constant, and never cleared.
#[derive(Clone)]
pub struct Buffer {
    handle: Handle,
    ptr: NonNull<u8>,
    nbytes: usize,
    readonly: bool,
}

// SAFETY: the pointer goes where the handle goes, into memory that the handle keeps alive on any thread; access to it is
// covered by leases.
unsafe impl Send for Buffer {}
// SAFETY: as for Send; `&Buffer` gives no access to the bytes without a lease.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `nbytes` zeroed bytes of the default pool, aligned to [`ALIGNMENT`](crate::memory::ALIGNMENT).
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    #[inline]
    pub fn zeroed(nbytes: usize) -> Result<Self> {
        pool::zeroed(nbytes)
    }

    /// Adopts a vector. O(1): its block becomes the allocation.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is none for the header.
    pub fn from_vec<T: Pod>(vec: Vec<T>) -> Result<Self> {
        owner::adopt_vec(vec).map(Self::whole)
    }

    /// Adopts a string. O(1): its block becomes the allocation.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is none for the header.
    pub fn from_string(text: String) -> Result<Self> {
        Self::from_vec(text.into_bytes())
    }

    /// Adopts anything that dereferences to a slice: `Arc<Vec<T>>`, `Arc<[T]>`, `String`, an image, a `bytes::Bytes`. Read-only, since others may
    /// have the same owner. O(1), but for a small box around the owner.
    ///
    /// The owner is dereferenced once, here, and dropped with the last holder, on that thread. A panic in its drop goes
    /// no further; [`ledger::failed_releases`](crate::memory::ledger::failed_releases) counts it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use crossdock::memory::Buffer;
    ///
    /// let pixels = Arc::new(vec![1u16, 2, 3]);
    /// let buffer = Buffer::from_owner(pixels.clone())?;
    /// assert_eq!(buffer.as_ptr(), pixels.as_ptr().cast());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is none for the header.
    pub fn from_owner<T, O>(owner: O) -> Result<Self>
    where
        T: Pod,
        O: Deref<Target: AsRef<[T]>> + Send + 'static,
    {
        owner::adopt_owner(owner).map(Self::whole)
    }

    /// Wraps memory that lives as long as the program. Read-only. O(1).
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is none for the header.
    pub fn from_static<T: Pod>(slice: &'static [T]) -> Result<Self> {
        owner::adopt_static(slice).map(Self::whole)
    }

    /// Copies a slice into new memory of the default pool. Copies, and counts, its bytes.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn copy_from_slice<T: Pod>(slice: &[T]) -> Result<Self> {
        Ok(pool::copy(slice, pool::uninit(size_of_val(slice))?))
    }

    /// Maps a file, or part of one. The memory is aliased, since any process may write the file:
    /// Share and Pin leases can be taken, Read and Write leases cannot. O(1) until the pages are
    /// touched.
    ///
    /// Two such maps of one file, by whichever path or descriptor, are known to be the same memory:
    /// a copy between overlapping ranges is refused, or done as if the source had been copied
    /// first. A map made by another library is known by its addresses alone.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the range ends beyond the file, `is_unsupported` if it is not a regular file
    /// or lies on hugetlbfs, `is_io`.
    pub fn map(file: File, options: MapOptions) -> Result<Self> {
        let readonly = !options.is_writable();
        owner::map_file(file, &options).map(Self::whole).map(|map| map.with_readonly(readonly))
    }

    /// `nbytes` zeroed bytes that can be shared with other processes through [`Buffer::descriptor`]. Aliased, like any
    /// memory that others can write. The size is sealed: neither side can shrink it under the other.
    ///
    /// Nothing of it has a path: the memory lives while any process has it mapped or has a descriptor of it, or one is on its
    /// way through a socket, and is gone with the last of these, however that process ends.
    ///
    /// Who may write it is decided in three steps, of which none is ever taken back:
    ///
    /// | shared memory | who can write |
    /// |---|---|
    /// | as it is made | whoever has a descriptor, even one for reading only: it can be opened anew through `/proc` |
    /// | after [`Buffer::deny_new_writers`] | whoever had a map for writing by then |
    /// | after [`Buffer::into_sealed`] | nobody |
    ///
    /// # Errors
    ///
    /// `is_io`.
    pub fn shared(nbytes: usize) -> Result<Self> {
        Self::shared_named(nbytes, c"crossdock")
    }

    /// As [`Buffer::shared`], with a name by which `/proc/*/maps` and `/proc/*/fd` tell the memory from other memory. It is a
    /// label: nobody finds the memory by it.
    ///
    /// # Errors
    ///
    /// `is_io`, among others for a name of more than 249 bytes.
    pub fn shared_named(nbytes: usize, name: &CStr) -> Result<Self> {
        owner::allocate_shared(nbytes, name).map(Self::whole)
    }

    /// Maps shared memory whose descriptor came from another process: `nbytes` bytes from byte `offset` on. Memory that is
    /// sealed against writing is constant, so that Read leases can be had; all other is aliased.
    ///
    /// A page that the other process never wrote takes no memory until this process touches it. If
    /// the sender is not trusted, limit `nbytes`, as
    /// [`shm::receive`](crate::exchange::protocol::shm::receive) does.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the memory is smaller, `is_unsupported` if it is not sealed against shrinking
    /// (map it as a file instead) or has huge pages (`MFD_HUGETLB`: punching a hole in them makes a
    /// reader fault in spite of the seal), `is_read_only` for writing memory that is sealed against
    /// writing, `is_io`.
    pub fn map_shared(fd: OwnedFd, offset: u64, nbytes: usize, writable: bool) -> Result<Self> {
        owner::map_shared(fd, offset, nbytes, writable)
            .map(Self::whole)
            .map(|map| map.with_readonly(!writable))
    }

    /// Keeps every process, this one included, from mapping the shared memory for writing and from writing it through a
    /// descriptor, from now on and for good (`F_SEAL_FUTURE_WRITE`). What is mapped for writing already stays so: this buffer, and
    /// the maps of those to whom it was lent for writing before. All of the memory is meant, of which this buffer may be a part.
    ///
    /// It binds a reader who does not keep to his descriptor: one for reading only can be opened anew for writing through `/proc`.
    ///
    /// ```
    /// use crossdock::memory::Buffer;
    ///
    /// let buffer = Buffer::shared(4096)?;
    /// buffer.deny_new_writers()?;
    /// buffer.share()?.store(0, 7u8)?; // the map that there was
    /// let (fd, offset) = buffer.descriptor().unwrap();
    /// assert!(Buffer::map_shared(fd.try_clone_to_owned()?, offset, 4096, true).unwrap_err().is_read_only());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_unsupported` for other than shared memory, and where its maker forbids more seals; `is_read_only` where the
    /// descriptor behind it is for reading only; `is_io`, as on Linux before 5.1.
    pub fn deny_new_writers(&self) -> Result<()> {
        owner::deny_new_writers(&self.handle)
    }

    /// Seals shared memory against writing, by anybody and for good (`F_SEAL_WRITE`), and makes it constant: Read leases
    /// (`&[u8]`) can be had here, and by whoever maps the memory from now on. All of the memory is sealed, of which this buffer may be
    /// a part. Copies nothing; it is mapped anew, at another address. Sealed memory comes back as it is.
    ///
    /// ```
    /// use crossdock::memory::{Birth, Buffer};
    ///
    /// let buffer = Buffer::shared(3)?;
    /// buffer.share()?.copy_from_slice(b"abc")?;
    /// let sealed = buffer.into_sealed()?;
    /// assert_eq!(&sealed.read()?[..], b"abc");
    ///
    /// // What the other process does with the descriptor:
    /// let (fd, offset) = sealed.descriptor().unwrap();
    /// let theirs = Buffer::map_shared(fd.try_clone_to_owned()?, offset, 3, false)?;
    /// assert_eq!((theirs.birth(), &theirs.read()?[..]), (Birth::Constant, &b"abc"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The buffer comes back with the error. `is_conflict` where there is another handle, a lease or an export of it, and where
    /// another process (a forked child, too) or another buffer has it mapped so that it could write; `is_unsupported` and
    /// `is_read_only` as for [`Buffer::deny_new_writers`], and for a part of a partition; `is_io`, `is_out_of_memory`.
    ///
    /// Where only the system found what stands in the way, the buffer was unmapped meanwhile and may have moved; if it cannot be
    /// mapped for writing again, because new writers were denied before, it comes back read-only.
    pub fn into_sealed(self) -> Result<Self, Rejected<Self>> {
        // What was to be written and was not does not become constant.
        if let Err(error) = self.handle.await_work(LeaseKind::Write) {
            return Err(Rejected { value: self, error });
        }
        let within = self.ptr.addr().get() - self.handle.header().ptr().addr().get();
        let (nbytes, readonly) = (self.nbytes, self.readonly);
        let again = |handle: Handle, readonly| {
            // SAFETY: a map of the same region as before, in which the window lies as before (Buffer 1).
            let ptr = unsafe { handle.header().ptr().add(within) };
            Self { handle, ptr, nbytes, readonly }
        };
        match owner::seal(self.handle, readonly) {
            Ok(handle) => Ok(again(handle, true)),
            Err(owner::NotSealed { handle, is_readonly, error }) => {
                Err(Rejected { value: again(handle, is_readonly), error })
            }
        }
    }

    /// Adopts memory of another library. `release` is called exactly once: when the last holder goes, on whichever thread
    /// that is, or before this returns an error.
    ///
    /// # Errors
    ///
    /// `is_malformed` for a null pointer to more than 0 bytes, `is_overflow` beyond `isize::MAX` bytes,
    /// `is_out_of_memory`.
    ///
    /// # Safety
    ///
    /// Until `release` is called, `nbytes` bytes at `ptr` are valid for reads, and unless `birth` is `Constant` for writes; if
    /// the place is the host, they are initialised. If `birth` is `Sole`, nobody else touches them; if `Constant`, nobody
    /// writes them. If it is `Aliased`, others may write them, in ways that this program's memory model does not see or that
    /// are atomic.
    pub unsafe fn from_foreign(
        ptr: *mut u8,
        nbytes: usize,
        place: Place,
        birth: Birth,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        // SAFETY: the caller's word.
        unsafe { owner::adopt_foreign(ptr, nbytes, place, birth, release) }.map(Self::whole)
    }

    /// Points at memory that somebody else owns and frees, at some time after the last use. Majel's non-owned allocation.
    /// Aliased: share or pin it.
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_foreign`].
    ///
    /// # Safety
    ///
    /// As for [`Buffer::from_foreign`] with an aliased birth, for as long as any handle or lease lives.
    pub unsafe fn non_owned(ptr: *mut u8, nbytes: usize, place: Place) -> Result<Self> {
        // SAFETY: the caller's word.
        unsafe { Self::from_foreign(ptr, nbytes, place, Birth::Aliased, || {}) }
    }

    /// The whole region of a handle.
    #[inline]
    pub(crate) fn whole(handle: Handle) -> Self {
        let header = handle.header();
        let (ptr, nbytes) = (header.ptr(), header.nbytes());
        let readonly = header.birth() == Birth::Constant;
        Self { handle, ptr, nbytes, readonly }
    }

    /// The whole region of a handle on new memory of ours, which has `nbytes` bytes.
    #[inline]
    pub(crate) fn fresh(handle: Handle, nbytes: usize) -> Self {
        debug_assert_eq!(handle.header().nbytes(), nbytes, "Buffer 1");
        // The size is not read back from the header: a load of what was stored a moment ago, and in two pieces, stalls.
        let ptr = handle.header().ptr();
        Self { handle, ptr, nbytes, readonly: false }
    }

    fn with_readonly(mut self, readonly: bool) -> Self {
        self.readonly |= readonly;
        self
    }

    // ===== queries

    /// The number of bytes.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The number of bytes that this buffer keeps alive: those of the whole allocation; for a part of a partition, those of what
    /// was divided.
    pub fn retained_nbytes(&self) -> usize {
        self.handle.retained_nbytes()
    }

    /// # Errors
    ///
    /// `is_conflict` while anything but this handle keeps the memory, `is_bounds` where the buffer does not cover all of it,
    /// `is_read_only`.
    pub(crate) fn check_only_and_whole(&mut self) -> Result<()> {
        self.handle.only_handle()?;
        self.mutable_address()?;
        let whole = self.handle.header().nbytes();
        if self.nbytes == whole {
            return Ok(());
        }
        Err(Error::new(
            Kind::Bounds,
            format!("the buffer covers {} of the {whole} bytes of its memory", self.nbytes),
        ))
    }

    /// Gives the block behind the buffer, which begins where the buffer does and which nobody else has, this many bytes.
    pub(crate) fn grow_block(&mut self, nbytes: usize) -> Result<()> {
        let result = Block::grow_allocation(&mut self.handle, self.nbytes, nbytes);
        self.ptr = self.handle.header().ptr();
        result?;
        self.nbytes = nbytes;
        Ok(())
    }

    pub(crate) fn header(&self) -> &Header {
        self.handle.header()
    }

    /// Drops all bytes behind the first `nbytes`, of which there are no fewer, from the window.
    pub(crate) fn narrow(&mut self, nbytes: usize) {
        debug_assert!(nbytes <= self.nbytes, "Buffer 1");
        self.nbytes = nbytes.min(self.nbytes);
    }

    /// The address of the first byte, in its place. It gives no permission to touch it.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.ptr.as_ptr()
    }

    /// The address of the first byte, in its place.
    pub fn address(&self) -> usize {
        self.ptr.addr().get()
    }

    /// The address of the first byte, for writing. It gives no permission to touch it.
    ///
    /// # Errors
    ///
    /// `is_read_only`.
    pub fn mutable_address(&self) -> Result<usize> {
        if self.readonly { Err(no_access(Place::CPU)) } else { Ok(self.address()) }
    }

    /// Whether the processor can address the memory: [`Place::is_host`].
    pub fn is_host(&self) -> bool {
        self.place().is_host()
    }

    /// The device.
    pub fn place(&self) -> Place {
        self.handle.header().place()
    }

    /// What stands behind the memory.
    pub fn backing(&self) -> Backing {
        self.handle.header().backing()
    }

    /// Who else may touch the memory.
    pub fn birth(&self) -> Birth {
        self.handle.header().birth()
    }

    /// Whether this handle refuses to write.
    pub fn is_readonly(&self) -> bool {
        self.readonly
    }

    /// Whether this is the only handle, there is no lease, and the memory is not aliased: what `&mut` access asks for. (A
    /// read-only handle, and memory on a device, refuse it all the same.)
    pub fn is_exclusive(&mut self) -> bool {
        self.handle.exclusive().is_ok()
    }

    /// The protocols by which the memory was ever handed out.
    pub fn exported(&self) -> Protocols {
        self.handle.header().exported()
    }

    /// The descriptor behind a file map or shared memory, and the byte of it at which this buffer begins.
    pub fn descriptor(&self) -> Option<(BorrowedFd<'_>, u64)> {
        let descriptor = self.handle.descriptor()?;
        let within = self.ptr.addr().get() - self.handle.header().ptr().addr().get();
        // SAFETY: the descriptor is the owner's, which the handle keeps alive while `self` is borrowed.
        let fd = unsafe { BorrowedFd::borrow_raw(descriptor.fd) };
        Some((fd, descriptor.offset + within as u64))
    }

    /// Whether the descriptor behind the memory, if there is one, is open for writing, whatever this handle permits.
    pub(crate) fn is_descriptor_writable(&self) -> bool {
        self.handle.descriptor().is_some_and(|descriptor| descriptor.writable)
    }

    /// Whether the memory is sealed, so that nobody can map it for writing any more.
    pub(crate) fn is_closed_to_writers(&self) -> bool {
        owner::is_closed_to_writers(&self.handle)
    }

    /// What befell the memory, if anything did: a guarded file map whose file shrank.
    pub fn fault(&self) -> Option<Error> {
        self.handle.fault()
    }

    // ===== narrower handles

    /// A handle on part of the bytes. O(1): one atomic addition.
    ///
    /// # Errors
    ///
    /// `is_bounds` where the range goes past the end or ends before it begins, `is_exhausted` as
    /// [`Buffer::try_clone`].
    #[inline]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = self.resolve(&range)?;
        Ok(Self {
            handle: self.handle.try_clone()?,
            // SAFETY: within the buffer (checked), hence within the region (Buffer 1).
            ptr: unsafe { self.ptr.add(range.start) },
            nbytes: range.len(),
            readonly: self.readonly,
        })
    }

    #[inline]
    fn resolve(&self, range: &impl RangeBounds<usize>) -> Result<Range<usize>> {
        resolve(range, self.nbytes)
    }

    /// The same bytes, never to be written through this handle or what is made from it.
    pub fn into_readonly(self) -> Self {
        self.with_readonly(true)
    }

    /// Another handle, or an error where there are as many as can be counted (2²³ - 1). `clone` panics there.
    ///
    /// # Errors
    ///
    /// `is_exhausted`.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, ..*self })
    }

    /// The buffer as one that can grow, while this is the only handle on it. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict`, which says how many leases or other handles there are and by which protocols the memory went out;
    /// `is_read_only`; `is_unsupported` where the memory is not a pool's, or does not begin where the buffer does; of failed work as
    /// [`Buffer::read`]. The buffer comes back with the error.
    pub fn try_into_mut(self) -> Result<MutableBuffer, Rejected<Self>> {
        let Self { handle, ptr, nbytes, readonly } = self;
        let back = |handle, error| Rejected { value: Self { handle, ptr, nbytes, readonly }, error };
        if readonly {
            return Err(back(handle, no_access(Place::CPU)));
        }
        if let Err(error) = handle.await_work(LeaseKind::Write) {
            return Err(back(handle, error));
        }
        if ptr != handle.header().ptr() && pool::is_block(&handle) {
            let within = ptr.addr().get() - handle.header().ptr().addr().get();
            let text = format!(
                "the buffer begins at byte {within} of its memory: only one that begins at 0 can grow"
            );
            return Err(back(handle, Error::new(Kind::Unsupported, text)));
        }
        match Block::thaw(handle) {
            Ok((block, _)) => Ok(MutableBuffer::of_block(block, nbytes)),
            Err((handle, error)) => Err(back(handle, error)),
        }
    }

    /// Divides the memory into allocations of their own, each with its own leases: the tensors of a file, the arrays of
    /// a batch. One level deep, and only while this is the only holder. Each part keeps the whole alive.
    ///
    /// ```
    /// use crossdock::memory::Buffer;
    ///
    /// let frame = Buffer::from_vec(vec![0u8; 100])?;
    /// let parts = frame.partition(&[0..40, 64..100])?;
    /// let (mut left, mut right) = (parts[0].write()?, parts[1].write()?); // both at once
    /// left[0] = 1;
    /// right[0] = 2;
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_bounds` where a range goes past the end, two overlap, or the memory is a part already; `is_conflict` where there is another handle or
    /// lease, `is_exhausted` where that is more parts than handles can be counted (2²³ - 1), `is_out_of_memory`. The buffer comes back with the error.
    pub fn partition(mut self, ranges: &[Range<usize>]) -> Result<Vec<Self>, Rejected<Self>> {
        if let Err(error) = self.check_partition(ranges) {
            return Err(Rejected { value: self, error });
        }
        match self.parts(ranges) {
            Ok(parts) => Ok(parts),
            Err(error) => Err(Rejected { value: self, error }),
        }
    }

    /// The parts of a buffer for which `check_partition` found nothing to say. Where it fails, those that were made are
    /// gone again.
    fn parts(&self, ranges: &[Range<usize>]) -> Result<Vec<Self>> {
        let within = self.ptr.addr().get() - self.handle.header().ptr().addr().get();
        let mut parts = try_with_capacity(ranges.len())?;
        for range in ranges {
            let whole = self.handle.try_clone()?;
            // SAFETY: the range lies within the buffer, hence the region; the ranges are disjoint; this was the only
            // holder, and the handles cloned from it go into the parts, so no lease of the whole can be had.
            let part = unsafe { owner::adopt_part(whole, within + range.start, range.len()) }?;
            parts.push(Self::whole(part).with_readonly(self.readonly));
        }
        Ok(parts)
    }

    fn check_partition(&mut self, ranges: &[Range<usize>]) -> Result<()> {
        // The parts have no events but their own.
        self.handle.await_work(LeaseKind::Write)?;
        self.handle.only_handle()?;
        // As in `exclusive`.
        self.handle.await_work(LeaseKind::Write)?;
        if self.handle.is_part() {
            return Err(Error::new(
                Kind::Bounds,
                "the memory is a part of a partition already: one level is all",
            ));
        }
        let mut sorted = try_with_capacity::<&Range<usize>>(ranges.len())?;
        sorted.extend(ranges);
        sorted.sort_unstable_by_key(|range| (range.start, range.end));
        let mut free_from = 0;
        for range in sorted {
            self.resolve(range)?;
            if !range.is_empty() && range.start < free_from {
                return Err(Error::new(
                    Kind::Bounds,
                    format!("part {}..{} overlaps one that ends at byte {free_from}", range.start, range.end),
                ));
            }
            free_from = free_from.max(range.end);
        }
        Ok(())
    }

    // ===== access

    #[inline]
    fn lease(&self, kind: LeaseKind) -> Result<Lease> {
        lease(&self.handle, self.readonly, kind)
    }

    /// Takes a Read lease: constant bytes, as `&[u8]`. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while somebody holds Share or Write, or where the memory is aliased; `is_place` on a device;
    /// `is_exhausted` where there are as many as can be counted (2¹⁸ - 1 Read or Share leases, 2¹⁹ - 1 Pin leases); and, as of every
    /// lease, what failed work says that was to write the memory ([`Buffer::note_event`]), `is_device` where it was a device's.
    pub fn read(&self) -> Result<ReadGuard> {
        let lease = self.lease(LeaseKind::Read)?;
        // SAFETY: Buffer 1, and `lease` refuses devices.
        Ok(unsafe { ReadGuard::new(lease, self.ptr, self.nbytes) })
    }

    /// Takes the Write lease: `&mut [u8]`. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while anybody holds any lease, or where the memory is aliased; `is_read_only`; `is_place`.
    pub fn write(&self) -> Result<WriteGuard> {
        let lease = self.lease(LeaseKind::Write)?;
        // SAFETY: as in `read`.
        Ok(unsafe { WriteGuard::new(lease, self.ptr, self.nbytes) })
    }

    /// Takes a Share lease: racy loads and stores, beside others who do the same. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while somebody holds Read or Write; `is_read_only`; `is_place`; `is_exhausted`.
    pub fn share(&self) -> Result<ShareGuard> {
        let lease = self.lease(LeaseKind::Share)?;
        // SAFETY: as in `read`.
        Ok(unsafe { ShareGuard::new(lease, self.ptr, self.nbytes) })
    }

    /// Takes a Pin lease: racy loads, beside anyone but a Write lease. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while somebody holds Write; `is_place`; `is_exhausted`.
    pub fn pin(&self) -> Result<PinGuard> {
        let lease = self.lease(LeaseKind::Pin)?;
        // SAFETY: as in `read`.
        Ok(unsafe { PinGuard::new(lease, self.ptr, self.nbytes) })
    }

    /// The bytes, to be written, with no lease at all: this is the only handle. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict`, which says how many leases or other handles there are and by which protocols the memory went out;
    /// `is_read_only`; `is_place`; of failed work as [`Buffer::read`].
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        exclusive(&mut self.handle, self.readonly)?;
        // SAFETY: Buffer 1, initialised (Header 3). The handle is exclusive and mutably borrowed, so no lease or other
        // handle can come to be while the slice lives.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.nbytes) })
    }

    /// Takes the caller's word that nothing outside of this program's leases writes the memory: then Read and Write can
    /// be had. O(1).
    ///
    /// # Safety
    ///
    /// From now on until the last holder is gone, every access to the memory, from whichever process or language, is
    /// covered by a lease of this allocation.
    pub unsafe fn assume_sole(self) -> Self {
        // SAFETY: the caller's word.
        unsafe { self.handle.assume_not_aliased() };
        self
    }

    /// Takes the caller's word that nobody writes the memory any more: then Read can be had. O(1).
    ///
    /// # Safety
    ///
    /// From now on until the last holder is gone, nobody writes the memory, from whichever process or language.
    pub unsafe fn assume_constant(self) -> Self {
        // SAFETY: the caller's word.
        unsafe { self.handle.assume_not_aliased() };
        self.into_readonly()
    }

    // ===== parts, for the layers above

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.ptr
    }

    pub(crate) fn into_parts(self) -> (Handle, NonNull<u8>, usize, bool) {
        (self.handle, self.ptr, self.nbytes, self.readonly)
    }

    /// # Safety
    ///
    /// `ptr..ptr + nbytes` lies within the region of the handle; `readonly` is set if its memory is constant.
    pub(crate) unsafe fn from_parts(handle: Handle, ptr: NonNull<u8>, nbytes: usize, readonly: bool) -> Self {
        Self { handle, ptr, nbytes, readonly }
    }
}

/// A range as two numbers, if it lies within `nbytes` bytes.
#[inline]
pub(crate) fn resolve(range: &impl RangeBounds<usize>, nbytes: usize) -> Result<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(nbytes),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= nbytes => Ok(start..end),
        _ => Err(bad_range(start, end, nbytes)),
    }
}

/// Takes a lease for access by the processor through a handle that may be read-only.
///
/// Always inlined: out of line, the result travels through memory, which takes as long as the lease itself.
#[inline(always)]
pub(crate) fn lease(handle: &Handle, readonly: bool, kind: LeaseKind) -> Result<Lease> {
    check_access(handle.header().place(), readonly && matches!(kind, LeaseKind::Write | LeaseKind::Share))?;
    handle.await_work(kind)?;
    Ok(handle.lease(kind)?)
}

/// As [`lease`], but refuses where it would wait.
pub(crate) fn lease_at_once(handle: &Handle, readonly: bool, kind: LeaseKind) -> Result<Lease> {
    handle.check_work(kind)?;
    lease(handle, readonly, kind)
}

/// Asserts that `&mut` to the handle covers the bytes, too, for access by the processor.
pub(crate) fn exclusive(handle: &mut Handle, readonly: bool) -> Result<()> {
    check_access(handle.header().place(), readonly)?;
    handle.await_work(LeaseKind::Write)?;
    handle.exclusive()?;
    // Once more: a handle that is gone by now may have noted work since. One load, as a rule.
    handle.await_work(LeaseKind::Write)
}

#[inline]
fn check_access(place: Place, refuse_writing: bool) -> Result<()> {
    if place.is_host() && !refuse_writing { Ok(()) } else { Err(no_access(place)) }
}

#[cold]
fn no_access(place: Place) -> Error {
    if place.is_host() {
        Error::new(Kind::ReadOnly, "the memory is read-only through this handle: pin or read it, or copy it")
    } else {
        Error::new(
            Kind::Place,
            format!("the processor cannot address memory on {place}: copy it to the host"),
        )
    }
}

#[cold]
fn bad_range(start: Option<usize>, end: Option<usize>, nbytes: usize) -> Error {
    let show = |bound: Option<usize>| bound.map_or("beyond the last address".to_owned(), |at| at.to_string());
    Error::new(
        Kind::Bounds,
        format!("bytes {}..{} do not lie within a buffer of {nbytes} bytes", show(start), show(end)),
    )
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Buffer({} bytes at {:p}, {} on {}{})",
            self.nbytes,
            self.ptr,
            self.backing(),
            self.place(),
            if self.readonly { ", read-only" } else { "" }
        )
    }
}
