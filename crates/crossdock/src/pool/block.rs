//! A block of a pool: memory with room for a header, not yet shared.
//!
//! ```text
//!  in front:  | lead | header | guard? | bytes (aligned) … capacity | guard? |
//!  apart:     | header |   …   | guard? | bytes (aligned) … capacity | guard? | rest of the mapping |
//! ```
//!
//! A small block has its header in front of the bytes. It is allocated at the allocator's usual
//! alignment and aligned here, which keeps it on the allocator's fast path. A mapped block has its
//! header apart, so that its bytes begin at a page. Guards exist in debug mode only.
//!
//! Freezing turns a block into an allocation, whose lease word counts its holders. An allocation
//! with a single handle can be thawed again.
//!
//! Reasons: `DESIGN.md`, "A small block's header precedes its bytes".
//! See also: `DESIGN.md`, "A new block is one pointer".

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::header::{Descriptor, DeviceMapping, Header, Owner, Region, Spare};
use crate::memory::{Backing, Birth, Conflict, Handle, LeaseKind, Place};
use crate::memory::{shareable, thread_index};
use crate::pool::account::{Account, refund};
use crate::pool::cache::MappedBlock;
use crate::pool::form::{ALIGNMENT, Demand, Form, HEADER, capacity_for, front_layout, lead_of, plain_layout};
use crate::pool::mapped::class_nbytes;
use crate::pool::plain::{deallocate_plain, drop_header};
use crate::pool::shareable::{NewRegion, leave};
use crate::pool::source::{ByteAllocator, Global, LARGE};
use crate::pool::{debug, thread_cache};

static OWNER: Owner = Owner {
    release,
    descriptor: no_descriptor,
    fault: no_fault,
    device: no_device,
    retained,
    is_own,
    is_part: false,
};

/// The length of the guards on both sides of bytes that are aligned to `align`.
fn guard_nbytes(account: &Account, align: usize) -> usize {
    if account.is_guarded() { align } else { 0 }
}

/// One pointer: the header describes the whole block from the beginning, so that passing the block
/// on moves one word.
///
/// # Invariants
///
/// 1. [`Block::begin`] wrote the header. Its spare words hold the account, and the form and
///    capacity of a block of that account's source. Only this value owns the header and the block.
///    The header's region begins at the bytes, and the capacity is a multiple of [`ALIGNMENT`].
/// 2. The chain of accounts is charged for the capacity (hence it is alive).
/// 3. The word of a block of shared memory has a Write lease, so that a fork gives the child a copy
///    of the bytes, and neither process writes what the other one has.
pub(crate) struct Block {
    pub(super) header: NonNull<Header>,
}

/// What a header records about its block.
pub(super) struct BlockParts {
    pub(super) bytes: NonNull<u8>,
    pub(super) capacity: usize,
    pub(super) form: Form,
    pub(super) account: NonNull<Account>,
    pub(super) backing: Backing,
}

