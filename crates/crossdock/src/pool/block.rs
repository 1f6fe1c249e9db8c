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

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::header::{Attached, Descriptor, Header, Owner, Region, Spare};
use crate::memory::{Backing, Birth, Handle, LeaseKind, Place};
use crate::pool::account::{Account, refund};
use crate::pool::cache::MappedBlock;
use crate::pool::form::{
    ALIGNMENT, Demand, Form, HEADER, capacity_for, front_layout, lead_of, plain_layout, wants_map,
};
use crate::pool::mapped::class_nbytes;
use crate::pool::plain::{deallocate_plain, drop_header};
use crate::pool::source::{Bytes, Global, LARGE};
use crate::pool::{debug, front, slot};

static OWNER: Owner = Owner {
    release,
    descriptor: no_descriptor,
    fault: no_fault,
    device: no_device,
    retained,
    is_own,
    is_part: false,
};

/// The length of the guards on both sides of the bytes, which are aligned to `align`.
fn guard_nbytes(account: &Account, align: usize) -> usize {
    if account.is_guarded() { align } else { 0 }
}

/// One pointer: everything about a block is in its header from the beginning, so that passing it on moves one word.
///
/// # Invariants
///
/// 1. The header was written by [`Block::begin`]: its spare words name the account, and the form and capacity of a block of
///    that account's source, which are ours alone. Its region begins at the bytes. The capacity is a multiple of [`ALIGNMENT`].
/// 2. The chain of accounts is charged for the capacity (hence it is alive).
pub(crate) struct Block {
    pub(super) header: NonNull<Header>,
}

/// What a header says of its block.
pub(super) struct Parts {
    pub(super) bytes: NonNull<u8>,
    pub(super) capacity: usize,
    pub(super) form: Form,
    pub(super) account: NonNull<Account>,
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
    pub(super) unsafe fn begin_in_front(
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
    pub(super) unsafe fn begin(header: NonNull<Header>, parts: Parts) -> Self {
        let Parts { bytes, capacity, form, account } = parts;
        let region = Region { ptr: bytes, nbytes: 0, place: Place::CPU, backing: Backing::Heap };
        let spare = Spare { ptr: account.as_ptr().cast(), word: form.pack(capacity) };
        // SAFETY: the caller's word.
        unsafe { header.write(Header::new(region, Birth::Sole, &OWNER, spare)) };
        Self { header }
    }

    #[inline]
    pub(super) fn parts(&self) -> Parts {
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
pub(super) unsafe fn give_back(header: NonNull<Header>, parts: &Parts) {
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
pub(super) fn inspect_padding(block: &Block) {
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

unsafe fn no_device(_: &NonNull<Header>) -> Option<Attached<'_>> {
    None
}

unsafe fn retained(header: NonNull<Header>) -> usize {
    // SAFETY: a handle keeps it alive during the call.
    Form::unpack(unsafe { header.as_ref() }.spare().word).1
}

/// False for a foreign allocator, and for a logging pool, which calls its listeners.
unsafe fn is_own(header: NonNull<Header>) -> bool {
    // SAFETY: the header is not released yet, as the caller of `is_own` guarantees.
    let account = unsafe { header.as_ref() }.spare().ptr.cast::<Account>();
    // SAFETY: `begin` stored an account there, which lives while it is charged for the block.
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
        // SAFETY: the parts of the buffer above.
        let buffer = unsafe { Buffer::from_parts(handle, ptr, nbytes, readonly) };
        assert!(buffer.settle().is_err());
        assert!(buffer.try_into_mut().is_ok());
    }
}
