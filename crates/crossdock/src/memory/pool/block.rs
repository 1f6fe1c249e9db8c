//! A block of a pool: memory with room for a header, which nobody else knows of yet.
//!
//! ```text
//!  in front:  | lead | header | guard? | bytes (aligned) … capacity | guard? |
//!  apart:     | header |   …   | guard? | bytes (aligned) … capacity | guard? | rest of the mapping |
//! ```
//!
//! A small block has its header in front of the bytes. It is asked for at the allocator's usual alignment and aligned here,
//! which keeps it on the allocator's fast path. A mapped block has its header apart, so that it begins at a page. Guards
//! exist in debug mode only.
//!
//! A block becomes an allocation, with a lease word to count who has it, when it is frozen; one that only a single handle
//! knows of can be thawed again.

use std::alloc::Layout as AllocLayout;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::allocation::{Birth, Descriptor, Handle, Header, Owner, Region, Spare};
use crate::memory::cache::Cache;
use crate::memory::fault;
use crate::memory::hints::Hints;
use crate::memory::mapped::class_nbytes;
use crate::memory::place::{Backing, Place};
use crate::memory::pool::account::{Account, refund};
use crate::memory::pool::debug;
use crate::memory::pool::source::{LARGE, Source};

/// The alignment of new memory, in bytes: a cache line, and what Arrow and XLA ask for. Capacities are multiples of it.
pub const ALIGNMENT: usize = 64;

/// What allocators give at no extra cost.
const BLOCK_ALIGNMENT: usize = 16;
const HEADER: usize = size_of::<Header>();

const _: () =
    assert!(HEADER.is_multiple_of(BLOCK_ALIGNMENT), "a header in front keeps to the block's alignment");

static OWNER: Owner = Owner { release, descriptor: no_descriptor, fault: no_fault, is_part: false };

/// What is asked of a block beside its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    align: usize,
    hints: Hints,
}

impl Demand {
    pub(crate) const PLAIN: Self = Self { align: ALIGNMENT, hints: Hints::new() };

    /// # Errors
    ///
    /// `is_alignment` unless `align` is a power of two and no more than a page.
    pub(crate) fn new(align: usize, hints: Hints) -> Result<Self> {
        let page = fault::page_size();
        if !align.is_power_of_two() || align > page {
            return Err(Error::new(
                Kind::Alignment,
                format!(
                    "an alignment of {align} bytes is not a power of two from 1 to {page}, the size of a page"
                ),
            ));
        }
        Ok(Self { align: align.max(ALIGNMENT), hints })
    }
}

/// How a block lies: what has to be known to give it back, beside its capacity.
#[derive(Clone, Copy)]
struct Form {
    /// From the allocator's block to the header, in bytes. 0 where the header is apart.
    lead: usize,
    align: usize,
    apart: bool,
    /// Mapped without hints, so that anyone can have it next.
    cacheable: bool,
}

impl Form {
    /// Packs the form and the capacity into one word: 40 bits of capacity, 16 of lead, 8 for the rest.
    fn pack(self, capacity: usize) -> u64 {
        let align = u64::from(self.align.trailing_zeros());
        let flags = u64::from(self.apart) << 6 | u64::from(self.cacheable) << 7;
        ((capacity / ALIGNMENT) as u64) << 24 | ((self.lead / BLOCK_ALIGNMENT) as u64) << 8 | flags | align
    }

    fn unpack(word: u64) -> (Self, usize) {
        let form = Self {
            lead: (word >> 8 & 0xFFFF) as usize * BLOCK_ALIGNMENT,
            align: 1 << (word & 0x3F),
            apart: word & 1 << 6 != 0,
            cacheable: word & 1 << 7 != 0,
        };
        (form, (word >> 24) as usize * ALIGNMENT)
    }
}

/// The most bytes that a block can have: what is packed into a word, and far more than there is.
const MOST: usize = (1 << 40) * ALIGNMENT - ALIGNMENT;

/// The length of the guards on both sides of the bytes, which are aligned to `align`.
fn guard_nbytes(source: &Source, align: usize) -> usize {
    if source.is_guarded() { align } else { 0 }
}

