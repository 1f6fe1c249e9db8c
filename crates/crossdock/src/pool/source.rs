//! Where blocks come from: the program's global allocator, an allocator of the caller's, mapped memory that is kept for a while.

use std::alloc::{Layout as AllocLayout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr::NonNull;

use crate::pool::cache::Cache;

/// Blocks of this many bytes or more are mapped where the source has a cache.
pub(crate) const LARGE: usize = 256 << 10;

/// An allocator of bytes, as [`std::alloc::GlobalAlloc`], with errors for what fails.
pub(crate) trait Bytes: Send + Sync {
    /// The layout is not zero-sized.
    fn allocate(&self, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>>;

    /// # Safety
    ///
    /// `block` came from this allocator, has this layout, and is not used any more.
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: AllocLayout);

    /// The block with another size, and as much of its bytes as fit; or `None`, and the block is as it was.
    ///
    /// # Safety
    ///
    /// As for `deallocate`, but for its bytes. `nbytes`, rounded up to the alignment, is not 0 and no more than `isize::MAX`.
    unsafe fn reallocate(
        &self,
        block: NonNull<u8>,
        layout: AllocLayout,
        nbytes: usize,
    ) -> Option<NonNull<u8>>;
}

/// The program's global allocator.
pub(crate) struct Global;

impl Bytes for Global {
    #[inline]
    fn allocate(&self, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>> {
        if zeroed {
            // SAFETY: not zero-sized (the trait's rule).
            NonNull::new(unsafe { alloc_zeroed(layout) })
        } else {
            // SAFETY: as above.
            NonNull::new(unsafe { alloc(layout) })
        }
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: AllocLayout) {
        // SAFETY: the caller's word.
        unsafe { dealloc(block.as_ptr(), layout) }
    }

    unsafe fn reallocate(
        &self,
        block: NonNull<u8>,
        layout: AllocLayout,
        nbytes: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the caller's word.
        NonNull::new(unsafe { realloc(block.as_ptr(), layout, nbytes) })
    }
}

/// The end of a chain of accounts.
pub(crate) struct Source {
    foreign: Option<Box<dyn Bytes>>,
    cache: Option<Cache>,
}

impl Source {
    /// The global allocator for everything.
    pub(crate) fn system() -> Self {
        Self { foreign: None, cache: None }
    }

    /// The global allocator for small blocks, and a cache of mapped memory for large ones.
    pub(crate) fn caching(cache: Cache) -> Self {
        Self { cache: Some(cache), ..Self::system() }
    }

    /// An allocator of the caller's for everything.
    #[cfg_attr(
        not(any(feature = "allocator-api2-0_2", all(test, loom))),
        expect(dead_code, reason = "other crates' allocators come with a feature")
    )]
    pub(crate) fn foreign(bytes: Box<dyn Bytes>) -> Self {
        Self { foreign: Some(bytes), ..Self::system() }
    }

    /// Whether small blocks come from the global allocator without further ado.
    pub(crate) fn is_direct(&self) -> bool {
        self.foreign.is_none()
    }

    /// As [`Bytes::allocate`].
    #[inline]
    pub(crate) fn allocate(&self, layout: AllocLayout, zeroed: bool) -> Option<NonNull<u8>> {
        match &self.foreign {
            None => Global.allocate(layout, zeroed),
            Some(bytes) => bytes.allocate(layout, zeroed),
        }
    }

    /// # Safety
    ///
    /// As for [`Bytes::deallocate`].
    #[inline]
    pub(crate) unsafe fn deallocate(&self, block: NonNull<u8>, layout: AllocLayout) {
        match &self.foreign {
            // SAFETY: the caller's word.
            None => unsafe { Global.deallocate(block, layout) },
            // SAFETY: the caller's word.
            Some(bytes) => unsafe { bytes.deallocate(block, layout) },
        }
    }

    /// # Safety
    ///
    /// As for [`Bytes::reallocate`].
    pub(crate) unsafe fn reallocate(
        &self,
        block: NonNull<u8>,
        layout: AllocLayout,
        nbytes: usize,
    ) -> Option<NonNull<u8>> {
        match &self.foreign {
            // SAFETY: the caller's word.
            None => unsafe { Global.reallocate(block, layout, nbytes) },
            // SAFETY: the caller's word.
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
