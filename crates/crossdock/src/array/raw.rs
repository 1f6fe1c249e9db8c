//! The common core of typed and dynamic arrays: the memory, and the address of element 0.

use std::ptr::NonNull;

use crate::buffer::Buffer;
use crate::error::{Advice, Error, Kind, Result};
use crate::layout::Span;
use crate::memory::{BriefLease, Handle, Lease, LeaseKind, Place, exclusive, lease, lease_at_once};

/// The erased core of an array.
///
/// # Invariants
///
/// 1. The layout that goes with it (the array's other field), applied at `ptr`, reaches only bytes
///    of the handle's region, or, of an indirect array and of what is cut out of one, elements that
///    the region's table of pointers leads to: the region's owner keeps them alive, and its leases
///    cover them. [`RawArray::new`] and the code that makes the table check it once; every
///    operation on layouts preserves it (see [`crate::layout`]).
/// 2. `readonly` is set if the memory is constant, and never cleared.
/// 3. The bytes of a table of pointers are never exported and never written: [`RawArray::buffer`]
///    refuses.
#[derive(Clone)]
pub(crate) struct RawArray {
    handle: Handle,
    ptr: NonNull<u8>,
    readonly: bool,
}

// SAFETY: `handle` is Send and keeps the region alive on any thread (Header 1); every access
// through `ptr` is covered by a lease or the exclusive handle (Header 5).
unsafe impl Send for RawArray {}
// SAFETY: `handle` is Sync, `ptr` and `readonly` are plain data, and `&RawArray` gives no access to
// the bytes without a lease (Header 5).
unsafe impl Sync for RawArray {}

impl RawArray {
    /// Element 0 lies `offset` bytes into the buffer.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the span leaves the buffer at either end.
    #[inline]
    pub(crate) fn new(buffer: Buffer, offset: usize, span: Span) -> Result<Self> {
        span.check_window(offset, buffer.nbytes())?;
        let (handle, ptr, _, readonly) = buffer.into_parts();
        // SAFETY: `check_window` found `offset` inside the buffer or, without elements, at most one
        // past its last byte.
        Ok(Self { handle, ptr: unsafe { ptr.add(offset) }, readonly })
    }

    /// Assembles an array from a handle and the address of element 0.
    ///
    /// # Safety
    ///
    /// 1. The layout that goes with the result satisfies RawArray 1 at `ptr`.
    /// 2. `readonly` is set if the memory is constant (RawArray 2).
    pub(crate) unsafe fn from_parts(handle: Handle, ptr: NonNull<u8>, readonly: bool) -> Self {
        Self { handle, ptr, readonly }
    }

    /// Another handle whose element 0 lies `offset` bytes from this one's.
    ///
    /// # Safety
    ///
    /// `offset`, and the layout that goes with the result, are one result of an operation on this
    /// array's layout.
    #[inline]
    pub(crate) unsafe fn moved(&self, offset: isize) -> Self {
        Self {
            handle: self.handle.clone(),
            // SAFETY: an operation on the layout returned the offset (`# Safety`), so it is that of
            // an element, in the region (RawArray 1), or 0.
            ptr: unsafe { self.ptr.offset(offset) },
            readonly: self.readonly,
        }
    }

    /// Another handle whose element 0 lies at `ptr`.
    ///
    /// # Safety
    ///
    /// `ptr`, and the layout that goes with the result, are one result of an operation on this
    /// array's layout, following its pointers.
    pub(crate) unsafe fn at(&self, ptr: *mut u8) -> Self {
        Self {
            handle: self.handle.clone(),
            // Pointers in a table are not null, and neither are addresses within a region.
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

    /// A lease for one element, if it takes only one atomic step.
    #[inline(always)]
    pub(crate) fn brief_lease(&self, kind: LeaseKind) -> Option<BriefLease<'_>> {
        let refused = self.readonly && matches!(kind, LeaseKind::Write | LeaseKind::Share);
        if refused { None } else { self.handle.brief_lease(kind) }
    }

    /// A lease, if it takes only one atomic step.
    #[inline(always)]
    pub(crate) fn quick_lease(&self, kind: LeaseKind) -> Option<Lease> {
        let refused = self.readonly && matches!(kind, LeaseKind::Write | LeaseKind::Share);
        if refused { None } else { self.handle.quick_lease(kind) }
    }

    /// Like [`RawArray::lease`], but fails instead of waiting for device work.
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

    /// Whether the device addresses the memory by pointer, not only through a driver object.
    pub(crate) fn has_addresses(&self) -> bool {
        self.handle.has_addresses()
    }

    #[inline]
    pub(crate) fn into_handle(self) -> Handle {
        self.handle
    }

    /// Checks that this is the only holder in this process.
    pub(crate) fn only_handle(&mut self) -> Result<()> {
        Ok(self.handle.only_handle()?)
    }

    /// Checks that `&mut self` is exclusive access to the bytes.
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
    /// buffer, and the offset of element 0 in it.
    ///
    /// # Errors
    ///
    /// `is_layout` if the elements are not in the region itself.
    pub(crate) fn buffer(&self, span: Span) -> Result<(Buffer, usize)> {
        self.check_span(span).map_err(|_| elsewhere())?;
        let handle = self.handle.try_clone()?;
        // SAFETY: `check_span` found the span inside the region, so its lowest byte is at most
        // `nbytes` into it.
        let ptr = unsafe { self.ptr.offset(span.low()) };
        // SAFETY: `check_span` found `span.nbytes()` bytes from `ptr` inside the region; `readonly`
        // is set for constant memory (RawArray 2).
        let buffer = unsafe { Buffer::from_parts(handle, ptr, span.nbytes(), self.readonly) };
        Ok((buffer, span.low().unsigned_abs()))
    }
}

/// The error for the buffer of an indirect array.
#[cold]
pub(super) fn elsewhere() -> Error {
    Error::new(Kind::Layout, "the array follows pointers (suboffsets), so its elements are not in one buffer")
        .advising(Advice::Copy)
}