/// The layout of the allocator's block around `capacity` bytes with the header in front, or `None` where it has no size that
/// fits.
#[inline]
fn front_layout(capacity: usize, align: usize, guard: usize) -> Option<AllocLayout> {
    let total = capacity.checked_add(align - BLOCK_ALIGNMENT + HEADER + 2 * guard)?;
    AllocLayout::from_size_align(total, BLOCK_ALIGNMENT).ok()
}

/// # Invariants
///
/// 1. `bytes..bytes + capacity` is memory of the account's source, aligned as the form says, and `header` has room for a header;
///    both are ours alone. `capacity` is a multiple of [`ALIGNMENT`] and no more than [`MOST`].
/// 2. The chain of accounts is charged for `capacity` bytes (hence it is alive).
pub(crate) struct Block {
    bytes: NonNull<u8>,
    capacity: usize,
    header: NonNull<Header>,
    account: NonNull<Account>,
    form: Form,
}

// SAFETY: memory that nobody else knows of, and that may be given back on any thread; an account is Sync.
unsafe impl Send for Block {}
// SAFETY: `&Block` gives no access to the bytes.
unsafe impl Sync for Block {}

impl Block {
    /// Takes a block of at least `nbytes` bytes, zeroed if `zeroed` says so; otherwise they are uninitialised.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is none, where it has no size that fits, or where the limit of a pool stands in the way.
    #[inline]
    pub(crate) fn take(account: &Account, nbytes: usize, zeroed: bool, demand: Demand) -> Result<Self> {
        let out_of_memory = || Error::out_of_memory(nbytes, demand.align);
        let capacity = capacity_for(nbytes).ok_or_else(out_of_memory)?;
        account.charge(capacity)?;
        match Self::take_charged(account, capacity, zeroed, demand) {
            Some(block) => {
                account.note_allocated(capacity);
                Ok(block)
            }
            None => {
                account.refund_unused(capacity);
                Err(out_of_memory())
            }
        }
    }

    #[inline]
    fn take_charged(account: &Account, capacity: usize, zeroed: bool, demand: Demand) -> Option<Self> {
        let source = account.source();
        let guard = guard_nbytes(source, demand.align);
        let block = match source.cache() {
            Some(cache) if wants_map(capacity, demand) => {
                Self::take_mapped(account, cache, capacity, zeroed, demand, guard)?
            }
            _ => Self::take_in_front(account, capacity, zeroed, demand.align, guard)?,
        };
        if guard != 0 {
            // SAFETY: Block 1, with guards of this length on both sides.
            unsafe { debug::prepare(block.bytes, capacity, guard, zeroed) };
        }
        Some(block)
    }

    #[inline]
    fn take_in_front(
        account: &Account,
        capacity: usize,
        zeroed: bool,
        align: usize,
        guard: usize,
    ) -> Option<Self> {
        let base = account.source().allocate(front_layout(capacity, align, guard)?, zeroed)?;
        let before = HEADER + guard;
        let lead = (base.addr().get() + before).wrapping_neg() % align;
        // SAFETY: the lead is less than the alignment and a multiple of the block's; the layout has room for it.
        let header = unsafe { base.add(lead) }.cast::<Header>();
        // SAFETY: the layout has room for the header and the guard, too.
        let bytes = unsafe { base.add(lead + before) };
        let form = Form { lead, align, apart: false, cacheable: false };
        Some(Self { bytes, capacity, header, account: NonNull::from(account), form })
    }

    #[cold]
    #[inline(never)]
    fn take_mapped(
        account: &Account,
        cache: &Cache,
        capacity: usize,
        zeroed: bool,
        demand: Demand,
        guard: usize,
    ) -> Option<Self> {
        let mapped = cache.take(capacity.checked_add(2 * guard)?, demand.hints)?;
        // SAFETY: the mapping has room for the guard, the capacity and the other guard.
        let bytes = unsafe { mapped.base.add(guard) };
        if zeroed && !mapped.zeroed {
            // SAFETY: as above; the mapping is ours alone.
            unsafe { bytes.write_bytes(0, capacity) };
        }
        let cacheable = demand.hints.is_common();
        let form = Form { lead: 0, align: demand.align, apart: true, cacheable };
        Some(Self { bytes, capacity, header: mapped.header, account: NonNull::from(account), form })
    }

    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.bytes
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn align(&self) -> usize {
        self.form.align
    }

