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
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::allocation::{Birth, Descriptor, Handle, Header, Owner, Region, Spare};
use crate::memory::cache::MappedBlock;
use crate::memory::device::Attached;
use crate::memory::fault;
use crate::memory::hints::Hints;
use crate::memory::mapped::class_nbytes;
use crate::memory::place::{Backing, Place};
use crate::memory::pool::account::{Account, refund};
use crate::memory::pool::source::{Bytes, Global, LARGE};
use crate::memory::pool::{debug, front, slot};
use crate::memory::word::LeaseKind;

/// The alignment of new memory, in bytes: a cache line, and what Arrow and XLA ask for. Capacities are multiples of it.
pub const ALIGNMENT: usize = 64;

/// What allocators give at no extra cost.
const BLOCK_ALIGNMENT: usize = 16;
const HEADER: usize = size_of::<Header>();

const _: () =
    assert!(HEADER.is_multiple_of(BLOCK_ALIGNMENT), "a header in front keeps to the block's alignment");

static OWNER: Owner = Owner {
    release,
    descriptor: no_descriptor,
    fault: no_fault,
    device: no_device,
    retained,
    is_part: false,
};

/// What is asked of a block beside its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    align: usize,
    hints: Hints,
}

impl Demand {
    pub(crate) const PLAIN: Self = Self { align: ALIGNMENT, hints: Hints::new() };

    #[inline]
    fn is_plain(self) -> bool {
        self.align == ALIGNMENT && self.hints == Hints::new()
    }

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

/// Set in a word that holds any other form than the plain one.
const OTHER: u64 = 1;

impl Form {
    /// Of a small block of the global allocator.
    #[inline]
    fn plain(lead: usize) -> Self {
        Self { lead, align: ALIGNMENT, apart: false, cacheable: false }
    }

    #[inline]
    fn is_plain(self) -> bool {
        self.align == ALIGNMENT && !self.apart
    }

    /// Packs the form and the capacity into one word. The plain form is no more than the sum of lead and capacity, which is
    /// a multiple of the alignment; the other has 40 bits of capacity, 16 of lead, and 8 for the rest.
    #[inline]
    fn pack(self, capacity: usize) -> u64 {
        if self.is_plain() { (capacity | self.lead) as u64 } else { self.pack_other(capacity) }
    }

    fn pack_other(self, capacity: usize) -> u64 {
        let align = u64::from(self.align.trailing_zeros());
        let flags = u64::from(self.apart) << 6 | u64::from(self.cacheable) << 7;
        let capacity = ((capacity / ALIGNMENT) as u64) << 24;
        capacity | ((self.lead / BLOCK_ALIGNMENT) as u64) << 8 | flags | align << 1 | OTHER
    }

    #[inline]
    fn unpack(word: u64) -> (Self, usize) {
        if word & OTHER == 0 {
            let lead = word as usize % ALIGNMENT;
            (Self::plain(lead), word as usize - lead)
        } else {
            Self::unpack_other(word)
        }
    }

    fn unpack_other(word: u64) -> (Self, usize) {
        let form = Self {
            lead: (word >> 8 & 0xFFFF) as usize * BLOCK_ALIGNMENT,
            align: 1 << (word >> 1 & 0x1F),
            apart: word & 1 << 6 != 0,
            cacheable: word & 1 << 7 != 0,
        };
        (form, (word >> 24) as usize * ALIGNMENT)
    }
}

/// The most bytes that a block can have: what is packed into a word, and far more than there is.
const MOST: usize = (1 << 40) * ALIGNMENT - ALIGNMENT;

/// The length of the guards on both sides of the bytes, which are aligned to `align`.
fn guard_nbytes(account: &Account, align: usize) -> usize {
    if account.is_guarded() { align } else { 0 }
}

/// The layout of the allocator's block around `capacity` bytes with the header in front, or `None` where it has no size that
/// fits.
#[inline]
fn front_layout(capacity: usize, align: usize, guard: usize) -> Option<AllocLayout> {
    let total = capacity.checked_add(align - BLOCK_ALIGNMENT + HEADER + 2 * guard)?;
    AllocLayout::from_size_align(total, BLOCK_ALIGNMENT).ok()
}

/// The layout of a block in the plain form.
///
/// # Safety
///
/// [`front_layout`] has one for the capacity.
#[inline]
unsafe fn plain_layout(capacity: usize) -> AllocLayout {
    let total = capacity + (ALIGNMENT - BLOCK_ALIGNMENT + HEADER);
    // SAFETY: the same numbers as in `front_layout`, which found nothing to say (the caller's word).
    unsafe { AllocLayout::from_size_align_unchecked(total, BLOCK_ALIGNMENT) }
}

/// One pointer: everything about a block is in its header from the beginning, so that passing it on moves one word.
///
/// # Invariants
///
/// 1. The header was written by [`Block::begin`]: its spare words name the account, and the form and capacity of a block of
///    that account's source, which are ours alone. Its region begins at the bytes. The capacity is a multiple of [`ALIGNMENT`].
/// 2. The chain of accounts is charged for the capacity (hence it is alive).
pub(crate) struct Block {
    header: NonNull<Header>,
}

/// What a header says of its block.
struct Parts {
    bytes: NonNull<u8>,
    capacity: usize,
    form: Form,
    account: NonNull<Account>,
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
        if !(demand.is_plain() && nbytes < LARGE && account.is_direct()) {
            return Self::take_any(account, nbytes, zeroed, demand);
        }
        let capacity = nbytes.next_multiple_of(ALIGNMENT);
        account.charge(slot::current(), capacity)?;
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

