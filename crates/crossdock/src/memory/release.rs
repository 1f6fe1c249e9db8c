//! Ends an allocation: calls its owner, and stops a panic of the owner.

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

// SAFETY: owners may be released on any thread (`Keep: Send`), the mutable parts of the header are
// atomic (Header 4), and `Forgotten` holds a `Send` value.
unsafe impl Send for Orphan {}

impl Orphan {
    /// # Safety
    ///
    /// 1. The word of `header` counts no holder any more.
    /// 2. No other party releases the allocation.
    pub(super) unsafe fn new(header: NonNull<Header>) -> Self {
        // Orphan 1 follows from clauses 1 and 2 of `# Safety`.
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
            // SAFETY: clause 1 of `release`: no holder is left (Orphan 1). Clause 2: `header` was
            // taken out of `self`, so this call is the only one.
            unsafe { release(header) }
        }
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(header) = self.header.take() {
            // SAFETY: clause 1 of `release`: no holder is left (Orphan 1). Clause 2: `header` was
            // taken out of `self`, so this call is the only one.
            unsafe { release(header) }
        }
    }
}

/// # Safety
///
/// 1. The word of `header` counts no holder any more.
/// 2. This is the only call for that allocation.
#[inline(never)]
pub(super) unsafe fn release(header: NonNull<Header>) {
    let (noted, owner) = {
        // SAFETY: Header 2: only `owner.release` frees the header, and by clause 2 of `# Safety` it
        // was not called before.
        let header = unsafe { header.as_ref() };
        (header.tracked || header.awaited.load(Ordering::Relaxed), header.owner)
    };
    if noted {
        // SAFETY: clauses 1 and 2 of `# Safety` are those of `release_listed`, which this function
        // calls in place of the owner.
        return unsafe { release_listed(header) };
    }
    // SAFETY: clauses 1 and 2 of `# Safety`: the counts are at zero, and this is the one call
    // (Header 2); the function is in the header's own table (Owner 1).
    unsafe { (owner.release)(header) }
}

/// Like [`release`], for an allocation with noted work or an entry in the ledger.
///
/// # Safety
///
/// 1. The word of `header` counts no holder any more.
/// 2. This is the only call for that allocation.
#[cold]
#[inline(never)]
unsafe fn release_listed(header: NonNull<Header>) {
    forget_work(header);
    book::forget(header);
    // SAFETY: Header 2: only `owner.release` frees the header, and by clause 2 of `# Safety` it was
    // not called before.
    let owner = unsafe { header.as_ref() }.owner;
    // SAFETY: clauses 1 and 2 of `# Safety`: the counts are at zero, and this is the one call
    // (Header 2); the function is in the header's own table (Owner 1).
    unsafe { (owner.release)(header) }
}

/// Drops the work that is noted on an allocation without holders.
#[cold]
pub(super) fn forget_work(header: NonNull<Header>) {
    let noted = work::take(header);
    // An event may be foreign and its drop may panic: the memory is released all the same.
    release_quietly(|| drop(noted));
}

static FAILED_RELEASES: AtomicU64 = AtomicU64::new(0);

/// The number of releases that failed since the process began: the errors of devices that freed
/// memory, and the panics of foreign code that this library has caught, in an owner that released
/// memory, an allocator behind a pool, the drop of an event, or a listener of a logging pool. Such
/// a panic does not propagate.
pub fn failed_releases() -> u64 {
    FAILED_RELEASES.load(Ordering::Relaxed)
}

/// Counts a release that failed.
pub(crate) fn note_failure() {
    FAILED_RELEASES.fetch_add(1, Ordering::Relaxed);
}

/// Runs an owner's release. A panic of the owner must not unwind into the thread that dropped the
/// last holder: it is counted and stops here.
pub(crate) fn release_quietly(release: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(release)) {
        count_failure(payload);
    }
}

/// Not generic: [`release_quietly`] is compiled for each of its callers' closures.
#[cold]
fn count_failure(mut payload: Box<dyn Any + Send>) {
    note_failure();
    // A payload's drop may panic, with a payload whose drop may panic, too. A few are followed; the
    // last is leaked.
    for _ in 0..4 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}