    pub(crate) fn account(&self) -> &Account {
        // SAFETY: Block 2.
        unsafe { self.account.as_ref() }
    }

    /// All of the capacity.
    pub(crate) fn as_uninit_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: Block 1, and `&mut self` is the only way to the bytes.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr().cast(), self.capacity) }
    }

    /// Gives the block at least `nbytes` bytes of capacity, more or less than it has, and keeps the first `keep` bytes. What lies
    /// behind them is uninitialised. Where the block is grown in place, or by moving its pages, nothing is copied.
    ///
    /// # Errors
    ///
    /// As [`Block::take`]; the block is as it was.
    pub(crate) fn resize(&mut self, nbytes: usize, keep: usize) -> Result<()> {
        let align = self.form.align;
        let out_of_memory = || Error::out_of_memory(nbytes, align);
        let capacity = capacity_for(nbytes).ok_or_else(out_of_memory)?;
        let old = self.capacity;
        if capacity == old {
            return Ok(());
        }
        let account = self.account;
        // SAFETY: Block 2: it is charged for what this block has, throughout.
        let account = unsafe { account.as_ref() };
        account.charge_growth(old, capacity)?;
        let resized = self.resize_in_kind(capacity) || self.move_to(capacity, keep.min(capacity));
        if resized {
            account.note_resized(old, capacity);
            account.refund_shrinkage(old, capacity);
            Ok(())
        } else {
            account.refund_shrinkage(capacity, old);
            Err(out_of_memory())
        }
    }

    /// Resizes the block by the means of its kind, if the new capacity is one of that kind.
    fn resize_in_kind(&mut self, capacity: usize) -> bool {
        let source = self.account().source();
        if source.is_guarded() {
            return false;
        }
        let demand = Demand { align: self.form.align, hints: Hints::new() };
        let large = source.cache().is_some() && wants_map(capacity, demand);
        match source.cache() {
            Some(cache) if self.form.apart && (large || !self.form.cacheable) => {
                let classes = (class_nbytes(self.capacity), class_nbytes(capacity));
                let (Some(old), Some(new)) = classes else { return false };
                if old != new {
                    // SAFETY: a mapping of the cache's of this class (Block 1), which is ours alone.
                    let Some(base) = (unsafe { cache.resize(self.bytes, old, new, Hints::new()) }) else {
                        return false;
                    };
                    self.bytes = base;
                }
                self.capacity = capacity;
                true
            }
            _ => !self.form.apart && !large && self.reallocate(capacity),
        }
    }

    fn reallocate(&mut self, capacity: usize) -> bool {
        let (Form { lead, align, .. }, old) = (self.form, self.capacity);
        let (Some(layout), Some(grown)) = (front_layout(old, align, 0), front_layout(capacity, align, 0))
        else {
            return false;
        };
        // SAFETY: the header lies `lead` bytes behind the beginning of the allocator's block.
        let base = unsafe { self.header.cast::<u8>().sub(lead) };
        // SAFETY: Block 1: it came from this source, with this layout.
        let moved = unsafe { self.account().source().reallocate(base, layout, grown.size()) };
        let Some(base) = moved else { return false };
        let new_lead = (base.addr().get() + HEADER).wrapping_neg() % align;
        // SAFETY: where the bytes were before they moved with the block.
        let from = unsafe { base.add(lead + HEADER) };
        // SAFETY: as in `take_in_front`.
        let bytes = unsafe { base.add(new_lead + HEADER) };
        if new_lead != lead {
            // SAFETY: both lie within the block, for as many bytes as both layouts have room for.
            unsafe { from.copy_to(bytes, old.min(capacity)) };
        }
        // SAFETY: as in `take_in_front`.
        self.header = unsafe { base.add(new_lead) }.cast();
        (self.bytes, self.capacity, self.form.lead) = (bytes, capacity, new_lead);
        true
    }

    /// Moves to a new block of the capacity, copying the first `keep` bytes. The accounts have been charged for it already.
    fn move_to(&mut self, capacity: usize, keep: usize) -> bool {
        let demand = Demand { align: self.form.align, hints: Hints::new() };
        let account = self.account;
        // SAFETY: Block 2.
        let account = unsafe { account.as_ref() };
        let Some(mut fresh) = Self::take_charged(account, capacity, false, demand) else { return false };
        // SAFETY: both blocks have that many bytes (Block 1), and are not the same.
        unsafe { self.bytes.copy_to_nonoverlapping(fresh.bytes, keep) };
        std::mem::swap(self, &mut fresh);
        // What was charged stays with the block that stays.
        // SAFETY: Block 1: given back once, here.
        unsafe { give_back(&fresh) };
        std::mem::forget(fresh);
        true
    }

    /// Makes an allocation of the first `nbytes` bytes, with one handle. The padding behind them, up to a multiple of
    /// [`ALIGNMENT`], is zeroed.
    ///
    /// # Safety
    ///
    /// `nbytes` bytes are initialised, and that is no more than the capacity.
    #[inline]
    pub(crate) unsafe fn freeze(self, nbytes: usize) -> Handle {
        debug_assert!(nbytes <= self.capacity, "{nbytes} bytes of {}", self.capacity);
        let padding = nbytes.next_multiple_of(ALIGNMENT) - nbytes;
        // SAFETY: the caller's word.
        let end = unsafe { self.bytes.add(nbytes) };
        // SAFETY: the capacity is a multiple of the alignment (Block 1), hence covers the padding.
        unsafe { end.write_bytes(0, padding) };
        let region = Region { ptr: self.bytes, nbytes, place: Place::CPU, backing: Backing::Heap };
        let spare = Spare { ptr: self.account.as_ptr().cast(), word: self.form.pack(self.capacity) };
        let header = self.header;
        std::mem::forget(self);
        // SAFETY: Block 1: room for a header.
        unsafe { header.write(Header::new(region, Birth::Sole, &OWNER, spare)) };
        // SAFETY: the header is complete, and this is its one handle.
        unsafe { Handle::first(header) }
    }

    /// Takes an allocation apart again, into the block and the number of its initialised bytes.
    ///
    /// # Errors
    ///
    /// `is_unsupported` where the memory is not a pool's, `is_conflict` while anything but this handle keeps it. The handle comes
    /// back.
    pub(crate) fn thaw(mut handle: Handle) -> Result<(Self, usize), (Handle, Error)> {
        if !is_block(&handle) {
            let text =
                format!("{} memory that is not a pool's cannot change its size", handle.header().backing());
            return Err((handle, Error::new(Kind::Unsupported, text)));
        }
        if let Err(conflict) = handle.exclusive() {
            return Err((handle, conflict.into()));
        }
        let nbytes = handle.header().nbytes();
        let header = handle.into_header();
        // SAFETY: the header was made by `freeze`, and its only handle is gone without releasing it.
        let block = unsafe { Self::of_header(header) };
        Ok((block, nbytes))
    }

    /// # Safety
    ///
    /// The header was made by [`Block::freeze`], and nobody has a handle or a lease any more. It is not used again.
    #[inline]
    unsafe fn of_header(header: NonNull<Header>) -> Self {
        let (bytes, spare) = {
            // SAFETY: alive: its memory is part of the block.
            let header = unsafe { header.as_ref() };
            (header.ptr(), header.spare())
        };
        // A header holds nothing that needs a drop. (The model checker's atomics do.)
        #[cfg(loom)]
        // SAFETY: the last use of the header.
        unsafe {
            header.drop_in_place()
        };
        let (form, capacity) = Form::unpack(spare.word);
        // SAFETY: `freeze` put an account there.
        let account = unsafe { NonNull::new_unchecked(spare.ptr.cast_mut().cast::<Account>()) };
        Self { bytes, capacity, header, account, form }
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: Block 1: given back once, here.
        unsafe { give_back(self) };
        // SAFETY: Block 2, and the source has its memory again.
        unsafe { refund(self.account, self.capacity) }
    }
}

