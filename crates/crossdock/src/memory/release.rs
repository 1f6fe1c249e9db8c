//! The end of an allocation: who releases it, and what becomes of a panic on the way.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::book;
use crate::memory::header::Header;
use crate::memory::work::{self, Forgotten};

/// An allocation without holders that its owner still has to release: dropping this runs the
/// owner's code. For callers that release a lease where that code must not run, such as under a
/// lock.
///
/// # Invariants
///
/// 1. While `header` is `Some`, its word counts no holder, and only this `Orphan` may release the
///    allocation.
pub(crate) struct Orphan {
    header: Option<NonNull<Header>>,
    /// The events noted on it. Dropping one may run a user's code.
    events: Forgotten,
}

// SAFETY: owners may be released on any thread, and the header's mutable parts are atomic (Header
// 4).
unsafe impl Send for Orphan {}

impl Orphan {
    /// # Safety
    ///
    /// The word of `header` counts no holder any more, and nothing else releases the allocation.
    pub(super) unsafe fn new(header: NonNull<Header>) -> Self {
        // Orphan 1: the caller's word.
        Self { header: Some(header), events: Forgotten::default() }
    }

    /// Releases the allocation now if that runs no foreign code, so that memory of the library's
    /// own pools and devices is available at once.
    pub(crate) fn release_own(&mut self) {
        let Some(header) = self.header else { return };
        // SAFETY: Orphan 1: only this `Orphan` may release the allocation, so the header is alive.
        let owner = unsafe { header.as_ref() }.owner;
        // SAFETY: Orphan 1: the header is alive; `owner` is the table in that header.
        if unsafe { (owner.is_own)(header) } {
            self.events = work::take(header);
            self.header = None;
            // SAFETY: Orphan 1: no holder is left; the header was taken out, so this is the only
            // call.
            unsafe { release(header) }
        }
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(header) = self.header.take() {
            // SAFETY: Orphan 1: no holder is left; the header was taken out, so this is the only
            // call.
            unsafe { release(header) }
        }
    }
}

/// # Safety
///
/// The word of `header` counts no holder any more, and this is called once for it.
#[inline(never)]
pub(super) unsafe fn release(header: NonNull<Header>) {
    let (noted, owner) = {
        // SAFETY: Header 2: nobody but us frees the header, and we have not yet.
        let header = unsafe { header.as_ref() };
        (header.tracked || header.awaited.load(Ordering::Relaxed), header.owner)
    };
    if noted {
        // SAFETY: the caller's word.
        return unsafe { release_listed(header) };
    }
    // SAFETY: Header 2: the counts are at zero, and this is the one call.
    unsafe { (owner.release)(header) }
}

/// As [`release`], for an allocation that is on a list.
///
/// # Safety
///
/// As for [`release`].
#[cold]
#[inline(never)]
unsafe fn release_listed(header: NonNull<Header>) {
    forget_work(header);
    book::forget(header);
    // SAFETY: Header 2: nobody but us frees the header, and we have not yet.
    let owner = unsafe { header.as_ref() }.owner;
    // SAFETY: Header 2: the counts are at zero, and this is the one call.
    unsafe { (owner.release)(header) }
}

/// Forgets the work that is noted on an allocation without holders.
#[cold]
pub(super) fn forget_work(header: NonNull<Header>) {
    let noted = work::take(header);
    // An event may be foreign, and its drop may panic: the memory is released all the same.
    release_quietly(|| drop(noted));
}

static FAILED_RELEASES: AtomicU64 = AtomicU64::new(0);

/// How often the code of somebody else panicked in the middle of ours, since the process began: an owner that released its memory, an
/// allocator behind a pool, an event that was dropped, a listener of a logging pool. Such a panic goes no further.
pub fn failed_releases() -> u64 {
    FAILED_RELEASES.load(Ordering::Relaxed)
}

/// Runs what an owner does to release its memory. An owner's panic must not unwind into whoever happened to drop last: it
/// is counted and goes no further.
pub(crate) fn release_quietly(release: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(release)) {
        count_failure(payload);
    }
}

/// Not generic: [`release_quietly`] is compiled for each of its callers' closures.
#[cold]
fn count_failure(mut payload: Box<dyn Any + Send>) {
    FAILED_RELEASES.fetch_add(1, Ordering::Relaxed);
    // A payload's own drop may panic, with a payload whose drop may, and so on. A few are followed; the last is let go.
    for _ in 0..4 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}
