//! A window on an allocation.

use std::fmt;
use std::ops::RangeBounds;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use crate::buffer::guard::{PinGuard, ReadGuard, ShareGuard, WriteGuard};
use crate::buffer::window::resolve;
use crate::error::{Error, Result};
use crate::memory::header::Header;
use crate::memory::{
    Backing, Birth, Handle, Lease, LeaseKind, Place, Protocols, exclusive, lease, no_access,
};
use crate::pool::Block;

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
/// use crossdock::buffer::Buffer;
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

    pub(super) fn with_readonly(mut self, readonly: bool) -> Self {
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
        let range = resolve(&range, self.nbytes)?;
        Ok(Self {
            handle: self.handle.try_clone()?,
            // SAFETY: within the buffer (checked), hence within the region (Buffer 1).
            ptr: unsafe { self.ptr.add(range.start) },
            nbytes: range.len(),
            readonly: self.readonly,
        })
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

    pub(super) fn handle_mut(&mut self) -> &mut Handle {
        &mut self.handle
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
