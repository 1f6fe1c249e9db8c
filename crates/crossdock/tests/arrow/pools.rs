//! Sources of memory, and their accounts.

use std::time::Duration;

use crossdock::buffer::Buffer;
use crossdock::pool::{ALIGNMENT, AllocOptions, Pool};

use crate::numbers;

#[test]
fn the_default_pool_is_one_for_all_and_its_handle_is_counted() {
    let (first, second) = (Pool::default(), Pool::try_default().unwrap());
    let kept = first.zeroed(1 << 16).unwrap();
    assert!(second.statistics().live_nbytes >= 1 << 16);
    assert_eq!((first.name(), kept.pool_name()), ("default", Some("default")));
    drop((first, second));
    assert_eq!(kept.read().unwrap()[..3], [0; 3]);
}

#[test]
fn each_pool_over_the_system_counts_for_itself() {
    let (first, second) = (Pool::system().unwrap(), Pool::system().unwrap());
    let _kept = first.zeroed(100).unwrap();
    assert_eq!((first.statistics().live_count, second.statistics().live_count), (1, 0));
}

#[test]
fn a_pool_with_a_cache_of_its_own_has_a_limit_and_a_time() {
    let pool = Pool::caching(1 << 20, Duration::from_secs(3600)).unwrap();
    let address = {
        let first = pool.zeroed(1 << 20).unwrap();
        first.address()
    };
    assert!(pool.statistics().cached_nbytes >= 1 << 20);
    assert_eq!(pool.zeroed(1 << 20).unwrap().address(), address, "the same block again");
    drop(pool.zeroed(8 << 20).unwrap());
    assert!(pool.statistics().cached_nbytes <= 1 << 20, "more than the limit is not kept");
    pool.trim();
    assert_eq!(pool.statistics().cached_nbytes, 0);
}

#[test]
fn sizes_that_no_memory_has_are_errors_and_nothing_is_counted() {
    let pool = Pool::system().unwrap();
    for nbytes in [usize::MAX, usize::MAX - 63, isize::MAX as usize, isize::MAX as usize - 63] {
        assert!(pool.uninit(nbytes).unwrap_err().is_out_of_memory(), "{nbytes}");
        let over = AllocOptions::new().align(4096).uninit(&pool, nbytes);
        assert!(over.unwrap_err().is_out_of_memory(), "{nbytes}");
    }
    assert_eq!((pool.statistics().allocations, pool.statistics().live_nbytes), (0, 0));
}

#[test]
fn a_block_changes_its_size_and_keeps_bytes_and_alignment() {
    let pool = Pool::system().unwrap();
    let mut growing = AllocOptions::new().align(512).mutable(&pool, 10).unwrap();
    growing.extend_from_slice(&numbers(10)).unwrap();
    growing.reserve_exact(100_000).unwrap();
    assert_eq!(growing[..], numbers(10));
    assert!(growing.as_ptr().addr().is_multiple_of(512));
    growing.shrink_to_fit().unwrap();
    assert_eq!((&growing[..], growing.capacity()), (&numbers(10)[..], 64));
    let before = pool.statistics();
    assert!(growing.reserve_exact(isize::MAX as usize).unwrap_err().is_out_of_memory());
    assert_eq!((growing.capacity(), pool.statistics()), (64, before));
}

#[test]
fn memory_is_given_back_by_dropping_it_and_the_size_is_the_blocks_own() {
    let pool = Pool::system().unwrap();
    let mut growing = pool.mutable(1000).unwrap();
    growing.resize(10).unwrap();
    let whole = growing.freeze();
    let slice = whole.slice(1..2).unwrap();
    drop(whole);
    assert_eq!(pool.statistics().live_nbytes, 1024, "a slice of one byte keeps the block");
    drop(slice);
    assert_eq!((pool.statistics().live_nbytes, pool.statistics().live_count), (0, 0));
}

#[test]
fn trimming_says_how_many_bytes_it_gave_back_and_takes_none_that_are_used() {
    let pool = Pool::caching(64 << 20, Duration::from_secs(3600)).unwrap();
    let used = pool.copy_from_slice(&numbers(1 << 20)).unwrap();
    drop(pool.zeroed(1 << 20).unwrap());
    let cached = pool.statistics().cached_nbytes;
    assert!(cached >= 1 << 20);
    assert_eq!(pool.trim() as u64, cached);
    assert_eq!((pool.statistics().cached_nbytes, pool.trim()), (0, 0));
    assert!(used.read().unwrap()[..] == numbers(1 << 20));
    assert_eq!(Pool::system().unwrap().trim(), 0, "without a cache there is nothing to give back");
}

#[test]
fn statistics_are_a_value_and_a_pool_shows_its_chain() {
    let pool = Pool::system().unwrap().capped("outer", 1 << 20).unwrap();
    let _kept = pool.zeroed(100).unwrap();
    let statistics = pool.statistics();
    assert_eq!((statistics.live_count, statistics.limit_nbytes), (1, Some(1 << 20)));
    assert_eq!(format!("{pool:?}"), "Pool(outer of system, 128 bytes in use)");
}

#[test]
fn live_bytes_are_capacities() {
    let pool = Pool::system().unwrap();
    let kept = [pool.zeroed(1).unwrap(), pool.zeroed(65).unwrap()];
    assert_eq!(pool.statistics().live_nbytes, 64 + 128);
    drop(kept);
    assert_eq!(pool.statistics().live_nbytes, 0);
}

