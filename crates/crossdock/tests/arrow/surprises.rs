//! Surprises for users of Arrow, with a sound outcome.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crossdock::buffer::{Buffer, MutableBuffer};
use crossdock::device::fenced::Operation;
use crossdock::device::{self, Device, Effect, Moved, Signal};
use crossdock::memory::{Birth, DeviceKind, MapOptions, Place};
use crossdock::pool::{AllocOptions, Damage, Pool, take_damage};

use crate::{buffer, bytes, fenced, numbers};

// ===== places

#[test]
fn no_function_that_looks_at_bytes_follows_an_address_of_a_device() {
    let (_device, mut there) = fenced(100);
    let (here, pool) = (buffer(100), Pool::default());
    for error in [
        there.to_hex_string().unwrap_err(),
        there.to_text().unwrap_err(),
        there.equals(&here).unwrap_err(),
        here.equals(&there).unwrap_err(),
        there.equals_prefix(&here, 1).unwrap_err(),
        there.copy_slice(1..2, &pool).unwrap_err(),
        there.slice(1..).unwrap().ensure_alignment(64, &pool).unwrap_err(),
        there.read().unwrap_err(),
        there.pin().unwrap_err(),
        there.as_mut_slice().unwrap_err(),
        there.zero_padding().unwrap_err(),
        there.resize(101).unwrap_err(),
    ] {
        assert!(error.is_place() && error.to_string().contains("ext_dev:0"), "{error}");
    }
    assert!(format!("{there:?}").contains("100 bytes"));
    assert_eq!(bytes(&there), numbers(100));
}

#[test]
fn slices_and_parts_of_device_memory_are_device_memory() {
    let (device, there) = fenced(100);
    let slice = there.slice(10..20).unwrap();
    assert_eq!((slice.place(), slice.is_host(), slice.is_readonly()), (device.place(), false, false));
    assert!(slice.write().unwrap_err().is_place());
    drop(slice);
    for part in there.partition(&[0..50, 50..100]).unwrap() {
        assert_eq!((part.place(), part.is_readonly()), (device.place(), false));
        assert!(part.write().unwrap_err().is_place());
    }
}

#[test]
fn a_slice_of_pinned_memory_says_that_it_is_pinned() {
    let pinned = Place::new(DeviceKind::CUDA_HOST, 1);
    let mut storage = numbers(100);
    // SAFETY: the closure owns the vector of 100 bytes until the release, and only the buffer
    // accesses it.
    let whole = unsafe {
        let ptr = storage.as_mut_ptr();
        Buffer::from_foreign(ptr, 100, pinned, Birth::Sole, move || drop(storage))
    }
    .unwrap();
    assert_eq!(whole.slice(10..20).unwrap().place(), pinned);
    assert!(whole.partition(&[0..1, 5..9]).unwrap().iter().all(|part| part.place() == pinned));
}

#[test]
fn a_slice_waits_for_the_work_on_its_memory() {
    let (device, there) = fenced(100);
    let stream = device.stream().unwrap().unwrap();
    let room = Buffer::zeroed(100).unwrap();
    let early = room.slice(90..).unwrap();
    let paused = device.pause();
    there.copy_into_in(&room, &*stream).unwrap();
    let late = room.slice(0..10).unwrap();
    drop(room);
    assert_eq!((early.events().unwrap().len(), late.events().unwrap().len()), (1, 1));
    drop(paused);
    assert_eq!(early.read().unwrap()[..], numbers(100)[90..]);
    assert_eq!(late.read().unwrap()[..], numbers(100)[..10]);
}

#[test]
fn a_view_in_other_host_memory_is_the_same_bytes_and_says_who_is_charged() {
    let pool = Pool::system().unwrap();
    let (first, second) = (pool.proxy("first").unwrap(), pool.proxy("second").unwrap());
    let here = first.copy_from_slice(&numbers(100)).unwrap();
    let seen = here.map_to(&device::pool_memory(second.clone())).unwrap().unwrap();
    assert_eq!((seen.as_ptr(), seen.place()), (here.as_ptr(), Place::CPU));
    assert_eq!(seen.pool_name(), Some("first"), "nothing moved, and nothing says that it did");
    assert_eq!(second.statistics().allocations, 0);
}

