//! Bytes without a header, for collections and boxes: a pool as an allocator.
//!
//! ```text
//!   | guard? | bytes (aligned as the layout says) | guard? |
//! ```
//!
//! Whoever gives such bytes back says how many there are. Debug mode writes down what was taken, so that it can tell where
//! that is not true.

use std::alloc::Layout as AllocLayout;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator};

use crate::pool::account::{Account, refund};
use crate::pool::allocator::taken::{self, Taken};
use crate::pool::charge::UNIT;
use crate::pool::form::ALIGNMENT;
use crate::pool::{Pool, debug, slot};

/// What a block of this size is charged.
fn charged(nbytes: usize) -> usize {
    // A layout has `isize::MAX` bytes at most.
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

/// A block of the account's source, which has been charged already, with guards where it wants them.
fn take(account: &Account, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>> {
    let (outer, guard) = outer(account, layout)?;
    let base = account.source().allocate(outer, zeroed)?;
    if guard == 0 {
        return Some(base);
    }
    // SAFETY: the block begins with a guard.
    let bytes = unsafe { base.add(guard) };
    let taken = Taken { pool: account.into(), nbytes: layout.size(), align: layout.align() };
    if taken::note(bytes, taken) {
        // SAFETY: the block has a guard on both sides of the bytes.
        unsafe { debug::prepare(bytes, layout.size(), guard, zeroed) };
        Some(bytes)
    } else {
        // SAFETY: taken above, with this layout.
        unsafe { account.source().deallocate(base, outer) };
        None
    }
}

/// Gives a block back to the account's source, unless it is damaged. It stays charged.
///
/// # Safety
///
/// It came from [`take`] with this layout, is noted no more, and is not used any more.
unsafe fn give_back(account: &Account, bytes: NonNull<u8>, layout: AllocLayout) {
    let Some((outer, guard)) = outer(account, layout) else { return };
    // SAFETY: prepared by `take` with guards of that length.
    if guard != 0 && !unsafe { debug::inspect(bytes, layout.size(), guard) } {
        return;
    }
    // SAFETY: the block begins a guard's length in front of the bytes.
    let base = unsafe { bytes.sub(guard) };
    // SAFETY: the caller's word.
    unsafe { account.source().deallocate(base, outer) };
}

/// In debug mode, whether these bytes were taken so, and are no more; it reports where they were not.
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
        account.charge(slot::current(), charged(nbytes)).map_err(|_| AllocError)?;
        match take(account, layout, zeroed) {
            Some(bytes) => {
                account.note_allocated(slot::current(), charged(nbytes));
                Ok(NonNull::slice_from_raw_parts(bytes, nbytes))
            }
            None => {
                account.refund_unused(charged(nbytes));
                Err(AllocError)
            }
        }
    }

    /// Moves or resizes a block; whatever is beyond the smaller of the two sizes is uninitialised.
    ///
    /// # Safety
    ///
    /// The block is one of this pool's with the old layout.
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
            // SAFETY: the caller's word.
            unsafe { self.deallocate(bytes, old) };
            return self.take_raw(new, false);
        }
        let account = self.account();
        let (before, after) = (charged(old.size()), charged(new.size()));
        account.charge_growth(before, after).map_err(|_| AllocError)?;
        let resized = if account.is_guarded() || old.align() != new.align() {
            // SAFETY: the caller's word.
            unsafe { move_to(account, bytes, old, new) }
        } else {
            // SAFETY: the caller's word; a layout's size fits, and this one is not 0.
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

/// Moves to a new block. In debug mode, the old one is looked at first; one that was not taken so stays where it is, and nothing is
/// moved.
///
/// # Safety
///
/// As for [`Pool::resize_raw`].
unsafe fn move_to(
    account: &Account,
    bytes: NonNull<u8>,
    old: AllocLayout,
    new: AllocLayout,
) -> Option<NonNull<u8>> {
    // Asked first: memory that was given back already could be what is taken next.
    if account.is_guarded() && !taken::is_noted(bytes) {
        is_returned(account, bytes, old);
        return None;
    }
    let fresh = take(account, new, false)?;
    if account.is_guarded() && !is_returned(account, bytes, old) {
        let wrong = taken::strike_whatever(fresh);
        debug_assert!(wrong, "it was noted when it was taken");
        // SAFETY: taken above, with this layout, and noted no more.
        unsafe { give_back(account, fresh, new) };
        return None;
    }
    // SAFETY: both blocks have that many bytes, and are not the same.
    unsafe { bytes.copy_to_nonoverlapping(fresh, old.size().min(new.size())) };
    // SAFETY: the caller's word; in debug mode, it was struck off above.
    unsafe { give_back(account, bytes, old) };
    Some(fresh)
}

/// Collections and boxes that charge a pool. (With the feature `allocator-api2-0_2`.) They take
/// their memory from where the pool's small blocks come from, at the alignment that their layout
/// asks for: sizes of any kind are charged in multiples of 64 bytes, and where a limit stands in
/// the way, that is [`AllocError`]. What has no bytes is charged nothing.
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
/// In debug mode ([`Pool::guarded`]) every such block is written down. One that is given back twice, that was never taken, or is
/// given back with another size or alignment or to another pool, is reported ([`take_damage`](crate::pool::take_damage)) and
/// not given back.
// SAFETY: a block is the source's, at the layout's alignment and of its size, and stays where it is until it is given back: the
// charge keeps the account alive, and that the source. A clone is a handle on the same account.
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
        // SAFETY: the caller's word; in debug mode, it was struck off above.
        unsafe { give_back(account, bytes, layout) };
        // SAFETY: charged when it was taken; the source has its memory again.
        unsafe { refund(account.into(), slot::current(), charged(layout.size())) };
    }

    unsafe fn grow(
        &self,
        bytes: NonNull<u8>,
        old: AllocLayout,
        new: AllocLayout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's word.
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
        // SAFETY: the caller's word.
        let block = unsafe { self.resize_raw(bytes, old, new) }?;
        // SAFETY: the old size is no more than the new one (the caller's word).
        let behind = unsafe { block.cast::<u8>().add(old.size()) };
        // SAFETY: the rest of the block.
        unsafe { behind.write_bytes(0, new.size() - old.size()) };
        Ok(block)
    }

    unsafe fn shrink(
        &self,
        bytes: NonNull<u8>,
        old: AllocLayout,
        new: AllocLayout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's word.
        unsafe { self.resize_raw(bytes, old, new) }
    }
}
