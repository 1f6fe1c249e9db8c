//! What a typed and a dynamic array have in common: the memory, and where element 0 lies in it.

use std::ptr::NonNull;

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::layout::Span;
use crate::memory::{Glance, Handle, Lease, LeaseKind, Place, exclusive, lease, lease_at_once};

/// The erased core of an array.
///
/// # Invariants
///
/// 1. The layout that goes with it (the array's other field), applied at `ptr`, reaches only bytes
///    of the handle's region, or, of an indirect array and of what is cut out of one, elements that
///    the region's table of pointers leads to: the region's owner keeps them, and its leases cover
///    them. It is checked once, by [`RawArray::new`] and by whoever makes the table; every
///    operation on layouts keeps it (see [`crate::layout`]).
/// 2. `readonly` is set if the memory is constant, and never cleared.
/// 3. The bytes of a table of pointers are given to nobody and never written: [`RawArray::buffer`]
///    refuses.
#[derive(Clone)]
pub(crate) struct RawArray {
    handle: Handle,
    ptr: NonNull<u8>,
    readonly: bool,
}

// SAFETY: as for Buffer: the pointer goes where the handle goes, and access is covered by leases.
unsafe impl Send for RawArray {}
// SAFETY: as for Send; `&RawArray` gives no access to the bytes without a lease.
unsafe impl Sync for RawArray {}

impl RawArray {
    /// Element 0 lies `offset` bytes into the buffer.
    ///
    /// # Errors
    ///
    /// `is_bounds` where the span leaves the buffer at either end.
    pub(crate) fn new(buffer: Buffer, offset: usize, span: Span) -> Result<Self> {
        span.check_window(offset, buffer.nbytes())?;
        let (handle, ptr, _, readonly) = buffer.into_parts();
        // SAFETY: inside the buffer or, without elements, at most just behind its last byte: both
        // as just checked.
        Ok(Self { handle, ptr: unsafe { ptr.add(offset) }, readonly })
    }

    /// An array on the memory of a lease that covers another one.
    ///
    /// # Safety
    ///
    /// RawArray 1 and 2.
    pub(crate) unsafe fn from_parts(handle: Handle, ptr: NonNull<u8>, readonly: bool) -> Self {
        Self { handle, ptr, readonly }
    }

    /// Another handle whose element 0 lies `offset` bytes from this one's.
    ///
    /// # Safety
    ///
    /// The offset, and the layout that goes with the result, came together from an operation on
    /// this array's layout.
    #[inline]
    pub(crate) unsafe fn moved(&self, offset: isize) -> Self {
        Self {
            handle: self.handle.clone(),
            // SAFETY: such an offset is that of an element, or 0 (RawArray 1).
            ptr: unsafe { self.ptr.offset(offset) },
            readonly: self.readonly,
        }
    }

    /// Another handle whose element 0 lies there.
    ///
    /// # Safety
    ///
    /// As for [`RawArray::moved`]: the address was reached by an operation on this array's layout.
    pub(crate) unsafe fn at(&self, ptr: *mut u8) -> Self {
        Self {
            handle: self.handle.clone(),
            // A pointer of a table is not null, and neither is what lies within a region.
            ptr: NonNull::new(ptr).unwrap_or(self.ptr),
            readonly: self.readonly,
        }
    }

    /// Re-checks invariant 1 for another layout at the same element 0, within the whole region.
    pub(crate) fn check_span(&self, span: Span) -> Result<()> {
        let header = self.handle.header();
        match self.ptr.addr().get().checked_sub(header.ptr().addr().get()) {
            Some(offset) if offset <= header.nbytes() => span.check_window(offset, header.nbytes()),
            _ => Err(elsewhere()),
        }
    }

    #[inline]
    pub(crate) fn lease(&self, kind: LeaseKind) -> Result<Lease> {
        lease(&self.handle, self.readonly, kind)
    }

    /// A lease for one element, where it can be had in one step.
    #[inline(always)]
    pub(crate) fn glance(&self, kind: LeaseKind) -> Option<Glance<'_>> {
        let refused = self.readonly && matches!(kind, LeaseKind::Write | LeaseKind::Share);
        if refused { None } else { self.handle.glance(kind) }
    }

    /// As [`RawArray::lease`], but refuses where it would wait for work on a device.
    pub(crate) fn lease_at_once(&self, kind: LeaseKind) -> Result<Lease> {
        lease_at_once(&self.handle, self.readonly, kind)
    }

    #[inline]
    pub(crate) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    #[inline]
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Whether the memory has addresses that its device uses, and not only an object of its driver.
    pub(crate) fn has_addresses(&self) -> bool {
        self.handle.device().is_none_or(|attached| attached.is_addressed)
    }

    /// Asserts that `&mut self` covers the bytes, too.
    pub(crate) fn exclusive(&mut self) -> Result<()> {
        exclusive(&mut self.handle, self.readonly)
    }

    #[inline]
    pub(crate) fn place(&self) -> Place {
        self.handle.header().place()
    }

    #[inline]
    pub(crate) fn is_readonly(&self) -> bool {
        self.readonly
    }

    pub(crate) fn set_readonly(&mut self) {
        self.readonly = true;
    }

    /// The bytes from the lowest to the highest that the span of a direct layout touches, as a
    /// buffer, and where in it element 0 lies.
    ///
    /// # Errors
    ///
    /// `is_layout` where the elements are not in the region itself.
    pub(crate) fn buffer(&self, span: Span) -> Result<(Buffer, usize)> {
        self.check_span(span).map_err(|_| elsewhere())?;
        let handle = self.handle.try_clone()?;
        // SAFETY: the span lies inside the region, as just checked.
        let ptr = unsafe { self.ptr.offset(span.low()) };
        // SAFETY: as above, and RawArray 2.
        let buffer = unsafe { Buffer::from_parts(handle, ptr, span.nbytes(), self.readonly) };
        Ok((buffer, span.low().unsigned_abs()))
    }
}

/// Elements of an indirect array have no buffer.
#[cold]
pub(super) fn elsewhere() -> Error {
    Error::new(
        Kind::Layout,
        "the elements lie where a table of pointers leads, so that no one buffer has them: copy the array",
    )
}
