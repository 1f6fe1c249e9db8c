//! Debug mode finds writes outside of blocks, and wrong releases.
//!
//! Guards are part of an allocator's block, so no sanitizer reports these writes. A damaged block
//! is not released: tests that leave one behind have `forgotten` in their names.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossdock::buffer::MutableBuffer;
use crossdock::pool::{AllocOptions, Damage, Pool, take_damage};

/// The list of damage belongs to the process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    take_damage();
    guard
}

/// Guarded pools over every source.
fn pools() -> Vec<Pool> {
    let caching = Pool::caching(1 << 24, Duration::from_secs(5)).unwrap();
    let roots = [Pool::system().unwrap(), caching, Pool::default()];
    let guarded = roots.iter().map(|root| root.guarded("guarded").unwrap());
    let below = Pool::system().unwrap().guarded("upper").unwrap().capped("lower", 1 << 24).unwrap();
    guarded.chain([below]).collect()
}

/// Changes one byte, `at` bytes behind the beginning (or in front of it).
fn corrupt(start: *const u8, at: isize) {
    let byte = std::ptr::with_exposed_provenance_mut::<u8>(start.expose_provenance().wrapping_add_signed(at));
    // SAFETY: callers pass an address in the block that the pool's allocator returned, guards
    // included.
    let before = unsafe { byte.read() };
    // SAFETY: callers pass an address in the block that the pool's allocator returned, guards
    // included.
    unsafe { byte.write(before.wrapping_add(1)) };
}

fn address(bytes: &MutableBuffer) -> usize {
    bytes.as_ptr().addr()
}

#[test]
fn a_byte_in_front_of_a_block_or_behind_it_is_reported_and_the_block_forgotten() {
    let _alone = alone();
    for pool in pools() {
        for nbytes in [0, 100, 1 << 20] {
            let capacity = nbytes_of(nbytes);
            for (distance, far) in [(0, 1), (17, 18), (63, 64)] {
                let bytes = pool.mutable(nbytes).unwrap();
                let at = address(&bytes);
                corrupt(bytes.as_ptr(), capacity as isize + distance);
                drop(bytes);
                let found = Damage::Overflow { address: at, nbytes: capacity, behind: distance as usize };
                assert_eq!(take_damage(), [found], "{pool:?}");
                let text = found.to_string();
                let expected =
                    format!("byte {} of the block of {capacity} bytes", capacity + distance as usize);
                assert!(text.contains(&expected) && text.contains(&format!("{at:#x}")), "{text}");

                let bytes = pool.mutable(nbytes).unwrap();
                let at = address(&bytes);
                corrupt(bytes.as_ptr(), -far);
                drop(bytes);
                let found = Damage::Underflow { address: at, nbytes: capacity, before: far as usize };
                assert_eq!(take_damage(), [found], "{pool:?}");
                assert!(found.to_string().contains(&format!("byte -{far} of")), "{found}");
            }
        }
        assert_eq!((pool.statistics().live_nbytes, pool.statistics().live_count), (0, 0));
    }
}

fn nbytes_of(nbytes: usize) -> usize {
    nbytes.next_multiple_of(64)
}

#[test]
fn damage_is_told_in_the_order_in_which_it_was_found_and_once_forgotten_blocks() {
    let _alone = alone();
    let pool = Pool::system().unwrap().guarded("guarded").unwrap();
    let (first, second) = (pool.mutable(64).unwrap(), pool.mutable(128).unwrap());
    let addresses = (address(&first), address(&second));
    corrupt(second.as_ptr(), 128);
    corrupt(second.as_ptr(), -1);
    corrupt(first.as_ptr(), 70);
    drop(first);
    drop(second);
    let expected = [
        Damage::Overflow { address: addresses.0, nbytes: 64, behind: 6 },
        Damage::Underflow { address: addresses.1, nbytes: 128, before: 1 },
        Damage::Overflow { address: addresses.1, nbytes: 128, behind: 0 },
    ];
    assert_eq!(take_damage(), expected);
    assert_eq!(take_damage(), []);
}

