//! Small blocks that a thread freed recently, for its next request of the same size.
//!
//! The global allocator takes longer for one request than all the work of this library. So each
//! thread keeps a few blocks with their headers, in lists that no other thread touches. The lists
//! belong to the thread's number ([`slot`](super::slot)). They are emptied when the thread ends, or
//! by [`Pool::trim`](crate::pool::Pool::trim).

use std::cell::Cell;
use std::ptr::NonNull;

use crate::memory::header::Header;
use crate::pool::form::ALIGNMENT;
use crate::pool::numbers::SLOTS;
use crate::pool::plain::deallocate_kept;

/// Larger blocks are not kept.
const LARGEST: usize = 1024;
/// The most blocks of one size that a thread keeps.
const KEPT: u8 = 8;
const CLASSES: usize = LARGEST / ALIGNMENT + 1;

/// Off for sanitizers, which must see each block freed, and for the model checker, whose headers
/// are not plain memory.
const IS_ON: bool = !cfg!(any(crossdock_portable, loom));

/// One thread's lists, by capacity.
///
/// # Invariants
///
/// 1. Only the thread that has the slot accesses it.
/// 2. `tops` are headers of plain blocks of that capacity, of the global allocator, which the list
///    owns. The next header's address is in place of the account's. `counts` are the lengths.
#[repr(align(64))]
struct Front {
    tops: [Cell<Option<NonNull<Header>>>; CLASSES],
    counts: [Cell<u8>; CLASSES],
}

struct Fronts([Front; SLOTS]);

// SAFETY: Front 1: each thread accesses the front of its own slot only, and releasing and taking a
// slot orders these accesses (`Numbers`).
unsafe impl Sync for Fronts {}

static FRONTS: Fronts = Fronts(
    [const { Front { tops: [const { Cell::new(None) }; CLASSES], counts: [const { Cell::new(0) }; CLASSES] } };
        SLOTS],
);

/// A block of the capacity, whose header still has its former content.
///
/// # Safety
///
/// 1. The slot is this thread's, or none.
#[inline]
pub(crate) unsafe fn take(slot: usize, capacity: usize) -> Option<NonNull<Header>> {
    let front = FRONTS.0.get(slot)?;
    let class = capacity / ALIGNMENT;
    let header = front.tops.get(class)?.get()?;
    // SAFETY: Front 2: the list owns the header, which is alive, and by clause 1 of `# Safety` the
    // list is this thread's.
    let next = unsafe { header.as_ref() }.spare().ptr;
    front.tops[class].set(NonNull::new(next.cast_mut().cast()));
    front.counts[class].set(front.counts[class].get() - 1);
    Some(header)
}

/// Keeps a block, and returns whether it did.
///
/// # Safety
///
/// 1. The slot is this thread's, or none.
/// 2. The header is that of a plain block of the capacity, of the global allocator. The caller owns
///    it, and loses it if the result is `true`.
#[inline]
pub(crate) unsafe fn give(slot: usize, capacity: usize, mut header: NonNull<Header>) -> bool {
    let class = capacity / ALIGNMENT;
    let Some(front) = FRONTS.0.get(slot).filter(|_| IS_ON && class < CLASSES) else { return false };
    let count = &front.counts[class];
    if count.get() >= KEPT {
        return false;
    }
    count.set(count.get() + 1);
    let next = front.tops[class].replace(Some(header));
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
/// 1. The slot is this thread's, or none.
pub(crate) unsafe fn drain(slot: usize) -> usize {
    let mut nbytes = 0;
    for capacity in (0..=LARGEST).step_by(ALIGNMENT) {
        // SAFETY: clause 1 of `take` is clause 1 of `# Safety`: the slot is this thread's, or none.
        while let Some(header) = unsafe { take(slot, capacity) } {
            nbytes += capacity;
            // SAFETY: clause 1 of `deallocate_kept`: Front 2: the list held plain blocks of the
            // global allocator. Clause 2: `take` removed this one from the list.
            unsafe { deallocate_kept(header) };
        }
    }
    nbytes
}
