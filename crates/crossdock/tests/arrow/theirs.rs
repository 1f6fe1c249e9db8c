//! The checks of Arrow's own tests; the page explains figures that differ.

use std::time::Duration;

use crossdock::buffer::{Buffer, BufferBuilder, MutableBuffer};
use crossdock::device::{self, Device};
use crossdock::memory::{Birth, Place};
use crossdock::pool::{AllocOptions, Pool};

use crate::{buffer, bytes, fenced, host, numbers};

/// A pool of each kind, by itself.
fn pools() -> Vec<Pool> {
    let system = Pool::system().unwrap();
    vec![
        Pool::caching(1 << 30, Duration::from_secs(3600)).unwrap(),
        Pool::system().unwrap().guarded("guarded").unwrap(),
        system.proxy("proxy").unwrap(),
        system.capped("capped", 1 << 40).unwrap(),
        system.logging("logging").unwrap(),
        system,
    ]
}

// ===== buffers

#[test]
fn memory_of_any_pool_is_the_hosts_and_may_go_before_its_pool() {
    let mut pool_names = vec![];
    for pool in pools() {
        let fresh = pool.zeroed(1024).unwrap();
        assert_eq!(fresh.nbytes(), 1024);
        assert!(std::sync::Arc::ptr_eq(&fresh.memory_manager().unwrap().unwrap(), &host()));
        pool_names.push(fresh.pool_name().unwrap());
        drop(fresh);
        assert_eq!(pool.statistics().live_nbytes, 0);
    }
    assert_eq!(pool_names, ["caching", "guarded", "proxy", "capped", "logging", "system"]);
    assert_eq!(Buffer::zeroed(1024).unwrap().pool_name(), Some("default"));
}

#[test]
fn large_buffers_are_compared_by_content_and_by_prefix() {
    let nbytes = 128 << 10;
    let (first, same) = (buffer(nbytes), buffer(nbytes));
    let other = Buffer::from_vec(vec![9u8; nbytes]).unwrap();
    assert!(first.equals(&same).unwrap() && !first.equals(&other).unwrap());
    // Two buffers at one address.
    let storage = numbers(nbytes);
    let ptr = storage.as_ptr().cast_mut();
    // SAFETY: `storage` has `nbytes` bytes and outlives both buffers, and no code writes it.
    let left = unsafe { Buffer::non_owned(ptr, nbytes, Place::CPU) }.unwrap();
    // SAFETY: `storage` has `nbytes` bytes and outlives both buffers, and no code writes it.
    let right = unsafe { Buffer::non_owned(ptr, nbytes, Place::CPU) }.unwrap();
    assert!(left.equals(&right).unwrap() && left.equals(&first).unwrap());
    let shorter = first.slice(0..nbytes - 1).unwrap();
    assert!(first.equals_prefix(&shorter, nbytes - 1).unwrap());
    assert!(!first.equals_prefix(&shorter, nbytes).unwrap());
}

#[test]
fn a_copied_part_has_padding_of_zeros_and_may_be_empty() {
    let pool = Pool::system().unwrap();
    let here = Buffer::from_static(b"some buffer data").unwrap();
    let copy = here.copy_slice(5..9, &pool).unwrap();
    assert_eq!(copy.read().unwrap()[..], *b"buff");
    for at in 4..copy.capacity() {
        // SAFETY: `at` is below the capacity, so the byte belongs to the block, whose padding the
        // pool has zeroed.
        assert_eq!(unsafe { copy.as_ptr().wrapping_add(at).read() }, 0, "{at}");
    }
    for empty in [here.copy_slice(0..0, &pool).unwrap(), here.copy_slice(16.., &pool).unwrap()] {
        assert_eq!(empty.nbytes(), 0);
    }
}

#[test]
fn a_slice_has_the_content_and_is_another_handle() {
    let mut here = buffer(100);
    assert!(here.is_exclusive());
    let slice = here.slice(5..9).unwrap();
    assert_eq!(slice.read().unwrap()[..], numbers(100)[5..9]);
    assert!(!here.is_exclusive());
    let error = here.as_mut_slice().unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("2 handles"), "{error}");
}

