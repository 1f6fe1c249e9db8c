//! Releases within releases. An owner may hold the last handle on another allocation, whose owner
//! holds the last one on a third: an array that went to and fro between two libraries is such a
//! chain, of any length. Its releases must not use a stack of that length.
//!
//! Reasons: `DESIGN.md`, "Releases are nested only to a small depth".

use std::cell::Cell;
use std::ptr::{self, NonNull};

use crate::memory::header::Header;

/// As many releases run one within another. With the frames of other libraries between them, that
/// takes tens of KiB, and a fiber's stack may have as little as 128 KiB.
const DEEPEST: u32 = 16;

/// The releases of one thread.
///
/// # Invariants
///
/// 1. The list contains headers without holders that their owners still have to free, each once.
///    `spare.ptr` of each is the next one, or null.
struct Nest {
    depth: Cell<u32>,
    waiting: Cell<*mut Header>,
}

thread_local! {
    /// Nothing to drop: the list is empty whenever no release runs.
    static NEST: Nest = const { Nest { depth: Cell::new(0), waiting: Cell::new(ptr::null_mut()) } };
}

/// Calls `free`, which may run the code of users. If [`DEEPEST`] releases of this thread have not
/// returned yet, the call is postponed: the outermost of them makes it before it returns. So the
/// memory is always freed on this thread, before the outermost drop ends.
///
/// # Safety
///
/// 1. The word of `header` counts no holder any more, and this is the only call for it.
/// 2. `free` may be called with it, once, and does not unwind.
/// 3. The owner uses no `spare.ptr`, and its `release` calls this function.
#[inline]
pub(super) unsafe fn release(header: NonNull<Header>, free: unsafe fn(NonNull<Header>)) {
    NEST.with(|nest| {
        let depth = nest.depth.get();
        if depth == DEEPEST {
            // SAFETY: clauses 1 and 3 of `# Safety` are those of `wait`.
            return unsafe { nest.wait(header) };
        }
        nest.depth.set(depth + 1);
        // SAFETY: clause 2 of `# Safety`: this is the one call.
        unsafe { free(header) };
        if depth == 0 {
            nest.release_waiting();
        }
        nest.depth.set(depth);
    });
}

impl Nest {
    /// # Safety
    ///
    /// 1. The word of `header` counts no holder any more, and its owner has not freed it.
    /// 2. The owner uses no `spare.ptr`.
    #[cold]
    unsafe fn wait(&self, mut header: NonNull<Header>) {
        let next = self.waiting.replace(header.as_ptr());
        // SAFETY: clause 1 of `# Safety`: the header is alive, and without holders no other
        // reference to it exists.
        unsafe { header.as_mut() }.set_spare_ptr(next.cast_const().cast());
    }

    fn release_waiting(&self) {
        while let Some(header) = NonNull::new(self.waiting.get()) {
            let (owner, next) = {
                // SAFETY: Nest 1: the header is on the list, so its owner has not freed it.
                let header = unsafe { header.as_ref() };
                (header.owner, header.spare().ptr)
            };
            self.waiting.set(next.cast_mut().cast());
            // SAFETY: Nest 1: no holder is left, and the header was taken off the list: this is the
            // one call (Header 2). The function is in the header's own table (Owner 1).
            unsafe { (owner.release)(header) };
        }
    }
}
