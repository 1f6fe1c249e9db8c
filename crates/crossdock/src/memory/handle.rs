//! Counted references to an allocation.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::error::{Error, Rejected, Result};
use crate::memory::book;
use crate::memory::conflict::{Conflict, Wanted};
use crate::memory::header::{Attached, Descriptor, Header, Owner};
use crate::memory::lease::Lease;
use crate::memory::release::release;
use crate::memory::word::{LeaseKind, Reading};
use crate::memory::work;

/// A counted reference to an allocation: keeps it alive, and permits nothing by itself.
///
/// # Invariants
///
/// 1. It is counted once in the word of the header it points to (hence [`Header`] 1 holds while it lives).
pub(crate) struct Handle(NonNull<Header>);

// SAFETY: all of the header that changes is atomic (Header 4), and owners accept release on any thread (OwnerBlock::new,
// pool). The bytes are touched through leases only, which exclude racing accesses or make them atomic.
unsafe impl Send for Handle {}
// SAFETY: as for Send; `&Handle` offers nothing that is not atomic.
unsafe impl Sync for Handle {}

impl Handle {
    /// Takes over the first handle of a header that is complete.
    ///
    /// # Safety
    ///
    /// `header` points to a valid [`Header`], whose word counts one handle that nobody else has.
    #[inline]
    pub(crate) unsafe fn first(header: NonNull<Header>) -> Self {
        if book::is_on() {
            // SAFETY: the caller's word.
            unsafe { list(header) };
        }
        Self(header)
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: Handle 1: the header is alive, and only shared references to it exist.
        unsafe { self.0.as_ref() }
    }

    /// The header, by a pointer that also reaches what its owner keeps behind it.
    pub(super) fn header_ptr(&self) -> NonNull<Header> {
        self.0
    }

    #[inline]
    pub(crate) fn try_clone(&self) -> Result<Self, Conflict> {
        match self.header().word().add_handle() {
            Ok(()) => Ok(Self(self.0)),
            Err(found) => Err(refused(self.header(), Wanted::Handle, found)),
        }
    }

    /// Takes a lease. O(1): one compare-and-swap.
    #[inline]
    pub(crate) fn lease(&self, kind: LeaseKind) -> Result<Lease, Conflict> {
        match self.header().word().take(kind) {
            Ok(()) if book::is_on() => {
                // SAFETY: the word counts the lease, which nobody else has.
                Ok(unsafe { Lease::noted(self.0, kind) })
            }
            Ok(()) => {
                // SAFETY: the word counts the lease, which nobody else has.
                Ok(unsafe { Lease::unnoted(self.0, kind) })
            }
            Err(found) => Err(refused(self.header(), Wanted::Lease(kind), found)),
        }
    }

    /// Asserts that this is the only holder and nobody outside may write: then `&mut self` covers the bytes too.
    #[inline]
    pub(crate) fn exclusive(&mut self) -> Result<(), Conflict> {
        if self.header().word().is_exclusive() {
            Ok(())
        } else {
            Err(refused(self.header(), Wanted::Exclusive, self.header().reading()))
        }
    }

    /// Asserts that this is the only holder in this process.
    pub(crate) fn only_handle(&mut self) -> Result<(), Conflict> {
        if self.header().word().is_only_handle() {
            Ok(())
        } else {
            Err(refused(self.header(), Wanted::OnlyHandle, self.header().reading()))
        }
    }

    /// Takes the caller's word that no owner outside writes the memory.
    ///
    /// # Safety
    ///
    /// From now on, until the last holder is gone, every write goes through leases of this allocation, and every read
    /// by others is over.
    pub(crate) unsafe fn assume_not_aliased(&self) {
        self.header().word().clear_aliased();
    }

    /// Takes the caller's word that nobody writes the memory any more.
    ///
    /// # Safety
    ///
    /// From now on, until the last holder is gone, nobody writes the memory; every handle is read-only.
    pub(crate) unsafe fn mark_constant(&self) {
        self.header().constant.store(true, Ordering::Relaxed);
        self.header().word().clear_aliased();
    }

    pub(crate) fn is_owned_by(&self, owner: &'static Owner) -> bool {
        self.header().is_owned_by(owner)
    }

    /// The header, to be taken apart by its owner. The handle, which is the only one, is not given up: the caller has it now.
    pub(crate) fn into_header(self) -> NonNull<Header> {
        let mut header = self.0;
        std::mem::forget(self);
        // SAFETY: the only handle, hence nobody else reaches the header.
        if std::mem::take(&mut unsafe { header.as_mut() }.tracked) {
            book::forget(header);
        }
        header
    }