#[test]
fn what_is_written_through_a_wrap_is_in_what_was_wrapped() {
    let mut storage = vec![1i32, 2, 3];
    let ptr = storage.as_mut_ptr();
    {
        // SAFETY: `storage` has 12 bytes, outlives the buffer, and is only accessed through it
        // meanwhile.
        let wrapped = unsafe { Buffer::non_owned(ptr.cast(), 12, Place::CPU) }.unwrap();
        assert!(!wrapped.is_readonly() && wrapped.birth() == Birth::Aliased);
        wrapped.share().unwrap().store(4, -2i32).unwrap();
    }
    assert_eq!(storage, [1, -2, 3]);
}

#[test]
fn a_slice_for_writing_has_its_size_and_content() {
    let here = buffer(100);
    let slice = here.slice(5..9).unwrap();
    {
        let mut writing = slice.write().unwrap();
        assert_eq!(writing[..], numbers(100)[5..9]);
        writing.fill(0xEE);
    }
    let mut expected = numbers(100);
    expected[5..9].fill(0xEE);
    assert_eq!(here.read().unwrap()[..], expected);
}

#[test]
fn buffers_without_bytes_have_an_address_and_go_without_a_trace() {
    for pool in pools() {
        {
            let mut first = pool.zeroed(0).unwrap();
            let second = pool.mutable(0).unwrap().freeze();
            assert_eq!((first.nbytes(), second.nbytes()), (0, 0));
            assert!(!first.as_ptr().is_null() && first.as_mut_slice().unwrap().as_ptr() == first.as_ptr());
            assert_ne!(first.address(), second.address(), "each is a block of its own");
        }
        assert_eq!((pool.statistics().live_nbytes, pool.statistics().live_count), (0, 0));
    }
}

#[test]
fn a_buffer_made_empty_gives_its_memory_back_when_told_to_shrink() {
    for pool in pools() {
        let mut growing = pool.mutable(100_000).unwrap();
        growing.resize(100_000).unwrap();
        let used = pool.statistics().live_nbytes;
        growing.resize(0).unwrap();
        assert_eq!(pool.statistics().live_nbytes, used, "not before");
        growing.shrink_to_fit().unwrap();
        assert!(growing.is_empty() && growing.as_ptr().addr() >= 64, "an address that is one");
        assert!(pool.statistics().live_nbytes <= 64);
    }
}

#[test]
fn a_builder_has_the_capacities_that_were_asked_for() {
    let pool = Pool::system().unwrap();
    let mut builder = BufferBuilder::<u8>::over(pool.mutable(128).unwrap()).unwrap();
    builder.append_slice(b"some data").unwrap();
    assert_eq!(builder.capacity(), 128);
    builder.reserve(90).unwrap();
    assert_eq!(builder.capacity(), 128, "there was room");
    let mut bytes = builder.into_inner();
    bytes.shrink_to_fit().unwrap();
    assert_eq!(bytes.capacity(), 64);
    bytes.reserve(60).unwrap();
    assert_eq!(bytes.capacity(), 128);
    assert_eq!(bytes[..], *b"some data");
}

#[test]
fn a_builder_keeps_its_alignment_over_every_growth() {
    let pool = Pool::system().unwrap();
    let mut builder =
        BufferBuilder::<u8>::over(AllocOptions::new().align(512).mutable(&pool, 1).unwrap()).unwrap();
    let mut expected = vec![];
    for _ in 0..20 {
        let more = numbers(expected.len().max(9));
        builder.append_slice(&more).unwrap();
        expected.extend(more);
        assert!(builder.as_slice().as_ptr().addr().is_multiple_of(512));
    }
    assert!(builder.finish().read().unwrap()[..] == expected);
}

#[test]
fn finishing_keeps_the_capacity_or_not_as_told_also_when_empty() {
    for (content, capacity) in [(&b"abc"[..], 64), (b"", 64)] {
        let mut kept = MutableBuffer::with_capacity(1024).unwrap();
        kept.extend_from_slice(content).unwrap();
        let finished = kept.freeze();
        assert_eq!((finished.nbytes(), finished.capacity()), (content.len(), 1024));
        let mut shrunk = finished.try_into_mut().unwrap();
        shrunk.shrink_to_fit().unwrap();
        assert!(shrunk.capacity() <= capacity);
        assert_eq!(shrunk.freeze().read().unwrap()[..], *content);
    }
}

