//! Blocks that change their size: in place, by moving pages, or by moving to another block.

use std::mem::{ManuallyDrop, MaybeUninit};

use crate::error::{Error, Result};
use crate::memory::Handle;
use crate::pool::block::{Block, Parts, give_back, inspect_padding, is_block};
use crate::pool::form::{ALIGNMENT, Demand, Form, HEADER, capacity_for, front_layout, lead_of, wants_map};
use crate::pool::hints::Hints;
use crate::pool::mapped::class_nbytes;
use crate::pool::plain::drop_header;

impl Block {
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
        // The allocator copies what it moves. Where nothing is kept, another block is cheaper than that.
        let (keep, apart) = (keep.min(capacity), form.apart);
        let resized =
            (keep > 0 || apart) && self.resize_in_kind(capacity, keep) || self.move_to(capacity, keep);
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
    fn resize_in_kind(&mut self, capacity: usize, keep: usize) -> bool {
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
            !large && self.reallocate(capacity, keep)
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

    /// Keeps the first `keep` bytes, of which both capacities have as many.
    fn reallocate(&mut self, capacity: usize, keep: usize) -> bool {
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
            unsafe { from.copy_to(to, keep) };
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
}
