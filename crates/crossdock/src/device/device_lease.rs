//! Leases for access by a device, and the copy that holds two of them.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::memory::header::DeviceMapping;
use crate::memory::overlap::{self, Extent, OverlapOperand};
use crate::memory::release::Orphan;
use crate::memory::{Lease, LeaseKind, Place, count_copied, no_access};

/// A lease for access by a device, to memory at any place. It keeps the memory alive and excludes
/// other access as leases do, but gives the CPU no access.
///
/// # Invariants
///
/// 1. `ptr..ptr + nbytes` lies within the lease's region.
pub struct DeviceLease {
    lease: Lease,
    ptr: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: `lease` is Send and keeps the region alive on any thread (DeviceLease 1, Header 1); `ptr`
// is only reported, never followed.
unsafe impl Send for DeviceLease {}
// SAFETY: `&DeviceLease` only reports `ptr` and `nbytes`, gives no access to the bytes, and `lease`
// is Sync.
unsafe impl Sync for DeviceLease {}

impl DeviceLease {
    /// The kind of lease.
    pub fn kind(&self) -> LeaseKind {
        self.lease.kind()
    }

    /// The device that addresses the memory.
    pub fn place(&self) -> Place {
        self.lease.header().place()
    }

    /// The address of the first byte on its device.
    pub fn address(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    pub(super) fn attached(&self) -> Option<DeviceMapping<'_>> {
        self.lease.device()
    }

    /// The driver's object of the memory, and the offset in it at which this begins; `None` if
    /// there is no object.
    pub fn object(&self) -> Option<(NonNull<c_void>, usize)> {
        let attached = self.attached()?;
        let object = NonNull::new(attached.object)?;
        Some((object, self.ptr.addr().get() - attached.base.addr().get()))
    }

    /// The number of bytes of the allocation before the first one. The lease covers them, too.
    pub fn bytes_before(&self) -> usize {
        self.ptr.addr().get() - self.lease.header().ptr().addr().get()
    }

    /// Releases the lease without running code of the memory's owner; dropping the result runs it.
    pub(crate) fn give_back(self) -> Option<Orphan> {
        self.lease.give_back()
    }

    fn extent(&self) -> Extent {
        Extent::of_lease(&self.lease, self.ptr.addr().get(), self.nbytes)
    }

    fn operand(&self) -> OverlapOperand<'_> {
        OverlapOperand { header: self.lease.header(), extent: self.extent() }
    }
}

impl fmt::Debug for DeviceLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} lease of {} bytes at {:p} on {}", self.kind(), self.nbytes, self.ptr, self.place())
    }
}

impl Buffer {
    /// Takes a lease for access by a device: for implementers of devices. It waits for no event;
    /// the code that enqueues work makes the stream wait. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict`, `is_read_only` and `is_exhausted` as [`Buffer::read`] and its siblings.
    pub fn device_lease(&self, kind: LeaseKind) -> Result<DeviceLease> {
        if self.is_readonly() && matches!(kind, LeaseKind::Write | LeaseKind::Share) {
            return Err(no_access(Place::CPU));
        }
        let lease = self.handle().lease(kind)?;
        // DeviceLease 1: Buffer 1.
        Ok(DeviceLease { lease, ptr: self.start(), nbytes: self.nbytes() })
    }
}

/// The allocations that finished work leaves for their owners to release: at most three.
pub(crate) type Orphans = [Option<Orphan>; 3];

/// A pending copy, with the leases that it needs.
///
/// # Invariants
///
/// 1. The source's lease permits racy loads and the destination's racy stores (Share or Write);
///    both have the same number of bytes, which do not overlap: compared by address, even across
///    allocations.
#[derive(Debug)]
pub struct Transfer {
    src: DeviceLease,
    dst: DeviceLease,
}

impl Transfer {
    /// For a synchronous copy: Read of the source and Write of the destination, if available.
    pub(super) fn now(src: &Buffer, dst: &Buffer) -> Result<Self> {
        let same = std::ptr::eq(src.handle().header(), dst.handle().header());
        let prefer = |buffer: &Buffer, best, next| match (same, buffer.device_lease(best)) {
            (false, Ok(lease)) => Ok(lease),
            _ => buffer.device_lease(next),
        };
        Self::checked(
            prefer(src, LeaseKind::Read, LeaseKind::Pin)?,
            prefer(dst, LeaseKind::Write, LeaseKind::Share)?,
        )
    }

    /// For a copy in a stream. Later work in the stream may use the same memory before this copy is
    /// done, ordered by events, so the leases must be compatible with each other: Pin and Share.
    pub(super) fn later(src: &Buffer, dst: &Buffer) -> Result<Self> {
        Self::checked(src.device_lease(LeaseKind::Pin)?, dst.device_lease(LeaseKind::Share)?)
    }

    fn checked(src: DeviceLease, dst: DeviceLease) -> Result<Self> {
        if overlap::meet(src.extent(), dst.extent()) || overlap::meet_by_mapping(src.operand(), dst.operand())
        {
            return Err(Error::new(
                Kind::Bounds,
                format!(
                    "the source and destination of a copy of {} bytes, at {:p} and {:p}, overlap",
                    src.nbytes, src.ptr, dst.ptr
                ),
            ));
        }
        Ok(Self { src, dst })
    }

    /// The source.
    pub fn src(&self) -> &DeviceLease {
        &self.src
    }

    /// The destination.
    pub fn dst(&self) -> &DeviceLease {
        &self.dst
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> usize {
        self.src.nbytes
    }

    /// Reports that the copy is done: counts the bytes and releases the leases. If one of them was
    /// the last holder, the owner's release runs here and may run foreign code: do not hold a lock.
    pub fn complete(self) {
        drop(self.give_back(true));
    }

    /// Releases the leases, and counts the bytes if they have arrived. Dropping the result releases
    /// memory that has no holder left.
    pub(crate) fn give_back(self, has_arrived: bool) -> Orphans {
        if has_arrived {
            count_copied(self.nbytes());
        }
        [self.src.give_back(), self.dst.give_back(), None]
    }
}