#[test]
fn builders_of_every_type_append_one_many_and_slices() {
    fn check<T: crossdock::memory::Pod + PartialEq + std::fmt::Debug>(values: [T; 4]) {
        let mut builder = BufferBuilder::<T>::new().unwrap();
        let mut model = vec![];
        for round in 0..50 {
            builder.append(values[round % 4]).unwrap();
            builder.append_n(round, values[(round + 1) % 4]).unwrap();
            builder.append_slice(&values).unwrap();
            model.push(values[round % 4]);
            model.resize(model.len() + round, values[(round + 1) % 4]);
            model.extend(values);
        }
        assert_eq!((builder.as_slice(), builder.len()), (&model[..], model.len()));
        assert!(builder.capacity() >= model.len());
        let finished = builder.finish();
        assert_eq!(finished.read().unwrap().as_slice_of::<T>().unwrap(), model);
    }
    check([1i16, -2, i16::MAX, 0]);
    check([1u32, 2, u32::MAX, 0]);
    check([1.5f64, -0.0, f64::MAX, f64::INFINITY]);
}

#[test]
fn sizes_follow_and_capacities_are_rounded_to_64() {
    let mut growing = MutableBuffer::new().unwrap();
    for (nbytes, capacity) in [(100, 128), (50, 128), (128, 128), (129, 192)] {
        growing.resize(nbytes).unwrap();
        assert_eq!((growing.nbytes(), growing.capacity()), (nbytes, capacity));
    }
    growing.truncate(50);
    growing.shrink_to_fit().unwrap();
    assert_eq!(growing.capacity(), 64);
    for (len, capacity) in [(50, 448), (100, 832)] {
        let mut doubles = BufferBuilder::<f64>::with_capacity(0).unwrap().into_inner();
        doubles.shrink_to_fit().unwrap();
        doubles.reserve_exact(len * 8).unwrap();
        assert_eq!(doubles.capacity(), capacity);
    }
}

#[test]
fn a_buffer_says_whether_it_may_be_written() {
    assert!(!Buffer::zeroed(10).unwrap().is_readonly());
    assert!(Buffer::from_static(b"constant").unwrap().is_readonly());
    assert!(Buffer::zeroed(10).unwrap().into_readonly().is_readonly());
}

#[test]
fn sizes_close_to_the_largest_are_out_of_memory_and_change_nothing() {
    let mut growing = MutableBuffer::new().unwrap();
    growing.resize(100).unwrap();
    for nbytes in [isize::MAX as usize - 63, isize::MAX as usize, usize::MAX] {
        assert!(growing.resize(nbytes).unwrap_err().is_out_of_memory());
    }
    assert_eq!((growing.nbytes(), growing.capacity()), (100, 128));
}

#[test]
fn copies_between_host_and_device_go_both_ways() {
    let (device, there) = fenced(1000);
    assert_eq!(there.place(), device.place());
    let back = there.copy_to(&host()).unwrap();
    assert_eq!((back.place(), back.read().unwrap().to_vec()), (Place::CPU, numbers(1000)));
    let again = there.copy_to(&device.memory()).unwrap();
    assert_ne!(again.address(), there.address());
    assert_eq!(bytes(&again), numbers(1000));
}

// ===== pools

#[test]
fn every_pool_counts_each_block_exactly() {
    for pool in pools() {
        let first = pool.uninit(100).unwrap();
        assert_eq!(pool.statistics().live_nbytes, 128, "{pool:?}");
        let second = pool.uninit(27).unwrap();
        assert_eq!(pool.statistics().live_nbytes, 192);
        drop(first);
        assert_eq!(pool.statistics().live_nbytes, 64);
        drop(second);
        assert_eq!(pool.statistics().live_nbytes, 0);
    }
}

#[test]
fn every_pool_is_out_of_memory_for_the_largest_sizes() {
    for pool in pools() {
        for nbytes in [isize::MAX as usize, isize::MAX as usize - 63, isize::MAX as usize - 127, usize::MAX] {
            assert!(pool.uninit(nbytes).unwrap_err().is_out_of_memory(), "{pool:?} {nbytes}");
            assert!(pool.zeroed(nbytes).unwrap_err().is_out_of_memory(), "{pool:?} {nbytes}");
        }
        assert_eq!(pool.statistics().live_count, 0);
    }
}

#[test]
fn every_pool_grows_and_shrinks_blocks_with_their_bytes() {
    for pool in pools() {
        let mut block = pool.mutable(10).unwrap();
        block.extend_from_slice(&numbers(10)).unwrap();
        for (nbytes, kept) in [(20, 10), (4 << 20, 20), (5 << 20, 4 << 20), (7, 7)] {
            block.resize(nbytes).unwrap();
            block.shrink_to_fit().unwrap();
            assert_eq!(pool.statistics().live_nbytes, block.capacity() as u64, "{pool:?} {nbytes}");
            assert_eq!(block[..10.min(nbytes)], numbers(10.min(nbytes)), "{pool:?} {nbytes}");
            assert!(block[10.min(nbytes)..kept].iter().all(|&byte| byte == 0));
        }
        drop(block);
        assert_eq!(pool.statistics().live_nbytes, 0);
    }
}

