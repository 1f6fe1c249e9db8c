//! Small blocks that a thread freed recently, for its next request of the same size.
//!
//! The global allocator takes longer for one request than all the work of this library. So each
//! thread keeps a few blocks with their headers, in lists that no other thread touches. The lists
//! belong to the thread's index ([`thread_index`](crate::memory::thread_index)). They are
//! emptied when the thread ends, or by [`Pool::trim`](crate::pool::Pool::trim).
//!
//! Reasons: `DESIGN.md`, "A thread keeps small blocks".

use std::cell::Cell;
use std::ptr::NonNull;

use crate::memory::header::Header;
use crate::memory::thread_index::{self, INDEXED_THREADS};
use crate::pool::form::ALIGNMENT;
use crate::pool::plain::deallocate_kept;

/// Larger blocks are not kept.
const LARGEST: usize = 1024;
/// The most blocks of one size that a thread keeps.
const KEPT: u8 = 8;
const CLASSES: usize = LARGEST / ALIGNMENT + 1;

/// Off for sanitizers, which must see each block freed, and for the model checker, whose headers
/// are not plain memory.
const IS_ON: bool = !cfg!(any(crossdock_sanitized, loom));

/// One thread's lists, by capacity.
///
/// # Invariants
///
/// 1. Only the thread that has the index accesses it.
/// 2. `tops` are headers of plain blocks of that capacity, of the global allocator, which the list
///    owns. The next header's address is in place of the account's. `counts` are the lengths.
#[repr(align(64))]
struct ThreadCache {
    tops: [Cell<Option<NonNull<Header>>>; CLASSES],
    counts: [Cell<u8>; CLASSES],
}

struct ThreadCaches([ThreadCache; INDEXED_THREADS]);

// SAFETY: ThreadCache 1: each thread accesses the cache of its own index only, and releasing and
// taking an index orders these accesses (`IndexSet`).
unsafe impl Sync for ThreadCaches {}

static CACHES: ThreadCaches = ThreadCaches(
    [const {
        ThreadCache { tops: [const { Cell::new(None) }; CLASSES], counts: [const { Cell::new(0) }; CLASSES] }
    }; INDEXED_THREADS],
);

/// Has each thread free what it keeps when it ends. Every account calls this before its first block
/// exists.
pub(crate) fn drain_at_end() {
    /// # Safety
    ///
    /// Clause 1 of [`drain`].
    unsafe fn run(thread_index: usize) {
        // SAFETY: clause 1 of `drain`.
        unsafe { drain(thread_index) };
    }
    // SAFETY: clause 1 of `thread_index::drain_at_end`: the index is then the calling thread's,
    // which is all that clause 1 of `drain` demands.
    unsafe { thread_index::drain_at_end(run) };
}

/// A block of the capacity, whose header still has its former content.
///
/// # Safety
///
/// 1. The index is this thread's, or none.
#[inline]
pub(crate) unsafe fn take(thread_index: usize, capacity: usize) -> Option<NonNull<Header>> {
    let cache = CACHES.0.get(thread_index)?;
    let class = capacity / ALIGNMENT;
    let header = cache.tops.get(class)?.get()?;
    // SAFETY: ThreadCache 2: the list owns the header, which is alive, and by clause 1 of
    // `# Safety` the list is this thread's.
    let next = unsafe { header.as_ref() }.spare().ptr;
    cache.tops[class].set(NonNull::new(next.cast_mut().cast()));
    cache.counts[class].set(cache.counts[class].get() - 1);
    Some(header)
}

/// Keeps a block, and returns whether it did.
///
/// # Safety
///
/// 1. The index is this thread's, or none.
/// 2. The header is that of a plain block of the capacity, of the global allocator. The caller owns
///    it, and loses it if the result is `true`.
#[inline]
pub(crate) unsafe fn give(thread_index: usize, capacity: usize, mut header: NonNull<Header>) -> bool {
    let class = capacity / ALIGNMENT;
    let Some(cache) = CACHES.0.get(thread_index).filter(|_| IS_ON && class < CLASSES) else { return false };
    let count = &cache.counts[class];
    if count.get() >= KEPT {
        return false;
    }
    count.set(count.get() + 1);
    let next = cache.tops[class].replace(Some(header));
    let next = next.map_or(std::ptr::null(), |next| next.as_ptr().cast_const().cast());
    // SAFETY: clause 2 of `# Safety`: the caller owned the header and passes it to this list, so no
    // other reference to it exists.
    unsafe { header.as_mut() }.set_spare_ptr(next);
    true
}

/// Frees the blocks that a thread keeps, and returns the number of their bytes.
///
/// # Safety
///
/// 1. The index is this thread's, or none.
pub(crate) unsafe fn drain(thread_index: usize) -> usize {
    let mut nbytes = 0;
    for capacity in (0..=LARGEST).step_by(ALIGNMENT) {
        // SAFETY: clause 1 of `take` is clause 1 of `# Safety`: the index is this thread's, or
        // none.
        while let Some(header) = unsafe { take(thread_index, capacity) } {
            nbytes += capacity;
            // SAFETY: clause 1 of `deallocate_kept`: ThreadCache 2: the list held plain blocks of
            // the global allocator. Clause 2: `take` removed this one from the list.
            unsafe { deallocate_kept(header) };
        }
    }
    nbytes
}