#[test]
fn a_copy_is_not_the_way_out_of_a_view_that_failed() {
    let (device, there) = fenced(100);
    let pool = Pool::system().unwrap();
    let memory = device::pool_memory(pool.clone());
    let placed = there.map_or_copy_to(&memory).unwrap();
    assert_eq!(placed.moved, Moved::Copied { nbytes: 100 }, "a view cannot be, and that is said");
    device.set_mappable(true);
    device.fail(Operation::Map, 1);
    assert!(there.map_or_copy_to(&memory).unwrap_err().is_device(), "it can be, and failed");
    assert_eq!(pool.statistics().allocations, 1, "no second copy was made");
}

// ===== bounds

#[test]
fn a_million_nested_slices_are_one_memory_and_dropped_in_any_order() {
    const COUNT: usize = 1_000_000;
    let pool = Pool::system().unwrap();
    let mut chain = vec![pool.zeroed(COUNT + 1).unwrap()];
    for _ in 0..COUNT {
        let last = chain.last().unwrap();
        let next = last.slice(1..).unwrap();
        chain.push(next);
    }
    assert_eq!(pool.statistics().live_count, 1, "no slice takes memory of the pool");
    let last = chain.pop().unwrap();
    assert_eq!((last.nbytes(), last.address() - chain[0].address()), (1, COUNT));
    drop(chain);
    assert_eq!(last.read().unwrap()[..], [0]);
    drop(last);
    assert_eq!(pool.statistics().live_count, 0);
    // Each slice keeps only the memory, not the slice that it came from.
    let mut one = pool.zeroed(COUNT).unwrap();
    for _ in 0..COUNT - 1 {
        one = one.slice(1..).unwrap();
    }
    assert_eq!(one.nbytes(), 1);
}

#[test]
fn ranges_before_behind_and_around_the_end_are_errors_in_every_form() {
    let (here, pool) = (buffer(18), Pool::default());
    #[expect(clippy::reversed_empty_ranges, reason = "the refused ones")]
    let ranges = [(0..1000), (19..19), (10..8), (usize::MAX - 1..usize::MAX), (usize::MAX..1)];
    for range in ranges {
        assert!(here.slice(range.clone()).unwrap_err().is_bounds(), "{range:?}");
        assert!(here.copy_slice(range.clone(), &pool).unwrap_err().is_bounds(), "{range:?}");
        let rejected = buffer(18).partition(std::slice::from_ref(&range)).unwrap_err();
        assert!(rejected.error.is_bounds() && rejected.value.nbytes() == 18, "{range:?}");
    }
    assert_eq!(here.copy_slice(18.., &pool).unwrap().nbytes(), 0, "nothing at the end is something");
}

#[test]
fn an_error_of_a_slice_says_what_was_wrong_and_not_something_else() {
    let error = buffer(18).slice(20..).unwrap_err().to_string();
    assert_eq!(error, "bytes 20..18 are out of bounds for a buffer of 18 bytes");
}

#[test]
fn equality_beyond_the_end_is_false_for_the_same_buffer_too() {
    let here = buffer(10);
    for nbytes in [11, usize::MAX] {
        assert!(!here.equals_prefix(&here, nbytes).unwrap());
        assert!(!here.equals_prefix(&here.clone(), nbytes).unwrap());
    }
    let (_device, there) = fenced(10);
    assert!(!there.equals_prefix(&there, 11).unwrap());
}

// ===== who may write

#[test]
fn no_slice_or_part_of_constant_memory_can_be_written() {
    let mut constant = Buffer::from_static(b"constant").unwrap();
    assert!(constant.as_mut_slice().unwrap_err().is_read_only());
    let slice = constant.slice(1..3).unwrap();
    for error in
        [slice.write().unwrap_err(), slice.share().unwrap_err(), slice.mutable_address().unwrap_err()]
    {
        assert!(error.is_read_only(), "{error}");
    }
    drop(slice);
    for part in constant.partition(&[0..4, 4..8]).unwrap() {
        assert!(part.write().unwrap_err().is_read_only());
    }
}

#[test]
fn a_slice_of_memory_that_may_be_written_may_be_written() {
    let here = buffer(10);
    here.slice(1..3).unwrap().write().unwrap().copy_from_slice(&[8, 9]);
    assert_eq!(here.read().unwrap()[..4], [0, 8, 9, 21]);
}