#[test]
fn a_byte_in_the_padding_is_reported_when_the_buffer_goes_grows_or_is_thawed() {
    let _alone = alone();
    for pool in pools() {
        let damage = |address, behind| Damage::Overflow { address, nbytes: 100, behind };
        let buffer = pool.zeroed(100).unwrap();
        let at = buffer.as_ptr().addr();
        corrupt(buffer.as_ptr(), 100);
        drop(buffer);
        assert_eq!(take_damage(), [damage(at, 0)]);

        let buffer = pool.zeroed(100).unwrap();
        let at = buffer.as_ptr().addr();
        corrupt(buffer.as_ptr(), 127);
        drop(buffer.try_into_mut().unwrap());
        assert_eq!(take_damage(), [damage(at, 27)]);

        let mut buffer = pool.zeroed(100).unwrap();
        let at = buffer.as_ptr().addr();
        corrupt(buffer.as_ptr(), 110);
        buffer.resize(300).unwrap();
        assert_eq!(take_damage(), [damage(at, 10)]);
        assert!(buffer.read().unwrap().iter().all(|&byte| byte == 0), "padding became bytes, which are zero");
        drop(buffer);
        assert_eq!(take_damage(), []);
    }
}

#[test]
fn growth_looks_at_the_guards_and_leaves_a_damaged_block_forgotten() {
    let _alone = alone();
    for pool in pools() {
        for (small, large) in [(64, 1000), (300 << 10, 1 << 20), (64, 1 << 20)] {
            let mut bytes = pool.mutable(small).unwrap();
            bytes.extend_from_slice(&[7u8; 40]).unwrap();
            let (at, capacity) = (address(&bytes), bytes.capacity());
            corrupt(bytes.as_ptr(), capacity as isize);
            bytes.reserve_exact(large).unwrap();
            assert_eq!(take_damage(), [Damage::Overflow { address: at, nbytes: capacity, behind: 0 }]);
            assert_eq!(bytes[..], [7; 40]);
            let capacity = bytes.capacity();
            let at = address(&bytes);
            corrupt(bytes.as_ptr(), capacity as isize + 1);
            drop(bytes);
            assert_eq!(take_damage(), [Damage::Overflow { address: at, nbytes: capacity, behind: 1 }]);
        }
    }
}

#[test]
fn guards_are_as_long_as_the_alignment_is_large_forgotten_blocks() {
    let _alone = alone();
    for pool in pools() {
        for align in [1, 64, 256, 4096] {
            let guard = align.max(64);
            for nbytes in [10, 1 << 20] {
                let bytes = AllocOptions::new().align(align).mutable(&pool, nbytes).unwrap();
                assert!(bytes.as_ptr().addr().is_multiple_of(guard));
                let (at, capacity) = (address(&bytes), bytes.capacity());
                corrupt(bytes.as_ptr(), (capacity + guard - 1) as isize);
                corrupt(bytes.as_ptr(), -(guard as isize));
                drop(bytes);
                let expected = [
                    Damage::Underflow { address: at, nbytes: capacity, before: guard },
                    Damage::Overflow { address: at, nbytes: capacity, behind: guard - 1 },
                ];
                assert_eq!(take_damage(), expected);
            }
        }
    }
}

#[test]
fn good_use_of_any_kind_is_not_reported_and_guards_are_not_charged() {
    let _alone = alone();
    let mut random = fastrand::Rng::with_seed(crossdock_testkit::seed());
    for pool in pools() {
        let before = pool.statistics();
        let mut kept = Vec::new();
        for _ in 0..300 {
            let align = 1 << random.u32(..13);
            let nbytes = [0, 1, 64, 1000, 300 << 10][random.usize(..5)];
            let options = AllocOptions::new().align(align);
            let zeroed = options.zeroed(&pool, nbytes).unwrap();
            assert!(zeroed.read().unwrap().iter().all(|&byte| byte == 0));
            let mut fresh = options.uninit(&pool, nbytes).unwrap();
            fresh.as_uninit_mut().iter_mut().for_each(|byte| _ = byte.write(1));
            // SAFETY: the loop above wrote every byte of the block.
            let fresh = unsafe { fresh.assume_init() };
            let mut growing = options.mutable(&pool, nbytes).unwrap();
            for _ in 0..random.usize(..4) {
                growing.extend_from_slice(&vec![3u8; random.usize(..2000)]).unwrap();
                growing.reserve(random.usize(..10_000)).unwrap();
                growing.shrink_to_fit().unwrap();
            }
            assert!(growing.iter().all(|&byte| byte == 3));
            assert!(growing.as_ptr().addr().is_multiple_of(align));
            let mut growing = growing.freeze();
            growing.resize(growing.nbytes() + random.usize(..300)).unwrap();
            kept.extend([zeroed, fresh, growing]);
            kept.truncate(20);
        }
        drop(kept.split_off(10));
        let capacities: usize = kept.iter().map(|buffer| buffer.capacity()).sum();
        assert_eq!(pool.statistics().live_nbytes - before.live_nbytes, capacities as u64);
        drop(kept);
        assert_eq!(take_damage(), []);
    }
}