    /// The short way, for small blocks of the global allocator, which have been charged. Not inlined, and with the error apart: what
    /// it returns is one register.
    #[inline(never)]
    fn take_small<const ZEROED: bool>(account: &Account, capacity: usize) -> Option<Self> {
        let slot = slot::current();
        // SAFETY: this thread's slot.
        let Some(mut header) = (unsafe { front::take(slot, capacity) }) else {
            return Self::take_fresh::<ZEROED>(account, capacity);
        };
        account.note_allocated(slot, capacity);
        // SAFETY: ours alone.
        unsafe { header.as_mut() }.renew(std::ptr::from_ref(account).cast());
        let mut block = Self { header };
        if ZEROED {
            block.as_uninit_mut().fill(MaybeUninit::new(0));
        }
        Some(block)
    }

    #[inline(never)]
    fn take_fresh<const ZEROED: bool>(account: &Account, capacity: usize) -> Option<Self> {
        // SAFETY: fewer bytes than a large block has (the caller), hence far from where a size does not fit.
        let layout = unsafe { plain_layout(capacity) };
        let base = Global.allocate(layout, ZEROED)?;
        account.note_allocated(slot::current(), capacity);
        // SAFETY: the layout is that of a block of this account's source, which is the global allocator.
        Some(unsafe { Self::begin_in_front(account, base, capacity, ALIGNMENT, 0) })
    }

    #[inline(never)]
    fn take_any(account: &Account, nbytes: usize, zeroed: bool, demand: Demand) -> Result<Self> {
        let out_of_memory = || Error::out_of_memory(nbytes, demand.align);
        let capacity = capacity_for(nbytes).ok_or_else(out_of_memory)?;
        account.charge(slot::current(), capacity)?;
        match Self::take_charged(account, capacity, zeroed, demand, false) {
            Some(block) => {
                account.note_allocated(slot::current(), capacity);
                Ok(block)
            }
            None => {
                account.refund_unused(capacity);
                Err(out_of_memory())
            }
        }
    }

    /// `growing`: for a block that has grown, and will probably grow again.
    fn take_charged(
        account: &Account,
        capacity: usize,
        zeroed: bool,
        demand: Demand,
        growing: bool,
    ) -> Option<Self> {
        let source = account.source();
        let guard = guard_nbytes(account, demand.align);
        let block = match source.cache() {
            Some(cache) if wants_map(capacity, demand) => {
                let nbytes = capacity.checked_add(2 * guard)?;
                let mapped = if growing {
                    cache.take_growing(nbytes, demand.hints)?
                } else {
                    cache.take(nbytes, demand.hints)?
                };
                // SAFETY: as large as the class of what was asked for, and ours.
                unsafe { Self::begin_mapped(account, mapped, capacity, zeroed, demand, guard) }
            }
            _ => {
                let base = source.allocate(front_layout(capacity, demand.align, guard)?, zeroed)?;
                // SAFETY: a block of this account's source with that layout.
                unsafe { Self::begin_in_front(account, base, capacity, demand.align, guard) }
            }
        };
        if guard != 0 {
            // SAFETY: Block 1, with guards of this length on both sides.
            unsafe { debug::prepare(block.as_ptr(), capacity, guard, zeroed) };
        }
        Some(block)
    }