#[test]
fn a_slice_of_a_writable_file_map_writes_the_file() {
    let path = std::env::temp_dir().join(format!("crossdock-arrow-{}", std::process::id()));
    std::fs::write(&path, b"0123456789").unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let map = Buffer::map(file, MapOptions::new().writable(true)).unwrap();
    map.slice(3..5).unwrap().share().unwrap().copy_from_slice(b"ab").unwrap();
    drop(map);
    let found = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(found, b"012ab56789");
}

#[test]
fn memory_of_another_owner_may_be_written_if_its_owner_says_so() {
    let mut storage = numbers(100);
    let ptr = storage.as_mut_ptr();
    // SAFETY: the closure owns the vector of 100 bytes until the release, and only the buffer
    // accesses it.
    let foreign =
        unsafe { Buffer::from_foreign(ptr, 100, Place::CPU, Birth::Sole, move || drop(storage)) }.unwrap();
    foreign.slice(10..).unwrap().write().unwrap()[0] = 0xAB;
    assert_eq!(foreign.read().unwrap()[10], 0xAB);
}

#[test]
fn a_buffer_is_never_null() {
    assert_eq!(size_of::<Option<Buffer>>(), size_of::<Buffer>(), "null is what `None` is");
    assert!(!Buffer::zeroed(0).unwrap().as_ptr().is_null());
}

#[test]
fn who_adopts_a_string_may_write_it_in_every_version() {
    let mut adopted = Buffer::from_string("text".to_owned()).unwrap();
    adopted.as_mut_slice().unwrap().make_ascii_uppercase();
    assert_eq!(adopted.to_text().unwrap(), "TEXT");
    assert!(Buffer::from_static(b"text").unwrap().is_readonly(), "what is constant is never written");
}

// ===== sizes

#[test]
fn a_buffer_that_somebody_looks_at_keeps_its_size_and_its_address() {
    let pool = Pool::system().unwrap();
    let mut here = pool.copy_from_slice(&numbers(100)).unwrap();
    let slice = here.slice(10..20).unwrap();
    let error = here.resize(100_000).unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert_eq!(slice.read().unwrap()[..], numbers(100)[10..20]);
    drop(slice);
    let pin = here.pin().unwrap();
    assert!(here.resize(0).unwrap_err().is_conflict());
    let rejected = here.try_into_mut().unwrap_err();
    assert_eq!(pin.to_vec(), numbers(100));
    drop(pin);
    assert_eq!(rejected.value.try_into_mut().unwrap()[..], numbers(100));
}

#[test]
fn a_size_set_twice_is_set_once() {
    let mut growing = Pool::default().mutable(1000).unwrap();
    for _ in 0..2 {
        growing.resize(60).unwrap();
        assert_eq!((growing.nbytes(), growing.capacity()), (60, 1024));
    }
    growing.reserve_exact(5).unwrap();
    assert_eq!(growing.capacity(), 1024);
}

#[test]
fn growing_by_little_steps_takes_few_blocks() {
    let pool = Pool::system().unwrap();
    let mut growing = pool.mutable(0).unwrap();
    for byte in 0..10_000u32 {
        growing.reserve(1).unwrap();
        growing.push(byte as u8).unwrap();
    }
    assert!(pool.statistics().growths <= 10, "{:?}", pool.statistics());
}

#[test]
fn nobody_sees_what_was_in_the_memory_before() {
    let pool = Pool::caching(64 << 20, std::time::Duration::from_secs(3600)).unwrap();
    for nbytes in [100, 4096, 1 << 20] {
        drop(pool.copy_from_slice(&vec![0xFFu8; nbytes]).unwrap());
        assert!(pool.zeroed(nbytes).unwrap().read().unwrap().iter().all(|&byte| byte == 0));
        drop(pool.copy_from_slice(&vec![0xFFu8; nbytes]).unwrap());
        let mut growing = pool.mutable(nbytes).unwrap();
        growing.resize(nbytes).unwrap();
        assert!(growing.iter().all(|&byte| byte == 0));
        growing.fill(0xFF);
        growing.truncate(1);
        growing.resize(nbytes).unwrap();
        assert!(growing[1..].iter().all(|&byte| byte == 0), "nor what it held itself");
        drop(growing);
        // Uninitialised memory is not a buffer, and yields no `u8`.
        let mut fresh = pool.uninit(nbytes).unwrap();
        let room: &mut [std::mem::MaybeUninit<u8>] = fresh.as_uninit_mut();
        assert_eq!(room.len(), nbytes);
    }
}