// SAFETY: Block 1: only this value owns the memory, which any thread may free; `Account` is shared
// by atomics only.
unsafe impl Send for Block {}
// SAFETY: `&Block` reads the header, which only `&mut Block` or an owned block changes, and gives
// no access to the bytes.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates a block of at least `nbytes` bytes, zeroed if `zeroed`, otherwise uninitialised.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` if there is no memory, if the size is too large, or if a pool's limit is
    /// reached.
    #[inline]
    pub(crate) fn take(account: &Account, nbytes: usize, zeroed: bool, demand: Demand) -> Result<Self> {
        if !(demand.is_plain() && nbytes < LARGE && account.is_direct()) {
            return Self::take_any(account, nbytes, zeroed, demand);
        }
        let capacity = nbytes.next_multiple_of(ALIGNMENT);
        account.charge(thread_index::current(), capacity)?;
        let block = if zeroed {
            Self::take_small::<true>(account, capacity)
        } else {
            Self::take_small::<false>(account, capacity)
        };
        block.ok_or_else(|| {
            account.refund_unused(capacity);
            Error::out_of_memory(nbytes, ALIGNMENT)
        })
    }

    /// The fast path, for small blocks of the global allocator, which have been charged. Not
    /// inlined, and with the error apart, so that the result is one register.
    #[inline(never)]
    fn take_small<const ZEROED: bool>(account: &Account, capacity: usize) -> Option<Self> {
        let thread_index = thread_index::current();
        // SAFETY: clause 1 of `thread_cache::take`: `thread_index::current` returns this thread's
        // index, or a number that is no index.
        let Some(mut header) = (unsafe { thread_cache::take(thread_index, capacity) }) else {
            return Self::take_fresh::<ZEROED>(account, capacity);
        };
        account.note_allocated(thread_index, capacity);
        // SAFETY: `thread_cache::take` returned the header, which is in no list any more
        // (ThreadCache 2), so no other reference to it exists.
        unsafe { header.as_mut() }.renew(std::ptr::from_ref(account).cast());
        let mut block = Self { header };
        if ZEROED {
            block.as_uninit_mut().fill(MaybeUninit::new(0));
        }
        Some(block)
    }

    #[inline(never)]
    fn take_fresh<const ZEROED: bool>(account: &Account, capacity: usize) -> Option<Self> {
        // SAFETY: clause 1 of `plain_layout`: `take` checked `nbytes < LARGE`, so the sum in
        // `front_layout` neither overflows nor exceeds `isize::MAX`.
        let layout = unsafe { plain_layout(capacity) };
        // SAFETY: clause 1 of `allocate`: the layout has room for a header.
        let base = unsafe { Global.allocate(layout, ZEROED) }?;
        account.note_allocated(thread_index::current(), capacity);
        // SAFETY: clause 1 of `begin_in_front`: `take` found the account direct, so its source is
        // the global allocator, which has just allocated `base` with the plain layout.
        Some(unsafe { Self::begin_in_front(account, base, capacity, ALIGNMENT, 0) })
    }

    #[inline(never)]
    fn take_any(account: &Account, nbytes: usize, zeroed: bool, demand: Demand) -> Result<Self> {
        let out_of_memory = || Error::out_of_memory(nbytes, demand.align);
        let capacity = capacity_for(nbytes).ok_or_else(out_of_memory)?;
        account.charge(thread_index::current(), capacity)?;
        match Self::take_charged(account, capacity, zeroed, demand, false) {
            Some(block) => {
                account.note_allocated(thread_index::current(), capacity);
                Ok(block)
            }
            None => {
                account.refund_unused(capacity);
                Err(account.source().refusal(nbytes, demand.align))
            }
        }
    }

    /// `growing`: the block has grown, and will probably grow again.
    pub(super) fn take_charged(
        account: &Account,
        capacity: usize,
        zeroed: bool,
        demand: Demand,
        growing: bool,
    ) -> Option<Self> {
        let source = account.source();
        let guard = guard_nbytes(account, demand.align);
        let block = match source.cache() {
            Some(cache) if source.wants_map(capacity, demand) => {
                let nbytes = capacity.checked_add(2 * guard)?;
                let mut mapped = if growing {
                    cache.take_growing(nbytes, demand.hints)?
                } else {
                    cache.take(nbytes, demand.hints)?
                };
                let region = NewRegion::take(&mut mapped, nbytes);
                // SAFETY: clause 1 of `begin_mapped`: the cache of this account's source has just
                // returned `mapped`, with at least `nbytes = capacity + 2 * guard` bytes.
                let block = unsafe { Self::begin_mapped(account, mapped, capacity, zeroed, demand, guard) };
                if let Some(region) = region {
                    let block = ManuallyDrop::new(block);
                    block.exclude_forks();
                    // SAFETY: clause 1 of `enter`: the cache returned the block above. Clause 2:
                    // `begin_mapped` wrote the header, `give_back_any` calls `leave`, and the block
                    // is not dropped after `None`. Clause 3: without guards, no code uses what lies
                    // behind the capacity.
                    unsafe { region.enter(cache, block.header, guard == 0) }?;
                    ManuallyDrop::into_inner(block)
                } else {
                    block
                }
            }
            _ => {
                let layout = front_layout(capacity, demand.align, guard)?;
                // SAFETY: clause 1 of `allocate`: the layout has room for a header.
                let base = unsafe { source.allocate(layout, zeroed) }?;
                // SAFETY: clause 1 of `begin_in_front`: the account's source has just allocated
                // `base` with `front_layout` of the same numbers.
                unsafe { Self::begin_in_front(account, base, capacity, demand.align, guard) }
            }
        };
        if guard != 0 {
            // SAFETY: clause 1 of `prepare`: the block is new and not shared, and both ways above
            // left `guard` bytes on each side of its capacity.
            unsafe { debug::prepare(block.as_ptr(), capacity, guard, zeroed) };
        }
        Some(block)
    }

    /// # Safety
    ///
    /// 1. `mapped` came from the account's source, with room for the capacity and two guards.
    /// 2. No other party owns the mapping or the place of its header.
    unsafe fn begin_mapped(
        account: &Account,
        mapped: MappedBlock,
        capacity: usize,
        zeroed: bool,
        demand: Demand,
        guard: usize,
    ) -> Self {
        // SAFETY: clause 1 of `# Safety`: the mapping has room for the guard, the capacity and the
        // second guard.
        let bytes = unsafe { mapped.base.add(guard) };
        if zeroed && !mapped.zeroed {
            // SAFETY: clause 1 of `# Safety`: `capacity` bytes behind the first guard lie within
            // the mapping, which by clause 2 no other party accesses.
            unsafe { bytes.write_bytes(0, capacity) };
        }
        let form = Form { lead: 0, align: demand.align, apart: true, cacheable: demand.hints.is_common() };
        let backing = if account.source().is_shareable() { Backing::Shared } else { Backing::Heap };
        let account = NonNull::from(account);
        // SAFETY: clauses 1 and 2 of `begin` are clauses 1 and 2 of `# Safety`: `mapped.header` has
        // room for a header, and `bytes` for the capacity.
        unsafe { Self::begin(mapped.header, BlockParts { bytes, capacity, form, account, backing }) }
    }

    /// # Safety
    ///
    /// 1. `base` is a block of the account's source with the layout of [`front_layout`] for these
    ///    numbers.
    /// 2. No other party owns the block.
    #[inline]
    pub(super) unsafe fn begin_in_front(
        account: &Account,
        base: NonNull<u8>,
        capacity: usize,
        align: usize,
        guard: usize,
    ) -> Self {
        let before = HEADER + guard;
        let lead = lead_of(base, before, align);
        // SAFETY: clause 1 of `# Safety`: the lead is below `align` and a multiple of
        // `MALLOC_ALIGNMENT`, for which `front_layout` adds `align - MALLOC_ALIGNMENT` bytes.
        let header = unsafe { base.add(lead) }.cast::<Header>();
        // SAFETY: clause 1 of `# Safety`: `front_layout` has room for the lead, the header, both
        // guards and the capacity.
        let bytes = unsafe { base.add(lead + before) };
        let form = Form { lead, align, apart: false, cacheable: false };
        // SAFETY: clauses 1 and 2 of `begin`: the header and the bytes lie in the block at `base`,
        // which has room for both and which by clause 2 of `# Safety` the caller owns.
        unsafe {
            let (account, backing) = (NonNull::from(account), Backing::Heap);
            Self::begin(header, BlockParts { bytes, capacity, form, account, backing })
        }
    }

    /// Writes the header.
    ///
    /// # Safety
    ///
    /// 1. `header` has room for a header, and `parts` describes a block of the account's source.
    /// 2. No other party owns either of them.
    #[inline]
    pub(super) unsafe fn begin(header: NonNull<Header>, parts: BlockParts) -> Self {
        let BlockParts { bytes, capacity, form, account, backing } = parts;
        let region = Region { ptr: bytes, nbytes: 0, place: Place::CPU, backing };
        let spare = Spare { ptr: account.as_ptr().cast(), word: form.pack(capacity) };
        // SAFETY: clauses 1 and 2 of `# Safety`: there is room for a header at `header`, and no
        // other party accesses it.
        unsafe { header.write(Header::new(region, Birth::Sole, &OWNER, spare)) };
        Self { header }
    }

    #[inline]
    pub(super) fn parts(&self) -> BlockParts {
        // SAFETY: Block 1: `begin` wrote the header, and only this value owns it, so it is alive.
        let header = unsafe { self.header.as_ref() };
        let spare = header.spare();
        let (form, capacity) = Form::unpack(spare.word);
        // SAFETY: Block 1: the spare pointer is an account's address, which `begin` took from a
        // `NonNull`.
        let account = unsafe { NonNull::new_unchecked(spare.ptr.cast_mut().cast::<Account>()) };
        BlockParts { bytes: header.ptr(), capacity, form, account, backing: header.backing() }
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.parts().bytes
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.parts().capacity
    }

    pub(crate) fn align(&self) -> usize {
        self.parts().form.align
    }

    pub(crate) fn account(&self) -> &Account {
        // SAFETY: Block 2: the account is charged for this block's capacity, which keeps it alive
        // while `self` is borrowed.
        unsafe { self.parts().account.as_ref() }
    }

    /// All of the capacity.
    #[inline]
    pub(crate) fn as_uninit_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        let BlockParts { bytes, capacity, .. } = self.parts();
        // SAFETY: Block 1: `capacity` bytes at `bytes` belong to this block, and `&mut self`
        // excludes every other access to them.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr().cast(), capacity) }
    }

    /// Takes the Write lease of a new block (Block 3).
    fn exclude_forks(&self) {
        // SAFETY: Block 1: `begin` wrote the header, and only this value owns it, so it is alive.
        let taken = unsafe { self.header.as_ref() }.word().take(LeaseKind::Write);
        debug_assert!(taken.is_ok(), "a new word has no lease");
    }

    /// Makes an allocation of the first `nbytes` bytes, with one handle. The padding behind them,
    /// up to a multiple of [`ALIGNMENT`], is zeroed.
    ///
    /// # Safety
    ///
    /// 1. `nbytes` is at most the capacity.
    /// 2. The first `nbytes` bytes are initialised.
    #[inline]
    pub(crate) unsafe fn freeze(self, nbytes: usize) -> Handle {
        debug_assert!(nbytes <= self.capacity(), "{nbytes} bytes of {}", self.capacity());
        let padding = nbytes.next_multiple_of(ALIGNMENT) - nbytes;
        if padding != 0 {
            // SAFETY: clause 1 of `# Safety`: `nbytes` is at most the capacity, so the sum stays
            // within the block's bytes.
            let end = unsafe { self.as_ptr().add(nbytes) };
            // SAFETY: Block 1: the capacity is a multiple of `ALIGNMENT` and at least `nbytes`, so
            // it covers the padding.
            unsafe { end.write_bytes(0, padding) };
        }
        let mut header = self.header;
        std::mem::forget(self);
        // SAFETY: Block 1: only this block, which was forgotten above, owned the header, so no
        // other reference to it exists.
        unsafe { header.as_mut() }.set_nbytes(nbytes);
        // SAFETY: Block 1: the header is alive; the block that owned it was forgotten above.
        permit_forks(unsafe { header.as_ref() });
        // SAFETY: clause 1 of `Handle::first`: the header is complete, and only this function can
        // reach it. Clause 2: `begin` or `renew` gave its word one handle and no lease.
        unsafe { Handle::first(header) }
    }

    /// Turns an allocation back into its block, and returns the number of its initialised bytes.
    ///
    /// # Errors
    ///
    /// `is_unsupported` if the memory is not a pool's, `is_conflict` if it has another holder, or
    /// the error of work noted on it. The error returns the handle.
    pub(crate) fn thaw(mut handle: Handle) -> Result<(Self, usize), (Handle, Error)> {
        if !is_block(&handle) {
            let text = format!(
                "{} memory that is not from a pool cannot change its size",
                handle.header().backing()
            );
            return Err((handle, Error::new(Kind::Unsupported, text)));
        }
        if let Err(conflict) = handle.exclusive() {
            return Err((handle, conflict.into()));
        }
        // A header that is reused must have no work noted. (The caller has waited for earlier work,
        // but a handle dropped since may have noted more.)
        if let Err(error) = handle.await_work(LeaseKind::Write) {
            return Err((handle, error));
        }
        if let Err(conflict) = exclude_forks(&mut handle) {
            return Err((handle, conflict.into()));
        }
        let nbytes = handle.header().nbytes();
        // The only handle becomes a block again, which publishes no bytes.
        // SAFETY: clause 1 of `into_header`: `exclusive` found no other holder. (Block 3:
        // `exclude_forks` took the Write lease.)
        let mut block = Self { header: unsafe { handle.into_header() } };
        inspect_padding(&block);
        // SAFETY: Block 1: `exclusive` found no other holder, and `into_header` consumed the
        // handle, so only `block` owns the header.
        unsafe { block.header.as_mut() }.set_nbytes(0);
        Ok((block, nbytes))
    }
}