    /// # Safety
    ///
    /// The mapping came from the account's source, for the capacity and two guards, and nobody else has it.
    unsafe fn begin_mapped(
        account: &Account,
        mapped: MappedBlock,
        capacity: usize,
        zeroed: bool,
        demand: Demand,
        guard: usize,
    ) -> Self {
        // SAFETY: the mapping has room for the guard, the capacity and the other guard.
        let bytes = unsafe { mapped.base.add(guard) };
        if zeroed && !mapped.zeroed {
            // SAFETY: as above; the mapping is ours alone.
            unsafe { bytes.write_bytes(0, capacity) };
        }
        let form = Form { lead: 0, align: demand.align, apart: true, cacheable: demand.hints.is_common() };
        // SAFETY: the mapping and the place of its header are ours.
        unsafe {
            Self::begin(mapped.header, Parts { bytes, capacity, form, account: NonNull::from(account) })
        }
    }

    /// # Safety
    ///
    /// `base` is a block of the account's source with the layout of [`front_layout`], which nobody else has.
    #[inline]
    unsafe fn begin_in_front(
        account: &Account,
        base: NonNull<u8>,
        capacity: usize,
        align: usize,
        guard: usize,
    ) -> Self {
        let before = HEADER + guard;
        let lead = lead_of(base, before, align);
        // SAFETY: the lead is less than the alignment and a multiple of the block's; the layout has room for it.
        let header = unsafe { base.add(lead) }.cast::<Header>();
        // SAFETY: the layout has room for the header and the guard, too.
        let bytes = unsafe { base.add(lead + before) };
        let form = Form { lead, align, apart: false, cacheable: false };
        // SAFETY: the caller's word.
        unsafe { Self::begin(header, Parts { bytes, capacity, form, account: NonNull::from(account) }) }
    }

    /// Writes the header.
    ///
    /// # Safety
    ///
    /// `header` has room for one, the parts are those of a block of the account's source, and nobody else has either.
    #[inline]
    unsafe fn begin(header: NonNull<Header>, parts: Parts) -> Self {
        let Parts { bytes, capacity, form, account } = parts;
        let region = Region { ptr: bytes, nbytes: 0, place: Place::CPU, backing: Backing::Heap };
        let spare = Spare { ptr: account.as_ptr().cast(), word: form.pack(capacity) };
        // SAFETY: the caller's word.
        unsafe { header.write(Header::new(region, Birth::Sole, &OWNER, spare)) };
        Self { header }
    }

    #[inline]
    fn parts(&self) -> Parts {
        // SAFETY: Block 1.
        let header = unsafe { self.header.as_ref() };
        let spare = header.spare();
        let (form, capacity) = Form::unpack(spare.word);
        // SAFETY: Block 1: an account is there.
        let account = unsafe { NonNull::new_unchecked(spare.ptr.cast_mut().cast::<Account>()) };
        Parts { bytes: header.ptr(), capacity, form, account }
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
        // SAFETY: Block 2.
        unsafe { self.parts().account.as_ref() }
    }

    /// All of the capacity.
    #[inline]
    pub(crate) fn as_uninit_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        let Parts { bytes, capacity, .. } = self.parts();
        // SAFETY: Block 1, and `&mut self` is the only way to the bytes.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr().cast(), capacity) }
    }

    /// Gives the block at least `nbytes` bytes of capacity, more or less than it has, and keeps the first `keep` bytes. What lies
    /// behind them is uninitialised. Where the block is grown in place, or by moving its pages, nothing is copied.
    ///
    /// # Errors
    ///
    /// As [`Block::take`]; the block is as it was.
    pub(crate) fn resize(&mut self, nbytes: usize, keep: usize) -> Result<()> {
        let Parts { capacity: old, form, account, .. } = self.parts();
        let out_of_memory = || Error::out_of_memory(nbytes, form.align);
        let capacity = capacity_for(nbytes).ok_or_else(out_of_memory)?;
        if capacity == old {
            return Ok(());
        }
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
        let Parts { form, .. } = self.parts();
        if self.account().is_guarded() {
            return false;
        }
        let source = self.account().source();
        let demand = Demand { align: form.align, hints: Hints::new() };
        let large = source.cache().is_some() && wants_map(capacity, demand);
        if form.apart {
            (large || !form.cacheable) && self.remap(capacity)
        } else {
            !large && self.reallocate(capacity)
        }
    }

