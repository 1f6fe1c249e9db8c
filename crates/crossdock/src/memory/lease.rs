//! Permission to access the bytes of an allocation.

use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::memory::book;
use crate::memory::header::{DeviceMapping, Header};
use crate::memory::protocols::Protocols;
use crate::memory::release::{Orphan, release};
use crate::memory::word::LeaseKind;

/// Permission to access an allocation's bytes in one way. It keeps them alive, too.
///
/// # Invariants
///
/// 1. The word of the header counts it once, as `kind` (hence [`Header`] 1 holds while it lives).
/// 2. If it has a note, the ledger's row of the header has a record of that number, for this lease
///    only.
pub(crate) struct Lease {
    pub(super) header: NonNull<Header>,
    tag: Tag,
}

const _: () = assert!(size_of::<Lease>() <= 16, "a lease travels in two registers");

/// The kind of a lease and the number of its note, if it has one. One word, so that a lease is a
/// pair of scalars, which the compiler moves in registers.
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

// SAFETY: all parts of the header that change are atomic (Header 4), and owners may be released on
// any thread (`Keep: Send`). Guards define which threads may use the bytes.
unsafe impl Send for Lease {}
// SAFETY: Header 4: through `&Lease` another thread reaches constant fields and atomics of the
// header only.
unsafe impl Sync for Lease {}

impl Lease {
    /// A lease without a record in the ledger.
    ///
    /// # Safety
    ///
    /// 1. `header` points to a valid [`Header`], whose word counts a lease of `kind`.
    /// 2. No other [`Lease`] represents that lease.
    #[inline]
    pub(super) unsafe fn unnoted(header: NonNull<Header>, kind: LeaseKind) -> Self {
        Self { header, tag: Tag::new(kind, None) }
    }

    /// A lease with a record in the ledger, unless out of memory.
    ///
    /// # Safety
    ///
    /// 1. `header` points to a valid [`Header`], whose word counts a lease of `kind`.
    /// 2. No other [`Lease`] represents that lease.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn noted(header: NonNull<Header>, kind: LeaseKind) -> Self {
        // SAFETY: clause 1 of `note_lease`: the word counts the lease, by clause 1 of `# Safety`.
        // Clause 2: every path that releases a `Lease` first calls `forget_note`.
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
        // SAFETY: Lease 1: the header is alive, and while a lease is borrowed only shared
        // references to the header exist.
        unsafe { self.header.as_ref() }
    }

    pub(crate) fn device(&self) -> Option<DeviceMapping<'_>> {
        let device = self.header().owner.device;
        // SAFETY: Lease 1: the header is alive while `self` is borrowed, and the function comes
        // from its own table (Owner 1).
        unsafe { device(&self.header) }
    }

    /// Records the protocol by which the memory is exported. A repetition costs one load.
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

    /// Releases the lease without running code of the owner. If it was the last holder, returns the
    /// allocation, which its owner still has to release.
    pub(crate) fn give_back(self) -> Option<Orphan> {
        self.forget_note();
        let header = self.header;
        let was_last = self.header().word().give(self.kind());
        std::mem::forget(self);
        // Only then: dropping an `Orphan` releases the allocation.
        if was_last {
            // SAFETY: clauses 1 and 2 of `Orphan::new`: `give` returned `true`, so this was the
            // last holder, and the word reports that to one caller only.
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
            // SAFETY: clauses 1 and 2 of `release`: `give` returned `true`, so this was the last
            // holder, and the word reports that to one caller only.
            unsafe { release(self.header) }
        }
    }
}