/// Takes the Write lease of a block (Block 3) under the only handle of its allocation. Memory that
/// is not shared needs none.
///
/// # Errors
///
/// A fork published the memory meanwhile.
pub(super) fn exclude_forks(handle: &mut Handle) -> Result<(), Conflict> {
    let is_shared = handle.header().backing() == Backing::Shared;
    if is_shared && handle.header().word().take(LeaseKind::Write).is_err() {
        return handle.exclusive();
    }
    Ok(())
}

/// Releases the Write lease of a block (Block 3) that becomes an allocation.
#[inline]
pub(super) fn permit_forks(header: &Header) {
    if header.backing() == Backing::Shared {
        let last = header.word().give(LeaseKind::Write);
        debug_assert!(!last, "the word still counts a handle");
    }
}

impl Drop for Block {
    #[inline(always)]
    fn drop(&mut self) {
        let BlockParts { account, capacity, form, .. } = self.parts();
        // SAFETY: Block 2: the account is charged for this block until `refund`, so it is alive.
        let direct = unsafe { account.as_ref() }.is_direct();
        let thread_index = thread_index::current();
        // SAFETY: clause 1 of `thread_cache::give`: the index is this thread's or none. Clause 2:
        // the account is direct and the form plain, so by Block 1 the header belongs to a plain
        // block of the global allocator, which is dropped here.
        if direct && form.is_plain() && unsafe { thread_cache::give(thread_index, capacity, self.header) } {
            // SAFETY: clause 1 of `refund`: the account is charged for `capacity` (Block 2). Clause
            // 2: the thread's list has the block now, so this value uses the account no more.
            return unsafe { refund(account, thread_index, capacity) };
        }
        // SAFETY: clause 1 of `drop_any`: this value owns the block, and its drop is its last use.
        unsafe { drop_any(self.header) };
    }
}