#[test]
fn a_narrow_window_that_grows_shows_zeros_and_not_what_was_behind_it() {
    let whole = Pool::system().unwrap().copy_from_slice(&[0xFFu8; 100]).unwrap();
    let mut window = whole.slice(0..10).unwrap();
    assert!(window.resize(100).unwrap_err().is_conflict());
    drop(whole);
    window.resize(100).unwrap();
    assert_eq!(window.read().unwrap()[..], [[0xFF; 10].to_vec(), vec![0; 90]].concat());
    window.resize(10).unwrap();
    let mut growing = window.try_into_mut().unwrap();
    growing[..].fill(0xEE);
    growing.resize(128).unwrap();
    assert_eq!(growing[10..], [0; 118]);
    growing.fill(0xFF);
    growing.truncate(10);
    let padding = growing.freeze();
    assert!((10..64).all(|at| {
        // SAFETY: `at` is below 64, so the byte belongs to the block, all of whose bytes were
        // written above.
        let byte = unsafe { padding.as_ptr().wrapping_add(at).read() };
        byte == 0
    }));
}

#[test]
fn a_size_that_cannot_be_had_changes_nothing() {
    let pool = Pool::system().unwrap().capped("small", 1024).unwrap();
    let mut growing = pool.mutable(100).unwrap();
    growing.extend_from_slice(&numbers(100)).unwrap();
    let (address, capacity) = (growing.as_ptr(), growing.capacity());
    for nbytes in [1025, isize::MAX as usize - 63, usize::MAX] {
        assert!(growing.resize(nbytes).unwrap_err().is_out_of_memory(), "{nbytes}");
        assert!(growing.reserve_discard(nbytes).unwrap_err().is_out_of_memory(), "{nbytes}");
    }
    assert_eq!((growing.as_ptr(), growing.capacity(), &growing[..]), (address, capacity, &numbers(100)[..]));
    let mut frozen = growing.freeze();
    assert!(frozen.resize(usize::MAX).unwrap_err().is_out_of_memory());
    assert_eq!(frozen.read().unwrap()[..], numbers(100));
}

#[test]
fn a_buffer_without_bytes_has_an_address_an_alignment_and_a_size() {
    for pool in [Pool::system().unwrap(), Pool::default(), Pool::default().proxy("empty").unwrap()] {
        for align in [64, 512, 4096] {
            let empty = AllocOptions::new().align(align).zeroed(&pool, 0).unwrap();
            assert!(!empty.as_ptr().is_null() && empty.is_aligned_to(align), "{align}");
            assert!(empty.read().unwrap().is_empty() && empty.equals(&empty.slice(0..0).unwrap()).unwrap());
            let mut growing = empty.try_into_mut().unwrap();
            growing.extend_from_slice(&numbers(100)).unwrap();
            assert!(growing.as_ptr().addr().is_multiple_of(align), "{align}");
        }
    }
}

// ===== pools

#[test]
fn a_buffer_outlives_every_handle_of_its_pool() {
    let kept = {
        let pool = Pool::system().unwrap();
        let capped = pool.capped("gone", 4096).unwrap();
        let logging = capped.logging("gone too").unwrap();
        drop((pool, capped));
        logging.copy_from_slice(&numbers(100)).unwrap()
    };
    let slice = kept.slice(50..).unwrap();
    drop(kept);
    std::thread::spawn(move || assert_eq!(slice.read().unwrap()[..], numbers(100)[50..])).join().unwrap();
    // The pool lives as long as it is needed: a growing buffer still obeys its limit.
    let mut growing = Pool::system().unwrap().capped("gone", 4096).unwrap().mutable(10).unwrap();
    assert!(growing.resize(5000).unwrap_err().is_out_of_memory());
    growing.resize(4096).unwrap();
}

