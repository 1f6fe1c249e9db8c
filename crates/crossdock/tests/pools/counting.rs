//! An allocator that counts its blocks.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allocator_api2::alloc::{AllocError, Allocator, Global};
use crossdock::pool::Pool;

use crate::Root;

/// Counts the bytes that are allocated and not freed, and checks the requested layouts.
struct Counting(Arc<AtomicU64>);

// SAFETY: every call is passed to `Global`, whose blocks are returned unchanged; counting is
// atomic.
unsafe impl Allocator for Counting {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        assert_ne!(layout.size(), 0);
        let block = Global.allocate(layout)?;
        self.0.fetch_add(layout.size() as u64, Ordering::Relaxed);
        Ok(block)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        self.0.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `Allocator::deallocate`, and `allocate` got the
        // block from `Global` with this layout.
        unsafe { Global.deallocate(block, layout) };
    }

    unsafe fn grow(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
        assert!(new.size() >= old.size() && new.align() >= old.align());
        // SAFETY: the block came from `Global` with the layout `old`, and `new` is not smaller
        // (asserted above).
        let moved = unsafe { Global.grow(block, old, new) }?;
        self.0.fetch_add((new.size() - old.size()) as u64, Ordering::Relaxed);
        Ok(moved)
    }

    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        assert!(new.size() <= old.size());
        // SAFETY: the block came from `Global` with the layout `old`, and `new` is not larger
        // (asserted above).
        let moved = unsafe { Global.shrink(block, old, new) }?;
        self.0.fetch_sub((old.size() - new.size()) as u64, Ordering::Relaxed);
        Ok(moved)
    }
}

pub(crate) fn root() -> Root {
    let outstanding = Arc::new(AtomicU64::new(0));
    let pool = Pool::over("counting", Counting(Arc::clone(&outstanding))).unwrap();
    Root { pool, outstanding: Some(outstanding), has_cache: false }
}
