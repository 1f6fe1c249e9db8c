//! Small blocks that a thread gave back a moment ago, for its next request of the same size.
//!
//! What the global allocator does for one request takes longer than all that we do. So each thread keeps a few blocks,
//! headers and all, in lists that nobody else touches: they hang on its number ([`slot`](super::slot)), and go back to the
//! allocator when it ends, or by [`Pool::trim`](crate::pool::Pool::trim).

use std::cell::Cell;
use std::ptr::NonNull;

use crate::memory::header::Header;
use crate::pool::form::ALIGNMENT;
use crate::pool::numbers::SLOTS;
use crate::pool::plain::deallocate_kept;

/// Blocks of more bytes are not kept.
const LARGEST: usize = 1024;
/// How many blocks of a size a thread keeps.
const KEPT: u8 = 8;
const CLASSES: usize = LARGEST / ALIGNMENT + 1;

/// Sanitizers are to see each block go, and the model checker's headers are not plain memory.
const IS_ON: bool = !cfg!(any(crossdock_portable, loom));

/// One thread's lists, by capacity.
///
/// # Invariants
///
/// 1. Touched only by the thread that has the slot.
/// 2. `tops` are headers of plain blocks of that capacity, of the global allocator, which nobody else has; the next one is where the
///    account's address was. `counts` are their numbers.
#[repr(align(64))]
struct Front {
    tops: [Cell<Option<NonNull<Header>>>; CLASSES],
    counts: [Cell<u8>; CLASSES],
}

struct Fronts([Front; SLOTS]);

// SAFETY: each thread touches the front of its own slot only (Front 1), and passes it on with the slot.
unsafe impl Sync for Fronts {}

static FRONTS: Fronts = Fronts(
    [const { Front { tops: [const { Cell::new(None) }; CLASSES], counts: [const { Cell::new(0) }; CLASSES] } };
        SLOTS],
);

/// A block of the capacity, whose header is that of its former life.
///
/// # Safety
///
/// The slot is this thread's, or none.
#[inline]
pub(crate) unsafe fn take(slot: usize, capacity: usize) -> Option<NonNull<Header>> {
    let front = FRONTS.0.get(slot)?;
    let class = capacity / ALIGNMENT;
    let header = front.tops.get(class)?.get()?;
    // SAFETY: Front 2.
    let next = unsafe { header.as_ref() }.spare().ptr;
    front.tops[class].set(NonNull::new(next.cast_mut().cast()));
    front.counts[class].set(front.counts[class].get() - 1);
    Some(header)
}

/// Keeps a block, and says whether it did.
///
/// # Safety
///
/// The slot is this thread's, or none. The header is one of a plain block of the capacity, of the global allocator, which the caller
/// gives up if the answer is yes.
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
    // SAFETY: nobody else has the header (the caller's word).
    unsafe { header.as_mut() }.set_spare_ptr(next);
    true
}

/// Gives back to the allocator what a thread has kept, and says how many bytes that were.
///
/// # Safety
///
/// The slot is this thread's, or none.
pub(crate) unsafe fn drain(slot: usize) -> usize {
    let mut nbytes = 0;
    for capacity in (0..=LARGEST).step_by(ALIGNMENT) {
        // SAFETY: the caller's word.
        while let Some(header) = unsafe { take(slot, capacity) } {
            nbytes += capacity;
            // SAFETY: Front 2: ours, and not used any more.
            unsafe { deallocate_kept(header) };
        }
    }
    nbytes
}
