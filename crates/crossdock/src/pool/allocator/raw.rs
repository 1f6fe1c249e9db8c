//! Bytes without a header, for collections and boxes: a pool as an allocator.
//!
//! ```text
//!   | guard? | bytes (aligned as the layout says) | guard? |
//! ```
//!
//! The owner of such bytes states their number when it frees them. Debug mode records each block
//! that is taken, so that it detects a wrong number.

use std::alloc::Layout as AllocLayout;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator};

use crate::memory::thread_index;
use crate::pool::account::{Account, refund};
use crate::pool::allocator::taken::{self, Taken};
use crate::pool::charge::UNIT;
use crate::pool::form::ALIGNMENT;
use crate::pool::{Pool, debug};

/// The charge of a block of this size.
fn charged(nbytes: usize) -> usize {
    // A layout has at most `isize::MAX` bytes.
    nbytes.next_multiple_of(UNIT)
}

/// The layout of the allocator's block, and the length of the guards in it.
fn outer(account: &Account, layout: AllocLayout) -> Option<(AllocLayout, usize)> {
    if !account.is_guarded() {
        return Some((layout, 0));
    }
    let guard = layout.align().max(ALIGNMENT);
    let nbytes = layout.size().checked_add(guard.checked_mul(2)?)?;
    Some((AllocLayout::from_size_align(nbytes, layout.align()).ok()?, guard))
}