    fn remap(&mut self, capacity: usize) -> bool {
        let mut parts = self.parts();
        let classes = (class_nbytes(parts.capacity), class_nbytes(capacity));
        let (Some(cache), (Some(old), Some(new))) = (self.account().source().cache(), classes) else {
            return false;
        };
        if old != new {
            // SAFETY: a mapping of the cache's of this class (Block 1), which is ours alone.
            let moved = unsafe { cache.resize(parts.bytes, old, new, Hints::new()) };
            let Some(base) = moved else { return false };
            parts.bytes = base;
        }
        parts.capacity = capacity;
        // SAFETY: it is written anew below.
        unsafe { drop_header(self.header) };
        // SAFETY: the header stays where it is, and says what is true of the block now.
        let same = unsafe { Self::begin(self.header, parts) };
        std::mem::forget(same);
        true
    }

    fn reallocate(&mut self, capacity: usize) -> bool {
        let Parts { capacity: old, form: Form { lead, align, .. }, .. } = self.parts();
        let (Some(layout), Some(grown)) = (front_layout(old, align, 0), front_layout(capacity, align, 0))
        else {
            return false;
        };
        let account = self.account();
        // SAFETY: the header lies `lead` bytes behind the beginning of the allocator's block.
        let base = unsafe { self.header.cast::<u8>().sub(lead) };
        // SAFETY: Block 1: it came from this source, with this layout.
        let moved = unsafe { account.source().reallocate(base, layout, grown.size()) };
        let Some(base) = moved else { return false };
        let new_lead = lead_of(base, HEADER, align);
        if new_lead != lead {
            // SAFETY: where the bytes were before they moved with the block.
            let from = unsafe { base.add(lead + HEADER) };
            // SAFETY: where they belong: as in `begin_in_front`.
            let to = unsafe { base.add(new_lead + HEADER) };
            // SAFETY: both lie within the block, for as many bytes as both layouts have room for.
            unsafe { from.copy_to(to, old.min(capacity)) };
        }
        // The header that moved along holds nothing that needs a drop: it is written anew.
        // SAFETY: the block has the layout of the new capacity now.
        let block = unsafe { Self::begin_in_front(account, base, capacity, align, 0) };
        // The block that this was is the new one: nothing is given back.
        std::mem::forget(std::mem::replace(self, block));
        true
    }

    /// Moves to a new block of the capacity, copying the first `keep` bytes. The accounts have been charged for it already.
    fn move_to(&mut self, capacity: usize, keep: usize) -> bool {
        let Parts { bytes, capacity: old, form, account } = self.parts();
        let growing = capacity > old;
        let demand = Demand { align: form.align, hints: Hints::new() };
        // SAFETY: Block 2.
        let account = unsafe { account.as_ref() };
        let Some(fresh) = Self::take_charged(account, capacity, false, demand, growing) else { return false };
        // SAFETY: both blocks have that many bytes (Block 1), and are not the same.
        unsafe { bytes.copy_to_nonoverlapping(fresh.as_ptr(), keep) };
        let old = std::mem::replace(self, fresh);
        // What was charged stays with the block that stays.
        // SAFETY: Block 1: given back once, here.
        unsafe { give_back(old.header, &old.parts()) };
        std::mem::forget(old);
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
        debug_assert!(nbytes <= self.capacity(), "{nbytes} bytes of {}", self.capacity());
        let padding = nbytes.next_multiple_of(ALIGNMENT) - nbytes;
        if padding != 0 {
            // SAFETY: the caller's word.
            let end = unsafe { self.as_ptr().add(nbytes) };
            // SAFETY: the capacity is a multiple of the alignment (Block 1), hence covers the padding.
            unsafe { end.write_bytes(0, padding) };
        }
        let mut header = self.header;
        std::mem::forget(self);
        // SAFETY: Block 1: nobody else knows of the header.
        unsafe { header.as_mut() }.set_nbytes(nbytes);
        // SAFETY: the header is complete, and this is its one handle.
        unsafe { Handle::first(header) }
    }

    /// Gives an allocation `nbytes` bytes, of which the first `keep` are kept and the others are zero. More capacity is taken where
    /// there is not enough. On an error, the allocation is as it was.
    ///
    /// The handle is the only one on a block, and `keep` is no more than `nbytes` or than the bytes that there are.
    pub(crate) fn grow_allocation(handle: &mut Handle, keep: usize, nbytes: usize) -> Result<()> {
        debug_assert!(is_block(handle) && handle.exclusive().is_ok(), "a block of our own");
        let mut result = Ok(());
        handle.rebuild(|header| {
            let mut block = ManuallyDrop::new(Self { header });
            inspect_padding(&block);
            if nbytes > block.capacity() {
                result = block.resize(nbytes, keep);
            }
            if result.is_ok() {
                let end = nbytes.next_multiple_of(ALIGNMENT);
                block.as_uninit_mut()[keep..end].fill(MaybeUninit::new(0));
                // SAFETY: Block 1: nobody else knows of the header while the handle is rebuilt.
                unsafe { block.header.as_mut() }.set_nbytes(nbytes);
            }
            block.header
        });
        result
    }