    /// Lets the owner move the header. The handle is the only one, and what `owner` returns is the header of the same allocation. The
    /// owner does not panic once it has moved it: this handle would still point to where it was.
    pub(crate) fn rebuild(&mut self, owner: impl FnOnce(NonNull<Header>) -> NonNull<Header>) {
        // Its place is taken by what the owner returns.
        let header = Self(self.0).into_header();
        self.0 = owner(header);
        std::mem::forget(std::mem::replace(self, {
            // SAFETY: the same allocation, whose one handle is ours.
            unsafe { Self::first(self.0) }
        }));
    }

    pub(crate) fn is_part(&self) -> bool {
        self.header().owner.is_part
    }

    pub(crate) fn descriptor(&self) -> Option<Descriptor> {
        let describe = self.header().owner.descriptor;
        // SAFETY: Handle 1: the header is alive, and it is this owner's own.
        unsafe { describe(self.0) }
    }

    pub(crate) fn device(&self) -> Option<Attached<'_>> {
        let device = self.header().owner.device;
        // SAFETY: Handle 1: the header is alive while `self` is borrowed, and it is this owner's own.
        unsafe { device(&self.0) }
    }

    /// Waits for the work on a device that access under a lease of this kind comes after. One load where there is none.
    #[inline]
    pub(crate) fn await_work(&self, kind: LeaseKind) -> Result<()> {
        if self.header().awaited.load(Ordering::Acquire) { work::wait(self.header(), kind) } else { Ok(()) }
    }

    /// Whether no work on a device is noted. One load.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        !self.header().awaited.load(Ordering::Acquire)
    }

    /// As [`Handle::await_work`], but refuses where it would wait.
    pub(crate) fn check_work(&self, kind: LeaseKind) -> Result<()> {
        if self.header().awaited.load(Ordering::Acquire) { work::check(self.header(), kind) } else { Ok(()) }
    }

    pub(crate) fn retained_nbytes(&self) -> usize {
        let retained = self.header().owner.retained;
        // SAFETY: Handle 1: the header is alive, and it is this owner's own.
        unsafe { retained(self.0) }
    }

    pub(crate) fn fault(&self) -> Option<Error> {
        let fault = self.header().owner.fault;
        // SAFETY: Handle 1: the header is alive, and it is this owner's own.
        unsafe { fault(self.0) }
    }
}

impl Clone for Handle {
    /// # Panics
    ///
    /// When the allocation has as many handles as its word can count (2²³ - 1).
    #[inline]
    fn clone(&self) -> Self {
        match self.try_clone() {
            Ok(handle) => handle,
            Err(conflict) => panic!("{conflict}"),
        }
    }
}

impl Drop for Handle {
    #[inline]
    fn drop(&mut self) {
        if self.header().word().drop_handle() {
            // SAFETY: the word said that this was the last holder.
            unsafe { release(self.0) }
        }
    }
}

impl Lease {
    /// Gives the lease back and keeps the memory; or it comes back, where there are as many handles as can be counted.
    pub(crate) fn into_handle(self) -> Result<Handle, Rejected<Self>> {
        match self.header().word().exchange_for_handle(self.kind()) {
            Ok(()) => {
                self.forget_note();
                let header = self.header;
                std::mem::forget(self);
                Ok(Handle(header))
            }
            Err(found) => {
                let error = refused(self.header(), Wanted::Handle, found).into();
                Err(Rejected { value: self, error })
            }
        }
    }

    /// A handle beside the lease.
    pub(crate) fn to_handle(&self) -> Result<Handle, Conflict> {
        match self.header().word().add_handle() {
            Ok(()) => Ok(Handle(self.header)),
            Err(found) => Err(refused(self.header(), Wanted::Handle, found)),
        }
    }
}

#[cold]
#[inline(never)]
fn refused(header: &Header, wanted: Wanted, found: Reading) -> Conflict {
    let holders = if book::is_on() { book::holders_of(header) } else { Vec::new() };
    Conflict::new(wanted, found, header.exported(), holders)
}

/// Puts an allocation on the ledger's list.
///
/// # Safety
///
/// The header is complete, and nobody but the caller knows of it yet.
#[cold]
#[inline(never)]
unsafe fn list(mut header: NonNull<Header>) {
    // SAFETY: the caller's word.
    unsafe { header.as_mut() }.tracked = true;
    book::record(header);
}