/// Frees a block.
///
/// # Safety
///
/// 1. `header` is that of a [`Block`] that the caller owns and does not use or drop again.
#[inline(never)]
unsafe fn drop_any(header: NonNull<Header>) {
    let block = ManuallyDrop::new(Block { header });
    let parts = block.parts();
    inspect_padding(&block);
    // SAFETY: clause 1 of `give_back`: the parts come from this header. Clause 2: `block` is in
    // `ManuallyDrop` and is not used again.
    unsafe { give_back(block.header, &parts) };
    // SAFETY: clause 1 of `refund`: the account is charged for the capacity (Block 2). Clause 2:
    // `give_back` has returned the block to its source.
    unsafe { refund(parts.account, thread_index::current(), parts.capacity) }
}

/// Returns a block's memory to its source. The block stays charged.
///
/// # Safety
///
/// 1. `parts` are those of the block with this header.
/// 2. The call is the only one for the block, whose header and bytes are not used any more.
#[inline]
pub(super) unsafe fn give_back(header: NonNull<Header>, parts: &BlockParts) {
    // SAFETY: Block 2: the account is charged for the block until `refund`, which the caller calls
    // later if at all.
    let account = unsafe { parts.account.as_ref() };
    if account.is_direct() && parts.form.is_plain() {
        // SAFETY: clause 1 of `deallocate_plain`: the account is direct and the form plain, so the
        // global allocator allocated the block (Block 1). Clause 2 is clause 2 of `# Safety`.
        unsafe { deallocate_plain(header, parts.form.lead, parts.capacity) };
    } else {
        // SAFETY: clauses 1 and 2 of `# Safety` are those of `give_back_any`, and `account` is the
        // account of `parts`.
        unsafe { give_back_any(account, header, parts) };
    }
}