    /// Takes an allocation apart again, into the block and the number of its initialised bytes.
    ///
    /// # Errors
    ///
    /// `is_unsupported` where the memory is not a pool's, `is_conflict` while anything but this handle keeps it; what work says
    /// that is noted on it. The handle comes back.
    pub(crate) fn thaw(mut handle: Handle) -> Result<(Self, usize), (Handle, Error)> {
        if !is_block(&handle) {
            let text =
                format!("{} memory that is not a pool's cannot change its size", handle.header().backing());
            return Err((handle, Error::new(Kind::Unsupported, text)));
        }
        if let Err(conflict) = handle.exclusive() {
            return Err((handle, conflict.into()));
        }
        // A header that becomes a block's again, and perhaps another allocation's, must have no work noted. (What was noted before, the
        // caller has waited for; a handle that is gone by now may have noted more since.)
        if let Err(error) = handle.await_work(LeaseKind::Write) {
            return Err((handle, error));
        }
        let nbytes = handle.header().nbytes();
        // Its only handle becomes a block again, with no bytes that anybody has been told of.
        let mut block = Self { header: handle.into_header() };
        inspect_padding(&block);
        // SAFETY: Block 1: nobody else knows of the header.
        unsafe { block.header.as_mut() }.set_nbytes(0);
        Ok((block, nbytes))
    }
}

impl Drop for Block {
    #[inline(always)]
    fn drop(&mut self) {
        let Parts { account, capacity, form, .. } = self.parts();
        // SAFETY: Block 2.
        let direct = unsafe { account.as_ref() }.is_direct();
        let slot = slot::current();
        // SAFETY: this thread's slot; a block of the global allocator (Block 1), which goes here.
        if direct && form.is_plain() && unsafe { front::give(slot, capacity, self.header) } {
            // SAFETY: Block 2, and the source has its memory again, or keeps it.
            return unsafe { refund(account, slot, capacity) };
        }
        drop_any(self.header);
    }
}

/// # Safety
///
/// As for dropping the block, which is what this does.
#[inline(never)]
fn drop_any(header: NonNull<Header>) {
    let block = ManuallyDrop::new(Block { header });
    let parts = block.parts();
    inspect_padding(&block);
    // SAFETY: Block 1: given back once, here.
    unsafe { give_back(block.header, &parts) };
    // SAFETY: Block 2, and the source has its memory again.
    unsafe { refund(parts.account, slot::current(), parts.capacity) }
}

/// Gives a block's memory back to its source. It stays charged.
///
/// # Safety
///
/// Called once; the parts are those of the block with this header, and neither the bytes nor the header is used any more.
#[inline]
unsafe fn give_back(header: NonNull<Header>, parts: &Parts) {
    // SAFETY: the block is charged to it until `refund`.
    let account = unsafe { parts.account.as_ref() };
    if account.is_direct() && parts.form.is_plain() {
        // SAFETY: of the global allocator (Block 1), and not used any more.
        unsafe { deallocate_plain(header, parts.form.lead, parts.capacity) };
    } else {
        // SAFETY: the caller's word.
        unsafe { give_back_any(account, header, parts) };
    }
}

/// # Safety
///
/// The header is in front of a block of the global allocator with the plain alignment and no guards. Neither is used any more.
#[inline]
unsafe fn deallocate_plain(header: NonNull<Header>, lead: usize, capacity: usize) {
    // SAFETY: the last use of the header.
    unsafe { drop_header(header) };
    // SAFETY: the header lies `lead` bytes behind the beginning of the allocator's block.
    let base = unsafe { header.cast::<u8>().sub(lead) };
    // SAFETY: the block was allocated with it.
    let layout = unsafe { plain_layout(capacity) };
    // SAFETY: as above, by the global allocator.
    unsafe { Global.deallocate(base, layout) };
}

/// # Safety
///
/// A header of a plain block of the global allocator. Neither is used any more.
pub(crate) unsafe fn deallocate_kept(header: NonNull<Header>) {
    // SAFETY: the caller's word.
    let (form, capacity) = Form::unpack(unsafe { header.as_ref() }.spare().word);
    // SAFETY: the caller's word.
    unsafe { deallocate_plain(header, form.lead, capacity) };
}

