//! Sources of blocks: the program's global allocator, an allocator of the caller, and cached mapped
//! memory, private or shareable.

use std::alloc::{Layout as AllocLayout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr::NonNull;
use std::time::Duration;

use crate::error::Error;
use crate::memory::memfd::Memfd;
use crate::memory::os::pages;
use crate::pool::cache::Cache;
use crate::pool::form::Demand;
use crate::pool::hints::Hints;

/// Blocks of this many bytes or more are mapped if the source has a cache.
pub(crate) const LARGE: usize = 256 << 10;

/// An allocator of bytes, like [`std::alloc::GlobalAlloc`], but with errors instead of null
/// pointers.
pub(crate) trait ByteAllocator: Send + Sync {
    /// # Safety
    ///
    /// 1. The layout is not zero-sized.
    unsafe fn allocate(&self, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>>;

    /// # Safety
    ///
    /// 1. `block` came from this allocator with this layout.
    /// 2. It is not used any more.
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: AllocLayout);

    /// Returns the block with another size, and as many of its bytes as fit. `None`: the block is
    /// unchanged.
    ///
    /// # Safety
    ///
    /// 1. `block` came from this allocator with this layout; if the result is `Some`, its old
    ///    address is not used any more.
    /// 2. `nbytes`, rounded up to the alignment, is not 0 and at most `isize::MAX`.
    unsafe fn reallocate(
        &self,
        block: NonNull<u8>,
        layout: AllocLayout,
        nbytes: usize,
    ) -> Option<NonNull<u8>>;
}

/// The program's global allocator.
pub(crate) struct Global;

impl ByteAllocator for Global {
    #[inline]
    unsafe fn allocate(&self, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>> {
        if zeroed {
            // SAFETY: clause 1 of `# Safety`: the layout is not zero-sized.
            NonNull::new(unsafe { alloc_zeroed(layout) })
        } else {
            // SAFETY: clause 1 of `# Safety`: the layout is not zero-sized.
            NonNull::new(unsafe { alloc(layout) })
        }
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: AllocLayout) {
        // SAFETY: clauses 1 and 2 of `# Safety`: the global allocator allocated the block with this
        // layout, and it is not used any more.
        unsafe { dealloc(block.as_ptr(), layout) }
    }

    unsafe fn reallocate(
        &self,
        block: NonNull<u8>,
        layout: AllocLayout,
        nbytes: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: clause 1 of `# Safety`: the global allocator allocated the block with this
        // layout. Clause 2: the new size is not 0 and does not overflow.
        NonNull::new(unsafe { realloc(block.as_ptr(), layout, nbytes) })
    }
}

/// The end of a chain of accounts, where blocks come from.
pub(crate) struct BlockSource {
    foreign: Option<Box<dyn ByteAllocator>>,
    cache: Option<Cache>,
}

impl BlockSource {
    /// The global allocator for everything.
    pub(crate) fn system() -> Self {
        Self { foreign: None, cache: None }
    }

    /// The global allocator for small blocks, and a cache of mapped memory for large ones.
    pub(crate) fn caching(cache: Cache) -> Self {
        Self { cache: Some(cache), ..Self::system() }
    }

    /// An allocator of the caller for everything.
    #[cfg_attr(
        not(any(feature = "allocator-api2-0_2", all(test, loom))),
        expect(dead_code, reason = "other crates' allocators come with a feature")
    )]
    pub(crate) fn foreign(bytes: Box<dyn ByteAllocator>) -> Self {
        Self { foreign: Some(bytes), ..Self::system() }
    }

    /// Shared memory for all blocks.
    pub(crate) fn shareable(limit_nbytes: usize, quiet: Duration) -> Self {
        Self::caching(Cache::shareable(limit_nbytes, quiet))
    }

    /// Whether small blocks come directly from the global allocator.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_own() && !self.is_shareable()
    }

    /// Whether it runs no code of the caller.
    pub(crate) fn is_own(&self) -> bool {
        self.foreign.is_none()
    }

    #[inline]
    pub(crate) fn is_shareable(&self) -> bool {
        self.cache.as_ref().is_some_and(Cache::is_shareable)
    }

    /// Whether a block is mapped, rather than a part of an allocator's memory.
    #[inline]
    pub(super) fn wants_map(&self, capacity: usize, demand: Demand) -> bool {
        let is_large = || capacity >= LARGE || demand.hints != Hints::new() && capacity >= pages::size();
        let wants = |cache: &Cache| pages::HAS_MAPPINGS && is_large() || cache.is_shareable() && capacity > 0;
        self.cache.as_ref().is_some_and(wants)
    }

    /// The error of a source without memory.
    #[cold]
    pub(crate) fn refusal(&self, nbytes: usize, align: usize) -> Error {
        if self.is_shareable() { Memfd::refusal(nbytes, align) } else { Error::out_of_memory(nbytes, align) }
    }

    /// See [`ByteAllocator::allocate`].
    ///
    /// # Safety
    ///
    /// 1. The layout is not zero-sized.
    #[inline]
    pub(crate) unsafe fn allocate(&self, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>> {
        match &self.foreign {
            // SAFETY: clause 1 of `# Safety`: the layout is not zero-sized.
            None => unsafe { Global.allocate(layout, zeroed) },
            // SAFETY: clause 1 of `# Safety`: the layout is not zero-sized.
            Some(bytes) => unsafe { bytes.allocate(layout, zeroed) },
        }
    }

    /// # Safety
    ///
    /// 1. `block` came from this source with this layout.
    /// 2. It is not used any more.
    #[inline]
    pub(crate) unsafe fn deallocate(&self, block: NonNull<u8>, layout: AllocLayout) {
        match &self.foreign {
            // SAFETY: clauses 1 and 2 of `# Safety`: without a foreign allocator, `allocate` took
            // the block from `Global`.
            None => unsafe { Global.deallocate(block, layout) },
            // SAFETY: clauses 1 and 2 of `# Safety`: `allocate` took the block from this foreign
            // allocator, which never changes.
            Some(bytes) => unsafe { bytes.deallocate(block, layout) },
        }
    }

    /// # Safety
    ///
    /// 1. `block` came from this source with this layout; if the result is `Some`, its old address
    ///    is not used any more.
    /// 2. `nbytes`, rounded up to the alignment, is not 0 and at most `isize::MAX`.
    pub(crate) unsafe fn reallocate(
        &self,
        block: NonNull<u8>,
        layout: AllocLayout,
        nbytes: usize,
    ) -> Option<NonNull<u8>> {
        match &self.foreign {
            // SAFETY: clauses 1 and 2 of `# Safety`: without a foreign allocator, `allocate` took
            // the block from `Global`.
            None => unsafe { Global.reallocate(block, layout, nbytes) },
            // SAFETY: clauses 1 and 2 of `# Safety`: `allocate` took the block from this foreign
            // allocator, which never changes.
            Some(bytes) => unsafe { bytes.reallocate(block, layout, nbytes) },
        }
    }

    #[inline]
    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    pub(crate) fn cached_nbytes(&self) -> usize {
        self.cache.as_ref().map_or(0, Cache::cached_nbytes)
    }
}