#[test]
fn a_block_is_charged_to_its_pool_and_given_back_as_it_was_taken() {
    let pool = Pool::system().unwrap();
    {
        let mut growing = pool.mutable(100).unwrap();
        growing.resize(5000).unwrap();
        let mut frozen = growing.freeze();
        frozen.resize(10).unwrap();
        frozen.resize(9000).unwrap();
        let parts = frozen.partition(&[0..10, 100..9000]).unwrap();
        assert!(pool.statistics().live_nbytes >= 9000);
        drop(parts);
    }
    assert_eq!((pool.statistics().live_nbytes, pool.statistics().live_count), (0, 0));
}

#[test]
fn an_alignment_that_is_none_is_an_error_of_its_own_in_every_pool() {
    let pools = [
        Pool::system().unwrap(),
        Pool::default(),
        Pool::system().unwrap().guarded("guarded").unwrap(),
        Pool::system().unwrap().capped("small", 1 << 20).unwrap(),
        Pool::system().unwrap().logging("told").unwrap(),
    ];
    for pool in &pools {
        for align in [0, 63, 96, usize::MAX - 63] {
            for nbytes in [0, 1, 1 << 20] {
                let error = AllocOptions::new().align(align).uninit(pool, nbytes).unwrap_err();
                assert!(error.is_alignment() && !error.is_out_of_memory(), "{pool:?} {align}: {error}");
                assert!(error.to_string().contains(&align.to_string()), "{error}");
            }
        }
    }
}

#[test]
fn a_logging_pool_keeps_an_alignment_over_every_growth() {
    let logging = Pool::system().unwrap().logging("told").unwrap();
    for _ in 0..64 {
        let mut growing = AllocOptions::new().align(4096).mutable(&logging, 1).unwrap();
        for nbytes in [100, 5000, 1 << 20] {
            growing.resize(nbytes).unwrap();
            assert!(growing.as_ptr().addr().is_multiple_of(4096), "{nbytes}");
        }
    }
}

#[test]
fn a_limit_is_not_passed_once_in_600_000_operations_of_two_threads() {
    const LIMIT: usize = 8 << 10;
    const BLOCK: usize = 1 << 10;
    const OPERATIONS: usize = 300_000;
    static IN_USE: AtomicUsize = AtomicUsize::new(0);
    let pool = Pool::system().unwrap().capped("at the limit", LIMIT).unwrap();
    let (passed, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut held = Vec::new();
                for operation in 0..OPERATIONS {
                    // Up to seven blocks per thread, so that eight are not enough for two threads.
                    if held.len() < 7 && operation % 3 != 0 {
                        match pool.uninit(BLOCK) {
                            Ok(block) => {
                                // Counted after the allocation and until just before the release:
                                // never too many.
                                if IN_USE.fetch_add(BLOCK, Ordering::SeqCst) + BLOCK > LIMIT {
                                    passed.fetch_add(1, Ordering::Relaxed);
                                }
                                held.push(block);
                            }
                            Err(error) => {
                                assert!(error.is_out_of_memory());
                                refused.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    } else if let Some(block) = held.pop() {
                        IN_USE.fetch_sub(BLOCK, Ordering::SeqCst);
                        drop(block);
                    }
                }
                IN_USE.fetch_sub(BLOCK * held.len(), Ordering::SeqCst);
            });
        }
    });
    let (passed, refused) = (passed.into_inner(), refused.into_inner());
    println!("limit passed {passed} times, {refused} requests refused");
    assert_eq!(passed, 0);
    assert!(refused > 1000, "the limit was in the way {refused} times only");
    assert_eq!(pool.statistics().live_nbytes, 0);
}

#[test]
fn only_growing_is_counted_as_growth_and_the_name_says_so() {
    let pool = Pool::system().unwrap();
    let mut growing = pool.mutable(256).unwrap();
    growing.resize(256).unwrap();
    growing.resize(100).unwrap();
    growing.shrink_to_fit().unwrap();
    let statistics = pool.statistics();
    assert_eq!((statistics.allocations, statistics.growths), (1, 0));
}

#[test]
fn a_slice_takes_no_memory_and_a_buffer_one_block() {
    let pool = Pool::system().unwrap();
    let here = pool.zeroed(100).unwrap();
    let many: Vec<Buffer> = (0..100).map(|start| here.slice(start..).unwrap()).collect();
    assert_eq!((pool.statistics().allocations, many.len()), (1, 100));
    assert_eq!(size_of::<Buffer>(), 32);
}

