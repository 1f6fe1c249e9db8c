//! Brief leases, for the access to one element.
//!
//! Reasons: `DESIGN.md`, "Reading one element takes a brief lease".

use std::sync::atomic::Ordering;

use crate::memory::book;
use crate::memory::handle::Handle;
use crate::memory::header::Header;
use crate::memory::word::LeaseKind;

/// A lease that borrows a handle: it keeps no memory alive by itself, is in no list, and fits one
/// register.
///
/// # Invariants
///
/// 1. The header's word counts it once, as `kind`.
pub(crate) struct BriefLease<'a> {
    header: &'a Header,
    kind: LeaseKind,
}

impl Drop for BriefLease<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // BriefLease 1. Never the last holder, since the handle is borrowed.
        let _never_last = self.header.word().give(self.kind);
    }
}

impl Handle {
    /// Takes a lease for one brief access by the CPU. Returns `None` if that takes more than one
    /// step: on refusal, during device work, and while the ledger lists leases. The caller then
    /// uses [`lease`](crate::memory::lease()).
    #[inline(always)]
    pub(crate) fn brief_lease(&self, kind: LeaseKind) -> Option<BriefLease<'_>> {
        let header = self.header();
        // Constructed only where it is counted, because its drop releases one count.
        if header.is_at_once() && header.word().take(kind).is_ok() {
            Some(BriefLease { header, kind })
        } else {
            None
        }
    }
}

impl Header {
    /// Whether nothing but the word decides about a lease for access by the CPU: the memory is on
    /// the host, no device work is noted, and the ledger lists no leases.
    #[inline(always)]
    pub(super) fn is_at_once(&self) -> bool {
        self.place().is_host() && !self.awaited.load(Ordering::Acquire) && !book::is_on()
    }
}