#[test]
fn the_peak_can_begin_anew() {
    let pool = Pool::system().unwrap();
    drop(pool.zeroed(1000).unwrap());
    assert_eq!(pool.statistics().peak_nbytes, 1024);
    let _kept = pool.zeroed(64).unwrap();
    pool.reset_peak();
    assert_eq!(pool.statistics().peak_nbytes, 64);
}

#[test]
fn the_total_is_what_blocks_began_with_and_what_they_grew_by() {
    let pool = Pool::system().unwrap();
    let mut growing = pool.mutable(64).unwrap();
    growing.resize(256).unwrap();
    growing.truncate(0);
    growing.shrink_to_fit().unwrap();
    assert_eq!(pool.statistics().total_nbytes, 256);
}

#[test]
fn blocks_and_their_growths_are_counted_apart() {
    let pool = Pool::system().unwrap();
    let mut growing = pool.mutable(64).unwrap();
    for nbytes in [64, 128, 128, 192] {
        growing.resize(nbytes).unwrap();
    }
    growing.truncate(1);
    growing.shrink_to_fit().unwrap();
    assert_eq!((pool.statistics().allocations, pool.statistics().growths), (1, 2));
}

#[test]
fn a_pool_and_its_buffers_have_a_name() {
    let pool = Pool::system().unwrap().proxy("pictures").unwrap();
    assert_eq!((pool.name(), pool.zeroed(1).unwrap().pool_name()), ("pictures", Some("pictures")));
    assert_eq!(Buffer::from_vec(vec![1u8]).unwrap().pool_name(), None);
}

#[test]
fn a_proxy_counts_its_own_and_the_pool_behind_it_everything() {
    let pool = Pool::system().unwrap();
    let proxy = pool.proxy("part").unwrap();
    let _kept = (pool.zeroed(64).unwrap(), proxy.zeroed(128).unwrap());
    assert_eq!((proxy.statistics().live_nbytes, pool.statistics().live_nbytes), (128, 192));
}

#[test]
fn a_logging_pool_counts_and_aligns_as_the_pool_behind_it() {
    let pool = Pool::system().unwrap();
    let logging = pool.logging("told").unwrap();
    let kept = AllocOptions::new().align(1024).zeroed(&logging, 1000).unwrap();
    assert!(kept.is_aligned_to(1024));
    assert_eq!((logging.statistics().live_nbytes, pool.statistics().live_nbytes), (1024, 1024));
}

#[test]
fn a_limit_is_reached_and_not_passed_and_the_error_has_the_numbers() {
    let pool = Pool::system().unwrap().capped("small", 1024).unwrap();
    let first = pool.zeroed(640).unwrap();
    let before = pool.statistics();
    let error = pool.zeroed(385).unwrap_err();
    assert!(error.is_out_of_memory());
    for number in ["1024", "640", "448"] {
        assert!(error.to_string().contains(number), "{error}");
    }
    assert_eq!(pool.statistics(), before);
    let second = pool.zeroed(384).unwrap();
    drop((first, second));
    assert!(pool.zeroed(1024).is_ok(), "what was given back can be had again");
}

#[test]
fn the_environment_chooses_the_default_pool_and_an_unknown_word_is_told() {
    const CHILD: &str = "CROSSDOCK_TEST_CHILD";
    const NAME: &str = "pools::the_environment_chooses_the_default_pool_and_an_unknown_word_is_told";
    if std::env::var_os(CHILD).is_some() {
        drop(Pool::default().zeroed(1 << 20).unwrap());
        println!("cached: {}", Pool::default().statistics().cached_nbytes > 0);
        return;
    }
    for (word, cached, is_told) in [
        ("system", "false", false),
        ("caching", "true", false),
        ("", "true", false),
        ("jemalloc", "true", true),
    ] {
        let child = crossdock_testkit::this_program()
            .args(["--exact", NAME, "--nocapture"])
            .env(CHILD, "1")
            .env("CROSSDOCK_POOL", word)
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        assert!(child.status.success() && out.contains(&format!("cached: {cached}")), "{word}: {out}{err}");
        assert_eq!(err.contains("CROSSDOCK_POOL=jemalloc"), is_told, "{word}: {err}");
    }
}

#[test]
fn the_environment_puts_guards_around_the_default_pools_blocks() {
    const CHILD: &str = "CROSSDOCK_TEST_CHILD";
    const NAME: &str = "pools::the_environment_puts_guards_around_the_default_pools_blocks";
    if std::env::var_os(CHILD).is_some() {
        let mut growing = Pool::default().mutable(64).unwrap();
        // SAFETY: the block has 64 bytes, and debug mode has filled them with its pattern.
        let byte = unsafe { growing.as_mut_ptr().read_volatile() };
        println!("poisoned: {}", byte == 0xCD);
        return;
    }
    let child = crossdock_testkit::this_program()
        .args(["--exact", NAME, "--nocapture"])
        .env(CHILD, "1")
        .env("CROSSDOCK_POOL_DEBUG", "1")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&child.stdout);
    assert!(out.contains("poisoned: true"), "{out}{}", String::from_utf8_lossy(&child.stderr));
}

#[test]
fn the_usual_alignment_is_64_bytes() {
    assert_eq!(ALIGNMENT, 64);
    for nbytes in [0, 1, 64, 1000, 1 << 20] {
        assert!(Pool::default().zeroed(nbytes).unwrap().is_aligned_to(ALIGNMENT));
    }
}
