//! Pools over allocators, and as allocators.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use allocator_api2::alloc::{AllocError, Allocator};
use crossdock::buffer::Buffer;
use crossdock::pool::{AllocOptions, Pool};

use crate::counting::root;
use crate::{Root, cases};

#[test]
fn blocks_grow_and_shrink_by_the_allocators_own_means_and_stay_aligned() {
    let Root { pool, outstanding, .. } = root();
    let outstanding = outstanding.unwrap();
    for align in [1, 16, 64, 512, 4096] {
        let mut bytes = AllocOptions::new().align(align).mutable(&pool, 10).unwrap();
        for round in 0..12u32 {
            bytes.extend_from_slice(&vec![round; 1 << round]).unwrap();
            assert!(bytes.as_ptr().addr().is_multiple_of(align.max(64)));
            assert!(outstanding.load(Ordering::Relaxed) >= bytes.capacity() as u64);
        }
        bytes.truncate(28);
        bytes.shrink_to_fit().unwrap();
        assert_eq!(bytes.as_slice_of::<u32>().unwrap(), [0, 1, 1, 2, 2, 2, 2]);
        assert!(outstanding.load(Ordering::Relaxed) < 64 + 2 * 4096, "{outstanding:?}");
    }
    assert_eq!(outstanding.load(Ordering::Relaxed), 0);
}

#[test]
fn any_alignment_of_a_layout_is_kept_by_collections_and_limits_are_errors() {
    let caching = Pool::caching(1 << 20, Duration::from_secs(1)).unwrap();
    for pool in [root().pool, caching, Pool::system().unwrap().capped("capped", 1 << 24).unwrap()] {
        let before = pool.statistics().live_nbytes;
        for align in (0..21).map(|log2| 1usize << log2) {
            for nbytes in [0, 1, 100, 300 << 10] {
                let layout = Layout::from_size_align(nbytes, align).unwrap();
                let block = pool.allocate_zeroed(layout).unwrap();
                assert_eq!((block.len(), block.cast::<u8>().addr().get() % align), (nbytes, 0));
                let charged = (nbytes as u64).next_multiple_of(64);
                assert_eq!(pool.statistics().live_nbytes - before, charged);
                // SAFETY: `allocate_zeroed` returned a block of `nbytes` zeroed bytes, and no other
                // code has it.
                let bytes = unsafe { std::slice::from_raw_parts_mut(block.cast::<u8>().as_ptr(), nbytes) };
                assert!(bytes.iter().all(|&byte| byte == 0));
                bytes.fill(7);
                let larger = Layout::from_size_align(2 * nbytes + 5, align / 2 + 1).unwrap_or(layout);
                let larger = Layout::from_size_align(larger.size().max(nbytes), align).unwrap();
                // SAFETY: `block` was allocated above with `layout`, and `larger` is not smaller
                // and has a valid alignment.
                let grown = unsafe { pool.grow_zeroed(block.cast(), layout, larger) }.unwrap();
                assert_eq!(grown.cast::<u8>().addr().get() % align, 0);
                // SAFETY: `grow_zeroed` returned a block whose bytes are all initialised, and no
                // other code has it.
                let bytes = unsafe { grown.as_ref() };
                assert!(bytes[..nbytes].iter().all(|&byte| byte == 7));
                assert!(bytes[nbytes..].iter().all(|&byte| byte == 0));
                let other = Layout::from_size_align(nbytes / 2, 2 * align).unwrap();
                // SAFETY: `grown` was allocated above with `larger`, and `other` is not larger.
                let shrunk = unsafe { pool.shrink(grown.cast(), larger, other) }.unwrap();
                assert_eq!(shrunk.cast::<u8>().addr().get() % (2 * align), 0);
                // SAFETY: all bytes of the shrunk block were initialised before, and no other code
                // has it.
                assert!(unsafe { shrunk.as_ref() }.iter().all(|&byte| byte == 7));
                // SAFETY: `shrunk` was allocated above with the layout `other`, and is not used
                // again.
                unsafe { pool.deallocate(shrunk.cast(), other) };
                assert_eq!(pool.statistics().live_nbytes, before);
            }
        }
        let huge = Layout::from_size_align(isize::MAX as usize - 4096, 4096).unwrap();
        assert!(pool.allocate(huge).is_err());
        assert!(pool.guarded("guarded").unwrap().allocate(huge).is_err());
        assert_eq!(pool.statistics().live_nbytes, before);
    }
}