/// Gives a block's memory back to its source. It stays charged.
///
/// # Safety
///
/// Called once; the bytes and the header are not used any more.
#[inline]
unsafe fn give_back(block: &Block) {
    let Form { lead, align, apart, cacheable } = block.form;
    let source = block.account().source();
    let guard = guard_nbytes(source, align);
    if guard != 0 {
        // SAFETY: Block 1, with guards of this length, which `prepare` filled.
        let whole = unsafe { debug::inspect(block.bytes, block.capacity, guard) };
        if !whole {
            // Somebody wrote where nobody may: the allocator shall not trip over it.
            return;
        }
    }
    if apart {
        // SAFETY: the mapping begins a guard's length in front of the bytes.
        let base = unsafe { block.bytes.sub(guard) };
        let class = class_nbytes(block.capacity + 2 * guard);
        if let (Some(cache), Some(nbytes)) = (source.cache(), class) {
            // SAFETY: it came from this cache (Block 1), whose class it has.
            unsafe { cache.give(base, nbytes, block.header, cacheable) };
        }
    } else if let Some(layout) = front_layout(block.capacity, align, guard) {
        // SAFETY: the header lies `lead` bytes behind the beginning of the allocator's block.
        let base = unsafe { block.header.cast::<u8>().sub(lead) };
        // SAFETY: allocated by the same source with the same layout (Block 1).
        unsafe { source.deallocate(base, layout) };
    }
}