#[test]
fn what_a_small_view_keeps_is_told_and_can_be_given_up() {
    let pool = Pool::system().unwrap();
    let view = pool.copy_from_slice(&vec![1u64; 1_000_000]).unwrap().slice(8..16).unwrap();
    assert_eq!((view.nbytes(), view.retained_nbytes()), (8, 8_000_000));
    let tight = view.compact(&pool).unwrap();
    assert_eq!((tight.retained_nbytes(), pool.statistics().live_nbytes), (64, 64));
    assert_eq!(tight.read().unwrap().as_slice_of::<u64>().unwrap(), [1]);
}

// ===== debug mode

/// Writes a byte at a distance from the beginning of a buffer of 100 bytes in debug mode. The
/// buffer is then dropped, and leaked if it is damaged.
fn damage_by_writing_at(at: isize) -> Option<Damage> {
    // The list of damage belongs to the process, so one thread damages at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = Pool::system().unwrap().guarded("guarded").unwrap();
    let here = pool.copy_from_slice(&[1u8; 100]).unwrap();
    let address = here.address();
    let target = here.as_ptr().cast_mut().wrapping_offset(at);
    // SAFETY: the byte belongs to the block or to its guards, which the pool allocated, and no
    // other code accesses it now.
    unsafe { target.write(0) };
    if (100..128).contains(&at) {
        // SAFETY: `target` is in the padding of the pool's block. The second write is needed
        // because padding is zero already.
        unsafe { target.write(7) };
    }
    drop(here);
    let found = take_damage();
    assert!(found.len() <= 1, "{found:?}");
    if let Some(Damage::Underflow { address: at, .. } | Damage::Overflow { address: at, .. }) = found.first()
    {
        assert_eq!(*at, address);
    }
    found.first().copied()
}

#[test]
fn a_write_inside_is_no_damage() {
    assert_eq!(damage_by_writing_at(0), None);
    assert_eq!(damage_by_writing_at(99), None);
}

#[test]
fn a_write_into_the_padding_is_found_at_its_byte_and_the_block_forgotten() {
    for at in [100, 101, 127] {
        match damage_by_writing_at(at) {
            Some(Damage::Overflow { nbytes: 100, behind, .. }) => assert_eq!(behind, at as usize - 100),
            other => panic!("{at}: {other:?}"),
        }
    }
}

#[test]
fn a_write_behind_the_block_is_found_also_far_behind_and_the_block_forgotten() {
    for at in [128, 135, 136, 190] {
        match damage_by_writing_at(at) {
            Some(Damage::Overflow { nbytes: 128, behind, .. }) => assert_eq!(behind, at as usize - 128),
            other => panic!("{at}: {other:?}"),
        }
    }
}

#[test]
fn a_write_in_front_of_the_block_is_found_and_the_block_forgotten() {
    for at in [-1, -8, -9] {
        match damage_by_writing_at(at) {
            Some(Damage::Underflow { nbytes: 128, before, .. }) => assert_eq!(before, at.unsigned_abs()),
            other => panic!("{at}: {other:?}"),
        }
    }
}

#[test]
fn debug_mode_fills_new_memory_through_and_through() {
    let pool = Pool::system().unwrap().guarded("guarded").unwrap();
    let mut fresh: MutableBuffer = pool.mutable(1000).unwrap();
    // SAFETY: debug mode has filled all 1000 bytes of the new block with its pattern.
    unsafe { fresh.set_nbytes(1000) };
    let first = fresh[0];
    assert!(first != 0 && fresh.iter().all(|&byte| byte == first), "not only the first and the last byte");
    assert_eq!(pool.zeroed(1000).unwrap().read().unwrap()[..], [0; 1000]);
}

// ===== events of users

#[test]
fn work_that_nobody_finishes_is_an_error_and_not_a_wait_for_ever() {
    let here = buffer(10);
    let (signal, completion) = Signal::new();
    here.note_event(signal, Effect::Writes).unwrap();
    drop(completion);
    assert!(here.slice(5..).unwrap().read().unwrap_err().is_device());
    assert!(here.settle().unwrap_err().is_device());
    assert_eq!(here.read().unwrap()[..], numbers(10));
}
