//! Pools as allocators of collections, and over other allocators.

use std::alloc::Layout;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator, System};
use allocator_api2::vec::Vec as PoolVec;
use crossdock::pool::{AllocOptions, Pool};

/// An allocator whose blocks are aligned exactly as requested, never to twice that.
struct Meagre;

impl Meagre {
    fn padded(layout: Layout) -> Layout {
        let (nbytes, align) = (layout.size() + layout.align(), layout.align());
        Layout::from_size_align(nbytes, 2 * align).unwrap()
    }
}

// SAFETY: each block is a part of a larger block of `System`, with the requested size and
// alignment; `deallocate` returns the whole block.
unsafe impl Allocator for Meagre {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let block = System.allocate(Self::padded(layout))?;
        // SAFETY: `padded` made the block larger by `align` bytes, so the address is within it.
        let bytes = unsafe { block.cast::<u8>().add(layout.align()) };
        Ok(NonNull::slice_from_raw_parts(bytes, layout.size()))
    }

    unsafe fn deallocate(&self, bytes: NonNull<u8>, layout: Layout) {
        // SAFETY: `allocate` returned an address that is `align` bytes behind the beginning of the
        // system's block.
        let base = unsafe { bytes.sub(layout.align()) };
        // SAFETY: `allocate` got this block from `System` with the same padded layout.
        unsafe { System.deallocate(base, Self::padded(layout)) }
    }
}

#[test]
fn a_collection_takes_its_memory_from_a_pool_and_is_refused_without_a_panic() {
    let pool = Pool::system().unwrap().capped("collections", 1 << 16).unwrap();
    let mut values = PoolVec::new_in(pool.clone());
    values.extend(0..1000u32);
    assert!(pool.statistics().live_nbytes >= 4000);
    assert!(values.try_reserve(1 << 20).is_err(), "the limit");
    assert!(values.try_reserve(usize::MAX / 2).is_err(), "a product that overflows");
    assert!(values.iter().copied().eq(0..1000));
    drop(values);
    let layout = Layout::from_size_align(100, 4096).unwrap();
    let block = pool.allocate(layout).unwrap();
    assert!(block.cast::<u8>().addr().get().is_multiple_of(4096));
    // SAFETY: `pool` allocated the block above with this layout, and no other code uses it.
    unsafe { pool.deallocate(block.cast(), layout) };
    assert_eq!(pool.statistics().live_nbytes, 0);
}

#[test]
fn a_pool_over_an_allocator_is_aligned_as_asked_for() {
    let pool = Pool::over("meagre", Meagre).unwrap();
    for align in [64, 512, 4096] {
        for nbytes in 0..64 {
            let mut growing = AllocOptions::new().align(align).mutable(&pool, nbytes).unwrap();
            assert!(growing.as_ptr().addr().is_multiple_of(align), "{align} {nbytes}");
            growing.resize(10_000).unwrap();
            assert!(growing.as_ptr().addr().is_multiple_of(align));
        }
    }
    assert_eq!((pool.name(), pool.statistics().live_nbytes), ("meagre", 0));
}

#[test]
fn a_pool_counts_what_its_allocator_and_its_collections_have() {
    let pool = Pool::over("counted", System).unwrap();
    let (buffer, mut values) = (pool.zeroed(100).unwrap(), PoolVec::new_in(pool.clone()));
    values.resize(100, 1u8);
    assert_eq!(pool.statistics().live_nbytes, 128 + 128);
    assert!(pool.zeroed(isize::MAX as usize - 63).unwrap_err().is_out_of_memory());
    let mut huge = PoolVec::<u64, Pool>::new_in(pool.clone());
    assert!(huge.try_reserve(usize::MAX / 8).is_err());
    drop((buffer, values, huge));
    let statistics = pool.statistics();
    assert_eq!((statistics.live_nbytes, statistics.peak_nbytes), (0, 256));
}