/// # Safety
///
/// 1. `parts` are those of the block with this header, and `account` is its account.
/// 2. The call is the only one for the block, whose header and bytes are not used any more.
#[inline(never)]
unsafe fn give_back_any(account: &Account, header: NonNull<Header>, parts: &BlockParts) {
    let BlockParts { bytes, capacity, form: Form { lead, align, apart, cacheable }, .. } = *parts;
    let (source, guard) = (account.source(), guard_nbytes(account, align));
    // Before the header ends, since the table leads to it.
    let removed = if parts.backing == Backing::Shared { shareable::remove(bytes) } else { None };
    // SAFETY: clause 2 of `# Safety`: the header is not used any more; `parts` holds what is needed
    // below.
    unsafe { drop_header(header) };
    if guard != 0 {
        // SAFETY: clauses 1 and 2 of `inspect`: `take_charged` called `prepare` with this capacity
        // and guard. Clause 3: by clause 2 of `# Safety` the bytes are not used any more.
        let whole = unsafe { debug::inspect(bytes, capacity, guard) };
        if !whole {
            // Code outside the block wrote to a guard: the memory is leaked, so that no allocator
            // trips over it.
            return;
        }
    }
    if apart {
        // SAFETY: `begin_mapped` placed the bytes a guard's length behind the beginning of the
        // mapping.
        let base = unsafe { bytes.sub(guard) };
        let of_cache = (source.cache(), class_nbytes(capacity + 2 * guard));
        if let ((Some(cache), Some(nbytes)), Some(removed)) = (of_cache, removed) {
            // SAFETY: clause 1 of `leave`: this cache mapped the block for `capacity + 2 * guard`
            // bytes (Block 1). Clause 2: `remove` was called above. Clause 3: it is not used any
            // more (clause 2 of `# Safety`), and `cacheable` was stored when it was taken.
            unsafe { leave(cache, (base, nbytes), header, removed, cacheable) };
        } else if let (Some(cache), Some(nbytes)) = of_cache {
            // SAFETY: clauses 1 and 2 of `Cache::give`: this cache mapped the block for
            // `capacity + 2 * guard` bytes (Block 1). Clause 3: it is not used any more (clause 2
            // of `# Safety`). Clause 4: `cacheable` was stored when it was taken.
            unsafe { cache.give(base, nbytes, header, cacheable) };
        }
    } else if let Some(layout) = front_layout(capacity, align, guard) {
        // SAFETY: `begin_in_front` placed the header `lead` bytes behind the beginning of the
        // allocator's block.
        let base = unsafe { header.cast::<u8>().sub(lead) };
        // SAFETY: clause 1 of `deallocate`: the same source allocated `base` with this layout
        // (Block 1). Clause 2: the block is not used any more (clause 2 of `# Safety`).
        unsafe { source.deallocate(base, layout) };
    }
}

