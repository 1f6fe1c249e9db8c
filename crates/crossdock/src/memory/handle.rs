//! Counted references to an allocation.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::error::{Error, Rejected, Result};
use crate::memory::book;
use crate::memory::conflict::{Conflict, Wanted};
use crate::memory::header::{Descriptor, DeviceMapping, Header, Owner};
use crate::memory::lease::Lease;
use crate::memory::place::Backing;
use crate::memory::release::release;
use crate::memory::shareable;
use crate::memory::word::{LeaseKind, WordValue};
use crate::memory::work;

/// A counted reference to an allocation: keeps it alive, and permits no access by itself.
///
/// # Invariants
///
/// 1. The word of the header counts it once (hence [`Header`] 1 holds while it lives).
pub(crate) struct Handle(NonNull<Header>);

// SAFETY: all parts of the header that change are atomic (Header 4), and owners are `Send`, so
// `release` may run on any thread. Access to the bytes needs a lease, which excludes races or makes
// accesses racy ones.
unsafe impl Send for Handle {}
// SAFETY: Header 4: through `&Handle` another thread reaches constant fields and atomics only.
unsafe impl Sync for Handle {}

impl Handle {
    /// Makes the first handle of a complete header.
    ///
    /// # Safety
    ///
    /// 1. `header` points to a valid [`Header`], which only the caller can reach.
    /// 2. Its word counts one handle and no lease. That handle becomes the result.
    #[inline]
    pub(crate) unsafe fn first(header: NonNull<Header>) -> Self {
        if book::is_on() {
            // SAFETY: clause 1 of `# Safety`: the header is valid, and only the caller can reach
            // it.
            unsafe { list(header) };
        }
        Self(header)
    }

    /// The handle that was forgotten.
    ///
    /// # Safety
    ///
    /// 1. A handle on the header was forgotten, and this call is the only one for it.
    pub(crate) unsafe fn from_forgotten(header: NonNull<Header>) -> Self {
        Self(header)
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: Handle 1: the header is alive, and while a handle is borrowed only shared
        // references to the header exist.
        unsafe { self.0.as_ref() }
    }