/// A header holds nothing that needs a drop. (The model checker's atomics do.)
///
/// # Safety
///
/// The header is not used any more, or written anew.
#[inline]
unsafe fn drop_header(_header: NonNull<Header>) {
    #[cfg(loom)]
    // SAFETY: the caller's word.
    unsafe {
        _header.drop_in_place()
    };
}

/// # Safety
///
/// As for [`give_back`].
#[inline(never)]
unsafe fn give_back_any(account: &Account, header: NonNull<Header>, parts: &Parts) {
    let Parts { bytes, capacity, form: Form { lead, align, apart, cacheable }, .. } = *parts;
    // SAFETY: the last use of the header.
    unsafe { drop_header(header) };
    let (source, guard) = (account.source(), guard_nbytes(account, align));
    if guard != 0 {
        // SAFETY: Block 1, with guards of this length, which `prepare` filled.
        let whole = unsafe { debug::inspect(bytes, capacity, guard) };
        if !whole {
            // Somebody wrote where nobody may: the allocator shall not trip over it.
            return;
        }
    }
    if apart {
        // SAFETY: the mapping begins a guard's length in front of the bytes.
        let base = unsafe { bytes.sub(guard) };
        if let (Some(cache), Some(nbytes)) = (source.cache(), class_nbytes(capacity + 2 * guard)) {
            // SAFETY: it came from this cache (Block 1), whose class it has.
            unsafe { cache.give(base, nbytes, header, cacheable) };
        }
    } else if let Some(layout) = front_layout(capacity, align, guard) {
        // SAFETY: the header lies `lead` bytes behind the beginning of the allocator's block.
        let base = unsafe { header.cast::<u8>().sub(lead) };
        // SAFETY: allocated by the same source with the same layout (Block 1).
        unsafe { source.deallocate(base, layout) };
    }
}

/// How far behind the beginning of a block its header lies, so that what follows `before` bytes behind it is aligned.
#[inline]
fn lead_of(base: NonNull<u8>, before: usize, align: usize) -> usize {
    // The alignment is a power of two (Demand).
    (base.addr().get() + before).wrapping_neg() & (align - 1)
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
        // SAFETY: `begin` put an account there, which is alive while it is charged for the block.
        let account = unsafe { &*spare.ptr.cast::<Account>() };
        (Form::unpack(spare.word).1, account.name())
    })
}

unsafe fn release(header: NonNull<Header>) {
    // This table is installed by `begin` alone, and its release is called once, when nobody has a handle any more (Header 2).
    drop(Block { header });
}

/// In debug mode, reports where the padding behind a frozen block's bytes is not zero any more.
fn inspect_padding(block: &Block) {
    if block.account().is_guarded() {
        // SAFETY: Block 1.
        let nbytes = unsafe { block.header.as_ref() }.nbytes();
        // SAFETY: within the capacity, and zeroed by `freeze` where there are any.
        unsafe { debug::inspect_padding(block.as_ptr(), nbytes) };
    }
}

unsafe fn no_descriptor(_: NonNull<Header>) -> Option<Descriptor> {
    None
}

unsafe fn no_device(_: NonNull<Header>) -> Option<Attached> {
    None
}

unsafe fn retained(header: NonNull<Header>) -> usize {
    // SAFETY: a handle keeps it alive during the call.
    Form::unpack(unsafe { header.as_ref() }.spare().word).1
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

    #[test]
    #[cfg(not(loom))]
    fn a_header_with_work_noted_on_it_does_not_become_a_blocks_again() {
        use crate::memory::device::{Effect, Signal};
        use crate::memory::{Buffer, Pool};

        let buffer = Pool::system().unwrap().zeroed(100).unwrap();
        let (signal, completion) = Signal::new();
        buffer.note_event(signal, Effect::Writes).unwrap();
        drop(completion);
        let (handle, ptr, nbytes, readonly) = buffer.into_parts();
        let Err((handle, error)) = Block::thaw(handle) else { panic!("the work was noted, and failed") };
        assert!(error.is_device(), "{error}");
        // SAFETY: the parts of the buffer above.
        let buffer = unsafe { Buffer::from_parts(handle, ptr, nbytes, readonly) };
        assert!(buffer.settle().is_err());
        assert!(buffer.try_into_mut().is_ok());
    }
}