#[cfg(feature = "allocator-api2-0_2")]
mod raw {
    use std::alloc::Layout;
    use std::ptr::NonNull;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use allocator_api2::alloc::{AllocError, Allocator};

    use super::{Damage, Pool, alone, corrupt, take_damage};

    fn layout(nbytes: usize, align: usize) -> Layout {
        Layout::from_size_align(nbytes, align).unwrap()
    }

    /// Never reuses a byte, and keeps released blocks readable.
    #[derive(Clone, Default)]
    struct Arena {
        given_back: Arc<AtomicUsize>,
        kept: Arc<super::Mutex<Vec<(usize, Layout)>>>,
    }

    // SAFETY: blocks come from the global allocator, and stay allocated and in place until the
    // arena goes.
    unsafe impl Allocator for Arena {
        fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
            allocator_api2::alloc::Global.allocate(layout)
        }

        unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
            self.given_back.fetch_add(1, Ordering::Relaxed);
            self.kept.lock().unwrap().push((block.as_ptr().expose_provenance(), layout));
        }
    }

    impl Drop for Arena {
        fn drop(&mut self) {
            if Arc::strong_count(&self.kept) == 1 {
                for (address, layout) in self.kept.lock().unwrap().drain(..) {
                    let block = NonNull::new(std::ptr::with_exposed_provenance_mut(address)).unwrap();
                    // SAFETY: `allocate` got the block from `Global` with this layout, and this is
                    // the last handle on the arena, so no pool uses it.
                    unsafe { allocator_api2::alloc::Global.deallocate(block, layout) };
                }
            }
        }
    }

    #[test]
    fn new_memory_and_memory_that_is_gone_have_their_patterns() {
        let _alone = alone();
        let arena = Arena::default();
        let pool = Pool::over("arena", arena.clone()).unwrap().guarded("guarded").unwrap();
        let mut fresh = pool.uninit(100).unwrap();
        let start = fresh.as_uninit_mut().as_mut_ptr().cast::<u8>();
        let address = start.expose_provenance();
        // SAFETY: the block has 100 bytes, and debug mode has filled them with its pattern.
        assert_eq!(unsafe { std::slice::from_raw_parts(start, 100) }, [0xCD; 100]);
        drop(fresh);
        assert_eq!(arena.given_back.load(Ordering::Relaxed), 1);
        let gone = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the arena keeps released blocks allocated, and debug mode has filled all 128
        // bytes.
        assert_eq!(unsafe { std::slice::from_raw_parts(gone, 128) }, [0xDD; 128]);

        let block = pool.allocate(layout(10, 1)).unwrap().cast::<u8>();
        // SAFETY: the pool allocated the block just before with 10 bytes, and debug mode has filled
        // them.
        assert_eq!(unsafe { std::slice::from_raw_parts(block.as_ptr(), 10) }, [0xCD; 10]);
        // SAFETY: the pool allocated the block above with this layout, and it is not used again.
        unsafe { pool.deallocate(block, layout(10, 1)) };
        // SAFETY: the arena keeps released blocks allocated, so the 10 bytes are still readable.
        assert_eq!(unsafe { std::slice::from_raw_parts(block.as_ptr(), 10) }, [0xDD; 10]);
        assert_eq!(take_damage(), []);
        drop(pool);
    }

    #[test]
    fn what_is_given_back_twice_or_was_never_taken_is_reported_and_nothing_else_happens() {
        let _alone = alone();
        for pool in super::pools() {
            let before = pool.statistics().live_nbytes;
            let block = pool.allocate(layout(100, 8)).unwrap().cast::<u8>();
            let address = block.addr().get();
            // SAFETY: the pool allocated the block above with this layout.
            unsafe { pool.deallocate(block, layout(100, 8)) };
            // SAFETY: a deliberate violation: debug mode finds the address among released blocks,
            // and reports it without an access.
            unsafe { pool.deallocate(block, layout(100, 8)) };
            let twice = Damage::NotTaken { address, given: 100, once: Some(100) };
            assert_eq!(take_damage(), [twice]);
            assert!(
                twice.to_string().contains("100 bytes") && twice.to_string().contains("twice"),
                "{twice}"
            );

            let mut ours = [0u64; 4];
            let never = NonNull::from(&mut ours).cast::<u8>();
            // SAFETY: a deliberate violation: debug mode does not know the address, and reports it
            // without an access.
            unsafe { pool.deallocate(never, layout(24, 8)) };
            let found = Damage::NotTaken { address: never.addr().get(), given: 24, once: None };
            assert_eq!(take_damage(), [found]);
            assert!(found.to_string().contains("24 bytes") && found.to_string().contains("never"), "{found}");
            // SAFETY: a deliberate violation: debug mode does not know the address, and refuses
            // without an access.
            assert!(unsafe { pool.grow(never, layout(24, 8), layout(48, 8)) }.is_err());
            assert_eq!(take_damage(), [found]);
            assert_eq!(pool.statistics().live_nbytes, before);
        }
    }

    #[test]
    fn another_size_alignment_or_pool_is_reported_with_both_and_the_right_one_still_works() {
        let _alone = alone();
        let pool = Pool::system().unwrap().guarded("ours").unwrap();
        let other = Pool::system().unwrap().guarded("theirs").unwrap();
        let block = pool.allocate(layout(100, 8)).unwrap().cast::<u8>();
        let address = block.addr().get();
        let given = [
            (&pool, layout(96, 8)),
            (&pool, layout(0, 8)),
            (&pool, layout(100, 4)),
            (&other, layout(100, 8)),
        ];
        for (pool, layout) in given {
            // SAFETY: a deliberate violation: debug mode compares pool and layout with the record
            // of the block, and only reports it.
            unsafe { pool.deallocate(block, layout) };
        }
        let expected = [
            Damage::WrongSize { address, taken: 100, given: 96 },
            Damage::WrongSize { address, taken: 100, given: 0 },
            Damage::WrongAlignment { address, taken: 8, given: 4 },
            Damage::WrongPool { address, taken: "ours", given: "theirs" },
        ];
        assert_eq!(take_damage(), expected);
        let text = expected[0].to_string();
        assert!(text.contains("100") && text.contains("96"), "{text}");
        assert!(expected[3].to_string().contains("`theirs`"), "{}", expected[3]);
        // SAFETY: a deliberate violation: debug mode compares the layout with the record of the
        // block, and only reports it.
        assert!(unsafe { pool.grow(block, layout(99, 8), layout(200, 8)) }.is_err());
        assert_eq!(take_damage(), [Damage::WrongSize { address, taken: 100, given: 99 }]);
        assert_eq!(pool.statistics().live_nbytes, 128);
        // SAFETY: the pool allocated the block above with this layout, and the wrong calls did not
        // release it.
        unsafe { pool.deallocate(block, layout(100, 8)) };
        assert_eq!((take_damage(), pool.statistics().live_nbytes), (vec![], 0));
    }

    #[test]
    fn bytes_around_a_block_of_a_collection_are_watched_forgotten_blocks() {
        let _alone = alone();
        for pool in super::pools() {
            for (nbytes, align) in [(1, 1), (100, 8), (100, 4096), (1 << 20, 16)] {
                let guard = align.max(64);
                let block = pool.allocate(layout(nbytes, align)).unwrap().cast::<u8>();
                assert!(block.addr().get().is_multiple_of(align));
                corrupt(block.as_ptr(), nbytes as isize);
                corrupt(block.as_ptr(), -(guard as isize));
                // SAFETY: the pool allocated the block above with this layout, and it is not used
                // again.
                unsafe { pool.deallocate(block, layout(nbytes, align)) };
                let address = block.addr().get();
                let expected = [
                    Damage::Underflow { address, nbytes, before: guard },
                    Damage::Overflow { address, nbytes, behind: 0 },
                ];
                assert_eq!(take_damage(), expected);
            }
        }
    }

    #[test]
    fn collections_in_guarded_pools_are_as_any_and_leave_nothing() {
        let _alone = alone();
        for pool in super::pools() {
            let before = pool.statistics().live_nbytes;
            let mut numbers = allocator_api2::vec::Vec::new_in(pool.clone());
            for number in 0..1000u32 {
                numbers.push(number);
            }
            numbers.shrink_to_fit();
            numbers.truncate(10);
            numbers.shrink_to_fit();
            assert!((0..10).eq(numbers.iter().copied()));
            let boxed = allocator_api2::boxed::Box::new_in([7u8; 300], pool.clone());
            let nothing = allocator_api2::boxed::Box::new_in((), pool.clone());
            assert_eq!(boxed.len(), 300);
            drop((numbers, boxed, nothing));
            assert_eq!((take_damage(), pool.statistics().live_nbytes), (vec![], before));
        }
    }
}