    /// The header, as a pointer with provenance for the owner's data behind it.
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
                // SAFETY: `take` has just counted this lease in the word, and only this value
                // represents it.
                Ok(unsafe { Lease::noted(self.0, kind) })
            }
            Ok(()) => {
                // SAFETY: `take` has just counted this lease in the word, and only this value
                // represents it.
                Ok(unsafe { Lease::unnoted(self.0, kind) })
            }
            Err(found) => Err(refused(self.header(), Wanted::Lease(kind), found)),
        }
    }

    /// Takes a lease for access by the CPU, if that takes one step: see [`Handle::brief_lease`].
    /// `None` in all other cases, which [`lease`](crate::memory::lease()) handles.
    #[inline(always)]
    pub(crate) fn quick_lease(&self, kind: LeaseKind) -> Option<Lease> {
        if self.header().is_at_once() && self.header().word().take_at_once(kind) {
            // SAFETY: `take_at_once` has just counted this lease in the word, and only this value
            // represents it.
            Some(unsafe { Lease::unnoted(self.0, kind) })
        } else {
            None
        }
    }

    /// Fails unless this is the only holder and no other owner may write: `&mut self` then covers
    /// the bytes, too.
    #[inline]
    pub(crate) fn exclusive(&mut self) -> Result<(), Conflict> {
        if self.header().word().is_exclusive() {
            Ok(())
        } else {
            Err(refused(self.header(), Wanted::Exclusive, self.header().reading()))
        }
    }

    /// Fails unless this is the only holder in this process.
    pub(crate) fn only_handle(&mut self) -> Result<(), Conflict> {
        if self.header().word().is_only_handle() {
            Ok(())
        } else {
            Err(refused(self.header(), Wanted::OnlyHandle, self.header().reading()))
        }
    }

    /// Ends the aliased state: the caller guarantees that no other owner writes the memory.
    ///
    /// # Safety
    ///
    /// From now on, until the last holder is dropped:
    ///
    /// 1. Every write goes through leases of this allocation.
    /// 2. Other parties no longer read the memory.
    pub(crate) unsafe fn assume_not_aliased(&self) {
        let header = self.header();
        if header.reading().is_aliased() {
            header.mark_promised();
        }
        header.word().clear_aliased();
    }

    /// Marks the memory constant: the caller guarantees that no party writes it any more.
    ///
    /// # Safety
    ///
    /// From now on, until the last holder is dropped:
    ///
    /// 1. No party writes the memory.
    /// 2. Every handle is read-only.
    pub(crate) unsafe fn mark_constant(&self) {
        self.header().constant.store(true, Ordering::Relaxed);
        self.header().word().clear_aliased();
    }

    pub(crate) fn is_owned_by(&self, owner: &'static Owner) -> bool {
        self.header().is_owned_by(owner)
    }

    /// Returns the header for its owner to take apart. The word still counts the handle, now for
    /// the caller.
    ///
    /// # Safety
    ///
    /// 1. The handle is the only holder.
    pub(crate) unsafe fn into_header(self) -> NonNull<Header> {
        let mut header = self.0;
        std::mem::forget(self);
        // SAFETY: Handle 1: the header is alive: its last holder was forgotten, not dropped.
        if unsafe { header.as_ref() }.tracked {
            book::forget(header);
            // SAFETY: clause 1 of `# Safety`: no other holder refers to the header, and the ledger,
            // which may have read it, has just forgotten it.
            unsafe { header.as_mut() }.tracked = false;
        }
        header
    }

    /// Lets the owner move the header.
    ///
    /// # Safety
    ///
    /// 1. The handle is the only holder.
    /// 2. `owner` returns the header of the same allocation, whose word still counts one handle.
    /// 3. After moving the header `owner` does not panic, because this handle would still point to
    ///    the old address.
    pub(crate) unsafe fn rebuild(&mut self, owner: impl FnOnce(NonNull<Header>) -> NonNull<Header>) {
        // SAFETY: clause 1 of `into_header` is clause 1 of `# Safety`: the copied pointer is no
        // second holder, since the result of `owner` replaces this one below.
        let header = unsafe { Self(self.0).into_header() };
        self.0 = owner(header);
        std::mem::forget(std::mem::replace(self, {
            // SAFETY: clauses 1 and 2 of `# Safety`: `owner` returned the moved header of this
            // allocation, and no other holder exists. Its word counts the one handle that
            // `into_header` left to this function.
            unsafe { Self::first(self.0) }
        }));
    }

    pub(crate) fn is_part(&self) -> bool {
        self.header().owner.is_part
    }

    pub(crate) fn descriptor(&self) -> Option<Descriptor> {
        let describe = self.header().owner.descriptor;
        // SAFETY: Handle 1: the header is alive, and the function comes from its own table (Owner
        // 1).
        let own = unsafe { describe(self.0) };
        match self.header().backing() {
            Backing::Shared => {
                own.or_else(|| shareable::descriptor(self.header().ptr(), self.header().nbytes()))
            }
            _ => own,
        }
    }

    pub(crate) fn device(&self) -> Option<DeviceMapping<'_>> {
        let device = self.header().owner.device;
        // SAFETY: Handle 1: the header is alive while `self` is borrowed, and the function comes
        // from its own table (Owner 1).
        unsafe { device(&self.0) }
    }

    /// Whether the device addresses the memory by pointer, not only through a driver object.
    pub(crate) fn has_addresses(&self) -> bool {
        self.device().is_none_or(|attached| attached.is_addressed)
    }

    /// Waits for the device work that must end before access under a lease of this kind. One load
    /// if there is none.
    #[inline]
    pub(crate) fn await_work(&self, kind: LeaseKind) -> Result<()> {
        if self.header().awaited.load(Ordering::Acquire) { work::wait(self.header(), kind) } else { Ok(()) }
    }

    /// Whether no device work is noted. One load.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        !self.header().awaited.load(Ordering::Acquire)
    }

    /// Like [`Handle::await_work`], but fails if it would have to wait.
    pub(crate) fn check_work(&self, kind: LeaseKind) -> Result<()> {
        if self.header().awaited.load(Ordering::Acquire) { work::check(self.header(), kind) } else { Ok(()) }
    }

    pub(crate) fn retained_nbytes(&self) -> usize {
        let retained = self.header().owner.retained;
        // SAFETY: Handle 1: the header is alive, and the function comes from its own table (Owner
        // 1).
        unsafe { retained(self.0) }
    }

    pub(crate) fn fault(&self) -> Option<Error> {
        let fault = self.header().owner.fault;
        // SAFETY: Handle 1: the header is alive, and the function comes from its own table (Owner
        // 1).
        unsafe { fault(self.0) }.or_else(|| self.header().check_fault().err())
    }
}

impl Clone for Handle {
    /// # Panics
    ///
    /// If the allocation has as many handles as its word can count (2²³ - 1).
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
            // SAFETY: clauses 1 and 2 of `release`: `drop_handle` returned `true`, so this was the
            // last holder, and the word reports that to one caller only.
            unsafe { release(self.0) }
        }
    }
}

impl Lease {
    /// Converts the lease into a handle. Fails, and returns the lease, if the handle count is full.
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

    /// A further handle on the leased memory.
    pub(crate) fn to_handle(&self) -> Result<Handle, Conflict> {
        match self.header().word().add_handle() {
            Ok(()) => Ok(Handle(self.header)),
            Err(found) => Err(refused(self.header(), Wanted::Handle, found)),
        }
    }
}

#[cold]
#[inline(never)]
pub(super) fn refused(header: &Header, wanted: Wanted, found: WordValue) -> Conflict {
    let holders = if book::is_on() { book::holders_of(header) } else { Vec::new() };
    Conflict::new(wanted, found, header.exported(), holders)
}

/// Adds an allocation to the ledger's list.
///
/// # Safety
///
/// 1. The header is valid, and only the caller can reach it.
#[cold]
#[inline(never)]
unsafe fn list(mut header: NonNull<Header>) {
    // SAFETY: clause 1 of `# Safety`: the header is valid, and no other reference to it exists.
    unsafe { header.as_mut() }.tracked = true;
    book::record(header);
}