/// Whether an allocation is a block of a pool.
pub(crate) fn is_block(handle: &Handle) -> bool {
    handle.is_owned_by(&OWNER)
}

/// The size of the block behind an allocation, and the name of its pool; `None` if it is no block.
pub(crate) fn describe(header: &Header) -> Option<(usize, &'static str)> {
    header.is_owned_by(&OWNER).then(|| {
        let spare = header.spare();
        // SAFETY: the header has this module's table, so `begin` or `renew` stored an account,
        // which is alive while it is charged for the block.
        let account = unsafe { &*spare.ptr.cast::<Account>() };
        (Form::unpack(spare.word).1, account.name())
    })
}

unsafe fn release(header: NonNull<Header>) {
    // Only `begin` installs this table, and `release` is called once, when no holder is left
    // (Header 2), so the header is a block's again.
    drop(Block { header });
}

/// In debug mode, reports padding behind a frozen block's bytes that is not zero any more.
pub(super) fn inspect_padding(block: &Block) {
    if block.account().is_guarded() {
        // SAFETY: Block 1: `begin` wrote the header, and the borrowed block owns it, so it is
        // alive.
        let nbytes = unsafe { block.header.as_ref() }.nbytes();
        // SAFETY: clause 1 of `debug::inspect_padding`: the bytes and their padding lie within the
        // capacity (Block 1). Clause 2: `freeze` zeroed the padding; without a freeze `nbytes` is
        // 0, and there is none.
        unsafe { debug::inspect_padding(block.as_ptr(), nbytes) };
    }
}

