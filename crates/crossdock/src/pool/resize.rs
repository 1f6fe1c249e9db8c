//! Resizes blocks: in place, by moving pages, or by moving to another block.

use std::mem::{ManuallyDrop, MaybeUninit};

use crate::error::{Error, Result};
use crate::memory::Handle;
use crate::pool::block::{
    Block, BlockParts, exclude_forks, give_back, inspect_padding, is_block, permit_forks,
};
use crate::pool::form::{ALIGNMENT, Demand, Form, HEADER, capacity_for, front_layout, lead_of};
use crate::pool::hints::Hints;
use crate::pool::mapped::class_nbytes;
use crate::pool::plain::drop_header;

impl Block {
    /// Changes the capacity to at least `nbytes` bytes and keeps the first `keep` bytes. The bytes
    /// behind them are uninitialised. If the block grows in place, or by moving its pages, nothing
    /// is copied.
    ///
    /// # Errors
    ///
    /// As [`Block::take`]; the block is unchanged.
    pub(crate) fn resize(&mut self, nbytes: usize, keep: usize) -> Result<()> {
        let BlockParts { capacity: old, form, account, .. } = self.parts();
        let out_of_memory = || Error::out_of_memory(nbytes, form.align);
        let capacity = capacity_for(nbytes).ok_or_else(out_of_memory)?;
        if capacity == old {
            return Ok(());
        }
        // SAFETY: Block 2: the account is charged for this block's capacity throughout, so it is
        // alive.
        let account = unsafe { account.as_ref() };
        account.charge_growth(old, capacity)?;
        // The allocator copies what it moves. If nothing is kept, a new block is cheaper.
        let (keep, apart) = (keep.min(old).min(capacity), form.apart);
        let resized =
            (keep > 0 || apart) && self.resize_in_kind(capacity, keep) || self.move_to(capacity, keep);
        if resized {
            account.note_resized(old, capacity);
            account.refund_shrinkage(old, capacity);
            Ok(())
        } else {
            account.refund_shrinkage(capacity, old);
            Err(account.source().refusal(nbytes, form.align))
        }
    }

    /// Resizes the block by the means of its kind, if the new capacity suits that kind.
    fn resize_in_kind(&mut self, capacity: usize, keep: usize) -> bool {
        let BlockParts { form, .. } = self.parts();
        if self.account().is_guarded() {
            return false;
        }
        let source = self.account().source();
        let demand = Demand { align: form.align, hints: Hints::new() };
        let large = source.wants_map(capacity, demand);
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
        if self.account().source().is_shareable() {
            // Its size is sealed. A fork reads the header, so that it stays as it is.
            if old == new {
                // SAFETY: Block 1: `&mut self` owns the header; a fork does not read this word.
                unsafe { self.header.as_mut() }.set_spare_word(parts.form.pack(capacity));
            }
            return old == new;
        }
        if old != new {
            // SAFETY: clause 1 of `Cache::resize`: this cache mapped the block for its capacity,
            // and `is_guarded` is false (`resize_in_kind`). Clause 2: `class_nbytes` returned both
            // sizes. Clause 3: `&mut self` owns the block (Block 1).
            let moved = unsafe { cache.resize(parts.bytes, old, new, Hints::new()) };
            let Some(base) = moved else { return false };
            parts.bytes = base;
        }
        parts.capacity = capacity;
        // SAFETY: clause 1 of `drop_header`: `begin` writes the header anew before its next use.
        unsafe { drop_header(self.header) };
        // SAFETY: clauses 1 and 2 of `begin`: this block owns the header and the resized mapping
        // (Block 1), which `parts` now describes.
        let same = unsafe { Self::begin(self.header, parts) };
        std::mem::forget(same);
        true
    }

