//! Blocks from an allocator that the caller provides.

use std::alloc::Layout as AllocLayout;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use allocator_api2::alloc::Allocator;

use crate::error::{Error, Result, try_box};
use crate::memory::release::release_quietly;
use crate::pool::Pool;
use crate::pool::source::{BlockSource, ByteAllocator};

impl Pool {
    /// A separate pool that takes all its blocks from an allocator. Blocks grow and shrink by the
    /// allocator's own `grow` and `shrink`, in place if it can. The allocator lives until the
    /// pool's last handle and last buffer are dropped. (With the feature `allocator-api2-0_2`.)
    ///
    /// A panic of the allocator stops here: an allocation then fails, and a deallocation counts as
    /// done. [`ledger::failed_releases`](crate::ledger::failed_releases) counts such panics.
    ///
    /// ```
    /// use allocator_api2::alloc::System;
    /// use crossdock::pool::Pool;
    ///
    /// let pool = Pool::over("malloc", System)?;
    /// let buffer = pool.zeroed(100)?;
    /// assert_eq!(pool.statistics().live_nbytes, 128);
    /// assert_eq!(buffer.pool_name(), Some("malloc"));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the allocator is dropped.
    pub fn over<A>(name: &'static str, allocator: A) -> Result<Self>
    where
        A: Allocator + Send + Sync + 'static,
    {
        // On failure the allocator is dropped with the value that did not fit.
        let boxed = try_box(CaughtAllocator(ManuallyDrop::new(allocator)))
            .map_err(|foreign| Error::out_of_memory(size_of_val(&foreign), align_of_val(&foreign)))?;
        Self::of_source(name, BlockSource::foreign(boxed))
    }
}

/// An allocator whose panics stop here.
struct CaughtAllocator<A>(ManuallyDrop<A>);

impl<A: Allocator + Send + Sync> ByteAllocator for CaughtAllocator<A> {
    unsafe fn allocate(&self, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>> {
        let mut block = None;
        release_quietly(|| {
            let taken = if zeroed { self.0.allocate_zeroed(layout) } else { self.0.allocate(layout) };
            block = taken.ok();
        });
        block.map(NonNull::cast)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: AllocLayout) {
        // SAFETY: clauses 1 and 2 of `ByteAllocator::deallocate`: the block came from this
        // allocator with this layout, and is not used any more.
        release_quietly(|| unsafe { self.0.deallocate(block, layout) });
    }

    unsafe fn reallocate(
        &self,
        block: NonNull<u8>,
        layout: AllocLayout,
        nbytes: usize,
    ) -> Option<NonNull<u8>> {
        let resized = AllocLayout::from_size_align(nbytes, layout.align()).ok()?;
        let mut moved = None;
        release_quietly(|| {
            let result = if nbytes >= layout.size() {
                // SAFETY: clause 1 of `ByteAllocator::reallocate`: the block came from this
                // allocator with this layout. The new layout has the same alignment, and its size
                // is no less than the old one.
                unsafe { self.0.grow(block, layout, resized) }
            } else {
                // SAFETY: clause 1 of `ByteAllocator::reallocate`: the block came from this
                // allocator with this layout. The new layout has the same alignment, and its size
                // is less than the old one.
                unsafe { self.0.shrink(block, layout, resized) }
            };
            moved = result.ok();
        });
        moved.map(NonNull::cast)
    }
}

impl<A> Drop for CaughtAllocator<A> {
    fn drop(&mut self) {
        // SAFETY: the field is dropped here only, and a value's `drop` runs once.
        release_quietly(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}