unsafe fn no_descriptor(_: NonNull<Header>) -> Option<Descriptor> {
    None
}

unsafe fn no_device(_: &NonNull<Header>) -> Option<DeviceMapping<'_>> {
    None
}

unsafe fn retained(header: NonNull<Header>) -> usize {
    // SAFETY: the caller's handle keeps the header alive during the call (Owner 1).
    Form::unpack(unsafe { header.as_ref() }.spare().word).1
}

/// False for a foreign allocator, and for a logging pool, which calls listeners.
unsafe fn is_own(header: NonNull<Header>) -> bool {
    // SAFETY: the header is alive when the function is called (Owner 1), and it is not released
    // yet.
    let account = unsafe { header.as_ref() }.spare().ptr.cast::<Account>();
    // SAFETY: `begin` or `renew` stored an account there, which is alive while it is charged for
    // the block.
    unsafe { &*account }.is_own()
}

unsafe fn no_fault(_: NonNull<Header>) -> Option<Error> {
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_work_noted_on_it_does_not_become_a_blocks_again() {
        use crate::buffer::Buffer;
        use crate::device::{Effect, Signal};
        use crate::pool::Pool;

        let buffer = Pool::system().unwrap().zeroed(100).unwrap();
        let (signal, completion) = Signal::new();
        buffer.note_event(signal, Effect::Writes).unwrap();
        drop(completion);
        let (handle, ptr, nbytes, readonly) = buffer.into_parts();
        let Err((handle, error)) = Block::thaw(handle) else { panic!("the work was noted, and failed") };
        assert!(error.is_device(), "{error}");
        // SAFETY: the handle, pointer, length and mode are those that `into_parts` returned for the
        // buffer above.
        let buffer = unsafe { Buffer::from_parts(handle, ptr, nbytes, readonly) };
        assert!(buffer.settle().is_err());
        assert!(buffer.try_into_mut().is_ok());
    }
}
