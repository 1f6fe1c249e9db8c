//! A window on an allocation.

use std::fmt;
use std::ops::RangeBounds;
use std::ptr::NonNull;

use crate::buffer::guard::{PinGuard, ReadGuard, ShareGuard, WriteGuard};
use crate::buffer::window::resolve;
use crate::error::{Error, Result};
use crate::memory::header::Header;
use crate::memory::os::fd::BorrowedFd;
use crate::memory::{
    Backing, Birth, Handle, Lease, LeaseKind, Place, Protocols, exclusive, lease, no_access, publish,
};
use crate::pool::Block;

/// A counted handle on an allocation, with a pointer and a length.
///
/// Cloning and slicing are O(1), copy nothing and allocate nothing. Every clone and slice keeps the
/// whole allocation alive. A buffer by itself gives no access: its bytes are accessed under a lease
/// ([`Buffer::read`], [`Buffer::write`], [`Buffer::share`], [`Buffer::pin`]), or through `&mut` if
/// it is the only handle ([`Buffer::as_mut_slice`]).
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

// SAFETY: the pointer leads into memory that the handle keeps alive on any thread (Header 1), and
// every access to it is covered by a lease (Header 5).
unsafe impl Send for Buffer {}
// SAFETY: `&Buffer` gives no access to the bytes without a lease, and the leases' counts are
// atomic, so threads may share it.
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

    /// The whole region of a handle on newly allocated memory, which has `nbytes` bytes.
    #[inline]
    pub(crate) fn fresh(handle: Handle, nbytes: usize) -> Self {
        debug_assert_eq!(handle.header().nbytes(), nbytes, "Buffer 1");
        // Not read back from the header: loading a size that was just stored in two pieces stalls.
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

    /// The number of bytes that this buffer keeps alive: those of the whole allocation or, for a
    /// part of a partition, of the memory that was divided.
    pub fn retained_nbytes(&self) -> usize {
        self.handle.retained_nbytes()
    }

    /// Grows the pool's block behind the buffer to this many bytes.
    ///
    /// # Safety
    ///
    /// 1. The buffer begins where a pool's block does, and is its only holder.
    /// 2. `nbytes` is at least the number of bytes of the buffer.
    pub(crate) unsafe fn grow_block(&mut self, nbytes: usize) -> Result<()> {
        // SAFETY: clause 1 of `grow_allocation` is clause 1 of `# Safety`. Clause 2: the window
        // lies within the block's bytes (Buffer 1), and by clause 2 of `# Safety` has at most
        // `nbytes`.
        let result = unsafe { Block::grow_allocation(&mut self.handle, self.nbytes, nbytes) };
        self.ptr = self.handle.header().ptr();
        result?;
        self.nbytes = nbytes;
        Ok(())
    }

    pub(crate) fn header(&self) -> &Header {
        self.handle.header()
    }

    /// Narrows the window to its first `nbytes` bytes, of which there are at least as many.
    pub(crate) fn narrow(&mut self, nbytes: usize) {
        debug_assert!(nbytes <= self.nbytes, "Buffer 1");
        self.nbytes = nbytes.min(self.nbytes);
    }

    /// The address of the first byte, as a pointer. It permits no access by itself.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.ptr.as_ptr()
    }

    /// The address of the first byte.
    pub fn address(&self) -> usize {
        self.ptr.addr().get()
    }

    /// The address of the first byte, for writing. It permits no access by itself.
    ///
    /// # Errors
    ///
    /// `is_read_only`.
    pub fn mutable_address(&self) -> Result<usize> {
        if self.readonly { Err(no_access(Place::CPU)) } else { Ok(self.address()) }
    }

    /// Whether the CPU can address the memory: [`Place::is_host`].
    pub fn is_host(&self) -> bool {
        self.place().is_host()
    }

    /// The device.
    pub fn place(&self) -> Place {
        self.handle.header().place()
    }

    /// The kind of memory.
    pub fn backing(&self) -> Backing {
        self.handle.header().backing()
    }

    /// Which other parties may access the memory.
    pub fn birth(&self) -> Birth {
        self.handle.header().birth()
    }

    /// Whether this handle refuses to write.
    pub fn is_readonly(&self) -> bool {
        self.readonly
    }

    /// Whether this is the only handle, there is no lease, and the memory is not aliased, as `&mut`
    /// access requires. (Read-only handles and memory on a device refuse such access nevertheless.)
    pub fn is_exclusive(&mut self) -> bool {
        self.handle.exclusive().is_ok()
    }

    /// The protocols by which the memory was ever exported.
    pub fn exported(&self) -> Protocols {
        self.handle.header().exported()
    }

    /// The descriptor behind a file map or shared memory, and the offset in it at which this buffer
    /// begins.
    ///
    /// A block of a [shareable pool](crate::pool::Pool::shareable) is aliased from this call on:
    /// Read and Write leases are refused. While one is held, the result is `None`.
    #[cfg(unix)]
    pub fn descriptor(&self) -> Option<(BorrowedFd<'_>, u64)> {
        self.publish().ok().flatten()
    }

    /// As [`Buffer::descriptor`].
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Read or Write lease is held on memory that only this process knows.
    pub(crate) fn publish(&self) -> Result<Option<(BorrowedFd<'_>, u64)>> {
        let Some(descriptor) = publish(&self.handle)? else { return Ok(None) };
        let within = self.ptr.addr().get() - self.handle.header().ptr().addr().get();
        // SAFETY: the owner keeps the descriptor open, the handle keeps the owner alive (Header 1),
        // and the result borrows `self`.
        let fd = unsafe { BorrowedFd::borrow_raw(descriptor.fd) };
        Ok(Some((fd, descriptor.offset + within as u64)))
    }

    /// The fault of a guarded file map whose file shrank, if there was one.
    pub fn fault(&self) -> Option<Error> {
        self.handle.fault()
    }

    // ===== narrower handles

    /// A handle on a part of the bytes. O(1): one atomic addition.
    ///
    /// # Errors
    ///
    /// `is_bounds` where the range goes past the end or ends before it begins, `is_exhausted` as
    /// for [`Buffer::try_clone`].
    #[inline]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = resolve(&range, self.nbytes)?;
        Ok(Self {
            handle: self.handle.try_clone()?,
            // SAFETY: `resolve` checked that the range lies within the buffer's `nbytes`, which lie
            // within the region (Buffer 1).
            ptr: unsafe { self.ptr.add(range.start) },
            nbytes: range.len(),
            readonly: self.readonly,
        })
    }

    /// The same bytes, read-only through this handle and through all handles made from it.
    pub fn into_readonly(self) -> Self {
        self.with_readonly(true)
    }

    /// Another handle, or an error where no more can be counted (2²³ - 1). `clone` panics there.
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
    /// `is_conflict` while a Share or Write lease is held, or where the memory is aliased;
    /// `is_place` on a device; `is_exhausted` where no more leases can be counted (2¹⁸ - 1 Read or
    /// Share leases, 2¹⁹ - 1 Pin leases). As for every lease, also the error of failed work that
    /// was to write the memory ([`Buffer::note_event`]), `is_device` if it ran on a device.
    pub fn read(&self) -> Result<ReadGuard> {
        let lease = self.lease(LeaseKind::Read)?;
        // SAFETY: the bytes lie within the region (Buffer 1), which the lease covers, and `lease`
        // refuses places other than the host.
        Ok(unsafe { ReadGuard::new(lease, self.ptr, self.nbytes) })
    }

    /// Takes the Write lease: exclusive bytes, as `&mut [u8]`. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while any lease is held, or where the memory is aliased;
    /// `is_read_only`; `is_place`.
    pub fn write(&self) -> Result<WriteGuard> {
        let lease = self.lease(LeaseKind::Write)?;
        // SAFETY: the bytes lie within the region (Buffer 1), which the lease covers, and `lease`
        // refuses places other than the host.
        Ok(unsafe { WriteGuard::new(lease, self.ptr, self.nbytes) })
    }

    /// Takes a Share lease: racy loads and stores, concurrently with other Share leases. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Read or Write lease is held; `is_read_only`; `is_place`;
    /// `is_exhausted`.
    pub fn share(&self) -> Result<ShareGuard> {
        let lease = self.lease(LeaseKind::Share)?;
        // SAFETY: the bytes lie within the region (Buffer 1), which the lease covers, and `lease`
        // refuses places other than the host.
        Ok(unsafe { ShareGuard::new(lease, self.ptr, self.nbytes) })
    }

    /// Takes a Pin lease: racy loads, concurrently with all leases but Write. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while the Write lease is held; `is_place`; `is_exhausted`.
    pub fn pin(&self) -> Result<PinGuard> {
        let lease = self.lease(LeaseKind::Pin)?;
        // SAFETY: the bytes lie within the region (Buffer 1), which the lease covers, and `lease`
        // refuses places other than the host.
        Ok(unsafe { PinGuard::new(lease, self.ptr, self.nbytes) })
    }

    /// The bytes for writing, without a lease, if this is the only handle. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict`, with the number of leases and other handles and the protocols of export;
    /// `is_read_only`; `is_place`; the error of failed work, as for [`Buffer::read`].
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        exclusive(&mut self.handle, self.readonly)?;
        // SAFETY: the bytes lie within the region (Buffer 1) and are initialised (Header 3).
        // `exclusive` found no other handle and no lease, and none can be made while the slice
        // borrows `self` mutably.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.nbytes) })
    }

    /// Declares that only this program's leases write the memory: then Read and Write leases can be
    /// taken. O(1).
    ///
    /// # Safety
    ///
    /// From now on until the last holder is gone, every access to the memory, from any process or
    /// language, is covered by a lease of this allocation.
    pub unsafe fn assume_sole(self) -> Self {
        // SAFETY: `# Safety`: a lease of this allocation covers every access, so every write goes
        // through a lease, and no outside read goes on.
        unsafe { self.handle.assume_not_aliased() };
        self
    }

    /// Declares that no party writes the memory any more: then Read leases can be taken. O(1).
    ///
    /// # Safety
    ///
    /// From now on until the last holder is gone, no party writes the memory, from any process or
    /// language.
    pub unsafe fn assume_constant(self) -> Self {
        // SAFETY: `# Safety`: no party writes the memory from now on, so a Read lease's bytes are
        // constant, and outside reads race with no write.
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
    /// 1. `ptr..ptr + nbytes` lies within the region of the handle (Buffer 1).
    /// 2. `readonly` is set if its memory is constant (Buffer 2).
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
