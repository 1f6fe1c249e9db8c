//! Leases of a moment, for one element.

use std::sync::atomic::Ordering;

use crate::memory::book;
use crate::memory::handle::Handle;
use crate::memory::header::Header;
use crate::memory::word::LeaseKind;

/// A lease that a borrowed handle outlives: it keeps nothing alive by itself, stands in no list, and is one register.
///
/// # Invariants
///
/// 1. It is counted once, as `kind`, in the word of the header.
pub(crate) struct Glance<'a> {
    header: &'a Header,
    kind: LeaseKind,
}

impl Drop for Glance<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Glance 1. Never the last: the handle that it was taken from is borrowed.
        let _never_last = self.header.word().give(self.kind);
    }
}

impl Handle {
    /// Takes a lease for access by the processor for a moment. `None` where that takes more than one step: on refusal, while work on a
    /// device is under way, while the ledger lists leases. [`lease`](crate::memory::lease()) knows what to do then.
    #[inline(always)]
    pub(crate) fn glance(&self, kind: LeaseKind) -> Option<Glance<'_>> {
        let header = self.header();
        let at_once = header.place().is_host() && !header.awaited.load(Ordering::Acquire) && !book::is_on();
        // Made where it is counted, and nowhere else: what is made is given back.
        if at_once && header.word().take(kind).is_ok() { Some(Glance { header, kind }) } else { None }
    }
}