/// A block of the account's source, which has been charged already, with guards if the account has
/// them.
///
/// # Safety
///
/// 1. The layout is not zero-sized.
unsafe fn take(account: &Account, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>> {
    let (outer, guard) = outer(account, layout)?;
    // SAFETY: clause 1 of `allocate`: `outer` is at least as large as the layout, which is not
    // zero-sized (clause 1 of `# Safety`).
    let base = unsafe { account.source().allocate(outer, zeroed) }?;
    if guard == 0 {
        return Some(base);
    }
    // SAFETY: `outer` has room for a guard, the bytes and a second guard, so the sum stays within
    // the block.
    let bytes = unsafe { base.add(guard) };
    let taken = Taken { pool: account.into(), nbytes: layout.size(), align: layout.align() };
    if taken::note(bytes, taken) {
        // SAFETY: clause 1 of `prepare`: the block is new and not shared, and `outer` has `guard`
        // bytes on both sides of the bytes.
        unsafe { debug::prepare(bytes, layout.size(), guard, zeroed) };
        Some(bytes)
    } else {
        // SAFETY: clause 1 of `deallocate`: this source allocated `base` above with this layout.
        // Clause 2: no other party knows it.
        unsafe { account.source().deallocate(base, outer) };
        None
    }
}

/// Returns a block to the account's source, unless it is damaged. It stays charged.
///
/// # Safety
///
/// 1. The block came from [`take`] with this account and layout.
/// 2. It is not in the debug table any more, and it is not used any more.
unsafe fn give_back(account: &Account, bytes: NonNull<u8>, layout: AllocLayout) {
    let Some((outer, guard)) = outer(account, layout) else { return };
    // SAFETY: clauses 1 and 2 of `inspect`: `take` called `prepare` with this size and guard.
    // Clause 3 is clause 2 of `# Safety`.
    if guard != 0 && !unsafe { debug::inspect(bytes, layout.size(), guard) } {
        return;
    }
    // SAFETY: clause 1 of `# Safety`: `take` placed the bytes a guard's length behind the beginning
    // of the block.
    let base = unsafe { bytes.sub(guard) };
    // SAFETY: clause 1 of `deallocate`: `take` allocated `base` from this source with this layout
    // (clause 1 of `# Safety`). Clause 2: it is not used any more.
    unsafe { account.source().deallocate(base, outer) };
}

/// In debug mode, whether the bytes were taken with this layout; they are then removed from the
/// table. Reports a mismatch.
fn is_returned(account: &Account, bytes: NonNull<u8>, layout: AllocLayout) -> bool {
    let given = Taken { pool: account.into(), nbytes: layout.size(), align: layout.align() };
    match taken::strike(bytes, given) {
        Ok(()) => true,
        Err(damage) => {
            debug::report(damage);
            false
        }
    }
}

impl Pool {
    fn take_raw(&self, layout: AllocLayout, zeroed: bool) -> Result<NonNull<[u8]>, AllocError> {
        let account = self.account();
        let nbytes = layout.size();
        if nbytes == 0 {
            return Ok(NonNull::slice_from_raw_parts(layout.dangling_ptr(), 0));
        }
        account.charge(thread_index::current(), charged(nbytes)).map_err(|_| AllocError)?;
        // SAFETY: clause 1 of `take`: `nbytes` is not 0 (checked above).
        match unsafe { take(account, layout, zeroed) } {
            Some(bytes) => {
                account.note_allocated(thread_index::current(), charged(nbytes));
                Ok(NonNull::slice_from_raw_parts(bytes, nbytes))
            }
            None => {
                account.refund_unused(charged(nbytes));
                Err(AllocError)
            }
        }
    }

    /// Moves or resizes a block; bytes beyond the smaller of the two sizes are uninitialised.
    ///
    /// # Safety
    ///
    /// 1. The block is one of this pool's with the layout `old`.
    /// 2. No other party accesses it; if the result is `Ok`, its old address is not used any more.
    unsafe fn resize_raw(
        &self,
        bytes: NonNull<u8>,
        old: AllocLayout,
        new: AllocLayout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if old.size() == 0 {
            return self.take_raw(new, false);
        }
        if new.size() == 0 {
            // SAFETY: clauses 1 and 2 of `# Safety`: the block is this pool's with the layout
            // `old`, and it is not used any more.
            unsafe { self.deallocate(bytes, old) };
            return self.take_raw(new, false);
        }
        let account = self.account();
        let (before, after) = (charged(old.size()), charged(new.size()));
        account.charge_growth(before, after).map_err(|_| AllocError)?;
        let resized = if account.is_guarded() || old.align() != new.align() {
            // SAFETY: clauses 1 and 2 of `# Safety` are those of `move_to`, and `account` is this
            // pool's. Clause 3: `new.size()` is not 0 (checked above).
            unsafe { move_to(account, bytes, old, new) }
        } else {
            // SAFETY: clause 1 of `reallocate`: the pool's source allocated the block with the
            // layout `old`, since there are no guards. Clause 2: `new` is a layout of the same
            // alignment, and not empty.
            unsafe { account.source().reallocate(bytes, old, new.size()) }
        };
        match resized {
            Some(bytes) => {
                account.note_resized(before, after);
                account.refund_shrinkage(before, after);
                Ok(NonNull::slice_from_raw_parts(bytes, new.size()))
            }
            None => {
                account.refund_shrinkage(after, before);
                Err(AllocError)
            }
        }
    }
}

/// Moves to a new block. In debug mode the old block is checked first. If it was not taken with
/// this layout, it stays where it is, and nothing is moved.
///
/// # Safety
///
/// 1. The block is one of the account's with the layout `old`.
/// 2. No other party accesses it; if the result is `Some`, its old address is not used any more.
/// 3. `new` is not zero-sized.
unsafe fn move_to(
    account: &Account,
    bytes: NonNull<u8>,
    old: AllocLayout,
    new: AllocLayout,
) -> Option<NonNull<u8>> {
    // Checked first: memory that was freed already could be allocated again below.
    if account.is_guarded() && !taken::is_noted(bytes) {
        is_returned(account, bytes, old);
        return None;
    }
    // SAFETY: clause 1 of `take` is clause 3 of `# Safety`.
    let fresh = unsafe { take(account, new, false) }?;
    if account.is_guarded() && !is_returned(account, bytes, old) {
        let wrong = taken::strike_whatever(fresh);
        debug_assert!(wrong, "it was noted when it was taken");
        // SAFETY: clause 1 of `give_back`: `take` allocated `fresh` above with this layout. Clause
        // 2: it was struck off, and no other party knows it.
        unsafe { give_back(account, fresh, new) };
        return None;
    }
    // SAFETY: both blocks have at least as many bytes as the smaller layout; `fresh` is new, so
    // they do not overlap.
    unsafe { bytes.copy_to_nonoverlapping(fresh, old.size().min(new.size())) };
    // SAFETY: clause 1 of `give_back`: clause 1 of `# Safety`. Clause 2: `is_returned` struck it
    // off in debug mode, and its content has moved.
    unsafe { give_back(account, bytes, old) };
    Some(fresh)
}

/// Collections and boxes that charge a pool. (With the feature `allocator-api2-0_2`.) Their memory
/// comes from the source of the pool's small blocks, at the alignment of their layout. Sizes of any
/// kind are charged in multiples of 64 bytes; a reached limit is an [`AllocError`]. An empty layout
/// is not charged.
///
/// ```
/// use allocator_api2::vec::Vec;
/// use crossdock::pool::Pool;
///
/// let pool = Pool::default().capped("index", 1 << 10)?;
/// let mut index = Vec::new_in(pool.clone());
/// index.extend(0..10u64);
/// assert!(pool.statistics().live_nbytes >= 80);
/// assert!(index.try_reserve(1000).is_err(), "more than the pool may have");
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// Debug mode ([`Pool::guarded`]) records every such block. A block that is freed twice, was never
/// taken, or is freed with another size or alignment or to another pool, is reported
/// ([`take_damage`](crate::pool::take_damage)) and leaked.
// SAFETY: a block comes from the account's source with the layout's size and alignment, and stays
// valid until it is freed: its charge keeps the account alive, and the account the source. A clone
// is a handle on the same account.
unsafe impl Allocator for Pool {
    fn allocate(&self, layout: AllocLayout) -> Result<NonNull<[u8]>, AllocError> {
        self.take_raw(layout, false)
    }

    fn allocate_zeroed(&self, layout: AllocLayout) -> Result<NonNull<[u8]>, AllocError> {
        self.take_raw(layout, true)
    }

    unsafe fn deallocate(&self, bytes: NonNull<u8>, layout: AllocLayout) {
        let account = self.account();
        if account.is_guarded() {
            if layout.size() == 0 && !taken::is_noted(bytes) {
                return;
            }
            if !is_returned(account, bytes, layout) {
                return;
            }
        } else if layout.size() == 0 {
            return;
        }
        // SAFETY: clause 1 of `give_back`: by the contract of `deallocate` this pool allocated the
        // block with a layout that fits. Clause 2: `is_returned` struck it off in debug mode.
        unsafe { give_back(account, bytes, layout) };
        // SAFETY: clause 1 of `refund`: `take_raw` charged the account for this size. Clause 2: the
        // block has just been returned to the source.
        unsafe { refund(account.into(), thread_index::current(), charged(layout.size())) };
    }

    unsafe fn grow(
        &self,
        bytes: NonNull<u8>,
        old: AllocLayout,
        new: AllocLayout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: clauses 1 and 2 of `resize_raw`: by the contract of `grow` this pool allocated
        // the block with a layout that `old` fits, and the caller passes it on.
        unsafe { self.resize_raw(bytes, old, new) }
    }

    unsafe fn grow_zeroed(
        &self,
        bytes: NonNull<u8>,
        old: AllocLayout,
        new: AllocLayout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if old.size() == 0 {
            return self.take_raw(new, true);
        }
        // SAFETY: clauses 1 and 2 of `resize_raw`: by the contract of `grow_zeroed` this pool
        // allocated the block with a layout that `old` fits, and the caller passes it on.
        let block = unsafe { self.resize_raw(bytes, old, new) }?;
        // SAFETY: the contract of `grow_zeroed`: `old.size()` is at most `new.size()`, the size of
        // `block`.
        let behind = unsafe { block.cast::<u8>().add(old.size()) };
        // SAFETY: `new.size() - old.size()` bytes follow in `block`, which `resize_raw` returned
        // and only this function knows.
        unsafe { behind.write_bytes(0, new.size() - old.size()) };
        Ok(block)
    }

    unsafe fn shrink(
        &self,
        bytes: NonNull<u8>,
        old: AllocLayout,
        new: AllocLayout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: clauses 1 and 2 of `resize_raw`: by the contract of `shrink` this pool allocated
        // the block with a layout that `old` fits, and the caller passes it on.
        unsafe { self.resize_raw(bytes, old, new) }
    }
}