/// The capacity of a block for `nbytes`, or `None` where there is none so large.
#[inline]
fn capacity_for(nbytes: usize) -> Option<usize> {
    if nbytes > MOST { None } else { nbytes.checked_next_multiple_of(ALIGNMENT) }
}

#[inline]
fn wants_map(capacity: usize, demand: Demand) -> bool {
    capacity >= LARGE || (demand.hints != Hints::new() && capacity >= fault::page_size())
}

/// Whether an allocation is a block of a pool.
pub(crate) fn is_block(handle: &Handle) -> bool {
    handle.is_owned_by(&OWNER)
}

/// How many bytes the block behind an allocation has, and the name of its pool; `None` where it is no block.
pub(crate) fn describe(header: &Header) -> Option<(usize, &'static str)> {
    header.is_owned_by(&OWNER).then(|| {
        let spare = header.spare();
        // SAFETY: `freeze` put an account there, which is alive while it is charged for the block.
        let account = unsafe { &*spare.ptr.cast::<Account>() };
        (Form::unpack(spare.word).1, account.name())
    })
}

unsafe fn release(header: NonNull<Header>) {
    // SAFETY: alive until the block is taken apart below.
    let nbytes = unsafe { header.as_ref() }.nbytes();
    // SAFETY: this table is installed by `freeze` alone, and called once when nobody has a handle any more (Header 2).
    let block = unsafe { Block::of_header(header) };
    if block.account().source().is_guarded() {
        // SAFETY: within the capacity, and zeroed by `freeze`.
        unsafe { debug::inspect_padding(block.bytes, nbytes) };
    }
}

unsafe fn no_descriptor(_: NonNull<Header>) -> Option<Descriptor> {
    None
}

unsafe fn no_fault(_: NonNull<Header>) -> Option<Error> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_survives_being_packed() {
        for (lead, align, apart, cacheable, capacity) in [
            (48, 64, false, false, 0),
            (4080, 4096, false, false, 64),
            (0, 1 << 16, true, true, MOST),
            (65_520, 1 << 16, true, false, 1 << 40),
        ] {
            let form = Form { lead, align, apart, cacheable };
            let (same, same_capacity) = Form::unpack(form.pack(capacity));
            assert_eq!((same.lead, same.align, same.apart, same.cacheable), (lead, align, apart, cacheable));
            assert_eq!(same_capacity, capacity);
        }
    }
}
