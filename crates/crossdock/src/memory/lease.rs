//! Permission to touch the bytes of an allocation.

use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::memory::book;
use crate::memory::header::{Attached, Header};
use crate::memory::protocols::Protocols;
use crate::memory::release::{Orphan, release};
use crate::memory::word::LeaseKind;

/// Permission to touch an allocation's bytes in one way; it keeps them alive, too.
///
/// # Invariants
///
/// 1. It is counted once, as `kind`, in the word of the header it points to (hence [`Header`] 1 holds while it lives).
/// 2. If it has a note, the ledger's row of the header has a record of that number, which is this lease's alone.
pub(crate) struct Lease {
    pub(super) header: NonNull<Header>,
    tag: Tag,
}

const _: () = assert!(size_of::<Lease>() == 16, "a lease travels in two registers");

/// The kind of a lease and the number of its note, if it has one. One word and not two fields, so that a lease is a pair of
/// scalars, which the compiler moves in registers.
#[derive(Clone, Copy)]
struct Tag(u64);

impl Tag {
    const READ: u32 = LeaseKind::Read as u32;
    const WRITE: u32 = LeaseKind::Write as u32;
    const SHARE: u32 = LeaseKind::Share as u32;

    #[inline]
    fn new(kind: LeaseKind, note: Option<NonZeroU32>) -> Self {
        Self(u64::from(note.map_or(0, NonZeroU32::get)) << 32 | kind as u64)
    }

    #[inline]
    fn kind(self) -> LeaseKind {
        match self.0 as u32 {
            Self::READ => LeaseKind::Read,
            Self::WRITE => LeaseKind::Write,
            Self::SHARE => LeaseKind::Share,
            _ => LeaseKind::Pin,
        }
    }

    #[inline]
    fn note(self) -> Option<NonZeroU32> {
        NonZeroU32::new((self.0 >> 32) as u32)
    }
}

// SAFETY: as for Handle: it offers nothing that is not atomic. (Guards say for themselves what they may cross.)
unsafe impl Send for Lease {}
// SAFETY: as for Send.
unsafe impl Sync for Lease {}

impl Lease {
    /// A lease that the ledger does not list.
    ///
    /// # Safety
    ///
    /// The word of `header` counts a lease of `kind` that nobody else has.
    #[inline]
    pub(super) unsafe fn unnoted(header: NonNull<Header>, kind: LeaseKind) -> Self {
        Self { header, tag: Tag::new(kind, None) }
    }

    /// A lease that the ledger lists, if it has the memory.
    ///
    /// # Safety
    ///
    /// The word of `header` counts a lease of `kind` that nobody else has.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn noted(header: NonNull<Header>, kind: LeaseKind) -> Self {
        // SAFETY: the lease is ours from now on; whatever gives it back calls `forget_note` before.
        let note = unsafe { book::note_lease(header, kind) };
        Self { header, tag: Tag::new(kind, note) }
    }

    #[inline]
    pub(super) fn forget_note(&self) {
        if let Some(number) = self.tag.note() {
            book::forget_lease(self.header, number);
        }
    }

    #[inline]
    pub(crate) fn kind(&self) -> LeaseKind {
        self.tag.kind()
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: Lease 1: the header is alive, and only shared references to it exist.
        unsafe { self.header.as_ref() }
    }

    pub(crate) fn device(&self) -> Option<Attached<'_>> {
        let device = self.header().owner.device;
        // SAFETY: Lease 1: the header is alive while `self` is borrowed, and it is this owner's own.
        unsafe { device(&self.header) }
    }

    /// Notes by which protocol the memory goes out. Once noted, it costs a load.
    #[inline]
    pub(crate) fn mark_exported(&self, protocol: Protocols) {
        let header = self.header();
        if !header.exported().contains(protocol) {
            header.exported.fetch_or(protocol.0, Ordering::Relaxed);
        }
        if let Some(number) = self.tag.note() {
            book::mark_lease(self.header, number, protocol);
        }
    }

    /// Releases the lease without running code of the owner. If it was the last holder, the result
    /// is the allocation, which its owner still has to release.
    pub(crate) fn give_back(self) -> Option<Orphan> {
        self.forget_note();
        let header = self.header;
        let was_last = self.header().word().give(self.kind());
        std::mem::forget(self);
        // Not made otherwise: dropping an `Orphan` releases the allocation.
        if was_last {
            // SAFETY: the word said that this was the last holder.
            Some(unsafe { Orphan::new(header) })
        } else {
            None
        }
    }
}

impl Drop for Lease {
    #[inline]
    fn drop(&mut self) {
        self.forget_note();
        if self.header().word().give(self.kind()) {
            // SAFETY: the word said that this was the last holder.
            unsafe { release(self.header) }
        }
    }
}