    /// Keeps the first `keep` bytes, which both capacities have.
    fn reallocate(&mut self, capacity: usize, keep: usize) -> bool {
        let BlockParts { capacity: old, form: Form { lead, align, .. }, .. } = self.parts();
        let (Some(layout), Some(grown)) = (front_layout(old, align, 0), front_layout(capacity, align, 0))
        else {
            return false;
        };
        let account = self.account();
        // SAFETY: Block 1: `begin_in_front` placed the header `lead` bytes behind the beginning of
        // the allocator's block.
        let base = unsafe { self.header.cast::<u8>().sub(lead) };
        // SAFETY: clause 1 of `reallocate`: this source allocated the block with this layout (Block
        // 1). Clause 2: `front_layout` returned a layout for the new size, which includes a header.
        let moved = unsafe { account.source().reallocate(base, layout, grown.size()) };
        let Some(base) = moved else { return false };
        let new_lead = lead_of(base, HEADER, align);
        if new_lead != lead {
            // SAFETY: the bytes lay there before the block moved, and both layouts have room for
            // `lead + HEADER + keep` bytes.
            let from = unsafe { base.add(lead + HEADER) };
            // SAFETY: `front_layout` has room for every lead that `lead_of` returns, the header and
            // the new capacity.
            let to = unsafe { base.add(new_lead + HEADER) };
            // SAFETY: `keep` is at most both capacities, and the new layout has room for that many
            // bytes behind either lead. The ranges may overlap.
            unsafe { from.copy_to(to, keep) };
        }
        // The header that moved along needs no drop: it is written anew.
        // SAFETY: clause 1 of `begin_in_front`: the block came from this source and now has the
        // layout of the new capacity. Clause 2: `&mut self` owns it.
        let block = unsafe { Self::begin_in_front(account, base, capacity, align, 0) };
        // The new block replaces this one, whose memory it has: nothing is freed.
        std::mem::forget(std::mem::replace(self, block));
        true
    }

    /// Moves to a new block of the capacity, and copies the first `keep` bytes. The accounts have
    /// been charged for it already.
    fn move_to(&mut self, capacity: usize, keep: usize) -> bool {
        let BlockParts { bytes, capacity: old, form, account, .. } = self.parts();
        let growing = capacity > old;
        let demand = Demand { align: form.align, hints: Hints::new() };
        // SAFETY: Block 2: the account is charged for this block's capacity throughout, so it is
        // alive.
        let account = unsafe { account.as_ref() };
        let Some(fresh) = Self::take_charged(account, capacity, false, demand, growing) else { return false };
        // SAFETY: `resize` limits `keep` to the new capacity, and its callers to the old one; the
        // new block does not overlap the old one.
        unsafe { bytes.copy_to_nonoverlapping(fresh.as_ptr(), keep) };
        let old = std::mem::replace(self, fresh);
        // The charge stays with the new block.
        // SAFETY: clause 1 of `give_back`: the parts come from this header. Clause 2: `old` was
        // replaced, and it is forgotten below.
        unsafe { give_back(old.header, &old.parts()) };
        std::mem::forget(old);
        true
    }

    /// Sets the length of an allocation to `nbytes`. The first `keep` bytes are kept, the others
    /// are zero. If the capacity is too small, it grows. On an error, the allocation is unchanged.
    ///
    /// # Safety
    ///
    /// 1. The handle is the only holder of a block.
    /// 2. `keep` is at most `nbytes` and at most the number of existing bytes.
    pub(crate) unsafe fn grow_allocation(handle: &mut Handle, keep: usize, nbytes: usize) -> Result<()> {
        debug_assert!(is_block(handle) && handle.exclusive().is_ok(), "a block of our own");
        exclude_forks(handle)?;
        let mut result = Ok(());
        let grow = |header| {
            let mut block = ManuallyDrop::new(Self { header });
            inspect_padding(&block);
            if nbytes > block.capacity() {
                result = block.resize(nbytes, keep);
            }
            if result.is_ok() {
                let end = nbytes.next_multiple_of(ALIGNMENT);
                block.as_uninit_mut()[keep..end].fill(MaybeUninit::new(0));
                // SAFETY: Block 1: `rebuild` has consumed the only handle, so only `block` reaches
                // the header.
                unsafe { block.header.as_mut() }.set_nbytes(nbytes);
            }
            // SAFETY: Block 1: the header of `block` is alive.
            permit_forks(unsafe { block.header.as_ref() });
            block.header
        };
        // SAFETY: clause 1 of `rebuild` is clause 1 of `# Safety`. Clause 2: `grow` returns the
        // block's header, which `resize` wrote anew, for one handle, if it moved. Clause 3: after
        // that, `keep..end` lies within the capacity (clause 2 of `# Safety`), so nothing panics.
        unsafe { handle.rebuild(grow) };
        result
    }
}