#[test]
fn a_limit_binds_buffers_and_collections_together() {
    let pool = Pool::default().capped("both", 1024).unwrap();
    let buffer = pool.zeroed(512).unwrap();
    let mut numbers = allocator_api2::vec::Vec::<u8, Pool>::new_in(pool.clone());
    numbers.try_reserve_exact(512).unwrap();
    assert!(pool.zeroed(1).unwrap_err().to_string().contains("1024"));
    assert!(numbers.try_reserve_exact(513).is_err());
    assert_eq!(numbers.capacity(), 512);
    drop(buffer);
    numbers.try_reserve_exact(1024).unwrap();
    assert_eq!(pool.statistics().live_nbytes, 1024);
    drop(numbers);
    assert_eq!(pool.statistics().live_nbytes, 0);
}

/// Panics in every method.
struct Panicking;

// SAFETY: every method panics, so no block is ever returned.
unsafe impl Allocator for Panicking {
    fn allocate(&self, _: Layout) -> Result<NonNull<[u8]>, AllocError> {
        panic!("no allocator at all")
    }

    unsafe fn deallocate(&self, _: NonNull<u8>, _: Layout) {
        panic!("nothing was given")
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        panic!("not even dropped")
    }
}

#[test]
fn a_panic_of_an_allocator_goes_no_further() {
    let pool = Pool::over("panicking", Panicking).unwrap();
    let error = pool.zeroed(100).unwrap_err();
    assert!(error.is_out_of_memory() && error.to_string().contains("100"), "{error}");
    assert_eq!(pool.statistics().live_nbytes, 0);
    drop(pool);
}

/// Every order in which a chain of three pools and a buffer of the last one can be dropped, each on
/// this thread and on a separate one.
#[test]
fn a_chain_and_its_buffer_go_in_any_order_and_on_any_thread() {
    for order in permutations(4) {
        for on_threads in [false, true] {
            let Root { pool: first, outstanding, .. } = root();
            let second = first.capped("second", 4096).unwrap();
            let third = second.proxy("third").unwrap();
            let buffer = third.copy_from_slice(&[7u8; 100]).unwrap();
            let mut things: [Option<Box<dyn Send>>; 4] = [
                Some(Box::new(first)),
                Some(Box::new(second)),
                Some(Box::new(third)),
                Some(Box::new(Bytes(buffer))),
            ];
            for &at in &order {
                let thing = things[at].take();
                if on_threads {
                    std::thread::spawn(move || drop(thing)).join().unwrap();
                } else {
                    drop(thing);
                }
            }
            let left = Arc::into_inner(outstanding.unwrap()).map(AtomicU64::into_inner);
            assert_eq!(left, Some(0), "{order:?}");
        }
    }
}

/// Checks its bytes before it is dropped.
struct Bytes(Buffer);

impl Drop for Bytes {
    fn drop(&mut self) {
        assert_eq!(self.0.read().unwrap()[..], [7; 100]);
    }
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![vec![]] };
    let insert =
        |shorter: Vec<usize>| (0..count).map(move |at| [&shorter[..at], &[last], &shorter[at..]].concat());
    permutations(last).into_iter().flat_map(insert).collect()
}

#[test]
fn a_long_chain_goes_without_recursion() {
    // On a small stack, which is too small for a recursion over the pools.
    let thread = std::thread::Builder::new().stack_size(64 << 10);
    let run = || {
        let Root { pool, outstanding, .. } = root();
        let mut last = pool;
        for _ in 0..cases(50_000) {
            last = last.proxy("one of many").unwrap();
        }
        let buffer = last.zeroed(1).unwrap();
        drop(last);
        assert!(outstanding.as_ref().unwrap().load(Ordering::Relaxed) > 0);
        drop(buffer);
        assert_eq!(Arc::into_inner(outstanding.unwrap()).map(AtomicU64::into_inner), Some(0));
    };
    thread.spawn(run).unwrap().join().unwrap();
}