#[test]
fn every_pool_aligns_to_64_and_to_what_is_asked_for() {
    for pool in pools() {
        for nbytes in [0, 1, 100, 1 << 20] {
            assert!(pool.zeroed(nbytes).unwrap().is_aligned_to(64), "{pool:?} {nbytes}");
            assert!(AllocOptions::new().align(512).zeroed(&pool, nbytes).unwrap().is_aligned_to(512));
        }
    }
}

#[test]
fn trimming_any_pool_leaves_what_is_in_use() {
    for pool in pools() {
        let kept = pool.copy_from_slice(&numbers(1 << 20)).unwrap();
        drop(pool.zeroed(1 << 20).unwrap());
        let live = pool.statistics().live_nbytes;
        pool.trim();
        assert_eq!(pool.statistics().live_nbytes, live);
        assert!(kept.read().unwrap()[..] == numbers(1 << 20));
    }
}

#[test]
fn the_default_pool_is_the_same_each_time() {
    let kept = Pool::default().zeroed(3 << 20).unwrap();
    assert!(Pool::default().statistics().live_nbytes >= 3 << 20);
    assert_eq!((Pool::default().name(), kept.pool_name()), ("default", Some("default")));
    let memory = device::memory(Place::CPU).unwrap();
    assert!(memory.usage().live_nbytes >= 3 << 20, "it is what the processor's memory is of");
}

#[test]
fn statistics_follow_a_story() {
    let pool = Pool::system().unwrap();
    let numbers_of = |pool: &Pool| {
        let s = pool.statistics();
        (s.peak_nbytes, s.total_nbytes, s.live_nbytes, s.allocations, s.growths)
    };
    let mut first = pool.mutable(128).unwrap();
    let second = pool.zeroed(64).unwrap();
    drop(second);
    assert_eq!(numbers_of(&pool), (192, 192, 128, 2, 0));
    first.reserve_exact(192).unwrap();
    assert_eq!(numbers_of(&pool), (192, 256, 192, 2, 1));
    first.shrink_to_fit().unwrap();
    let (_, total, live, allocations, growths) = numbers_of(&pool);
    assert_eq!((total, allocations, growths), (256, 2, 1), "shrinking is no growth");
    assert!(live <= 64);
    drop(first);
    assert_eq!(pool.statistics().live_nbytes, 0);
}

#[test]
fn logging_and_proxy_pools_add_up() {
    let pool = Pool::system().unwrap();
    let (logging, proxy) = (pool.logging("told").unwrap(), pool.proxy("part").unwrap());
    let _kept = (logging.zeroed(128).unwrap(), proxy.zeroed(256).unwrap(), pool.zeroed(64).unwrap());
    drop(proxy.zeroed(1024).unwrap());
    let live = [&pool, &logging, &proxy].map(|pool| pool.statistics().live_nbytes);
    let peak = [&logging, &proxy].map(|pool| pool.statistics().peak_nbytes);
    assert_eq!((live, peak), ([448, 128, 256], [128, 1280]));
    assert_eq!(pool.statistics().total_nbytes, 448 + 1024);
}

#[test]
fn a_cap_judges_new_blocks_and_growth_by_what_they_add() {
    let pool = Pool::system().unwrap().capped("small", 1024).unwrap();
    let first = pool.zeroed(640).unwrap();
    let mut second = pool.mutable(384).unwrap();
    assert_eq!(pool.statistics().live_nbytes, 1024, "exactly the limit");
    let before = pool.statistics();
    assert!(pool.zeroed(1).unwrap_err().is_out_of_memory());
    assert!(second.reserve_exact(385).unwrap_err().is_out_of_memory());
    assert_eq!(pool.statistics(), before);
    drop(first);
    second.reserve_exact(1024).unwrap();
    assert_eq!((second.capacity(), pool.statistics().live_nbytes), (1024, 1024));
    drop(second);
    assert_eq!((pool.statistics().live_nbytes, pool.statistics().peak_nbytes), (0, 1024));
}
