//! Requests that are too large: for a limit, from many threads, and for any memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossdock::buffer::Buffer;
use crossdock::pool::{AllocOptions, Pool};
use fastrand::Rng;

use crate::{cases, counting};

#[test]
fn threads_at_the_limit_never_exceed_it_and_what_they_give_back_is_there_again() {
    const LIMIT: u64 = 64 * 100;
    const ROUNDS: usize = 150_000;
    let pool = Pool::default().capped("hammered", LIMIT as usize).unwrap();
    let (in_use, refused, violations) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let rounds = cases(ROUNDS);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (pool, in_use, refused, violations) = (&pool, &in_use, &refused, &violations);
            scope.spawn(move || {
                let mut random = Rng::with_seed(thread);
                let mut kept: Vec<Buffer> = Vec::new();
                for _ in 0..rounds {
                    let nbytes = 64 * random.u64(1..30);
                    match pool.zeroed(nbytes as usize) {
                        Ok(buffer) => {
                            // Counted after the allocation, and subtracted before the release:
                            // never more than is in use.
                            let now = in_use.fetch_add(nbytes, Ordering::SeqCst) + nbytes;
                            violations.fetch_add(u64::from(now > LIMIT), Ordering::SeqCst);
                            kept.push(buffer);
                        }
                        Err(error) => {
                            assert!(error.is_out_of_memory());
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    while kept.len() > 2 || (!kept.is_empty() && random.u32(..3) == 0) {
                        let gone = kept.swap_remove(random.usize(..kept.len()));
                        in_use.fetch_sub(gone.nbytes() as u64, Ordering::SeqCst);
                    }
                }
                for gone in kept {
                    in_use.fetch_sub(gone.nbytes() as u64, Ordering::SeqCst);
                }
            });
        }
    });
    let (refused, violations) = (refused.into_inner(), violations.into_inner());
    println!("{} requests, {refused} refused, {violations} violations", 4 * rounds);
    // In fewer rounds, threads may end before the next one starts.
    assert!(rounds < ROUNDS || refused > rounds as u64 / 100, "the limit was hardly met: {refused}");
    assert_eq!(violations, 0);
    let now = pool.statistics();
    assert_eq!((now.live_nbytes, now.live_count), (0, 0));
    let all = pool.zeroed(LIMIT as usize).unwrap();
    assert!(pool.zeroed(0).unwrap_err().is_out_of_memory(), "an empty block is charged one unit");
    assert_eq!(pool.statistics().live_nbytes, LIMIT);
    drop(all);
}

#[test]
fn sizes_that_no_memory_has_are_errors_of_every_pool_and_change_nothing() {
    let system = Pool::system().unwrap();
    let caching = Pool::caching(1 << 20, Duration::from_secs(1)).unwrap();
    let pools = [
        Pool::default().proxy("of the default pool").unwrap(),
        system.clone(),
        caching.guarded("guarded").unwrap(),
        caching.clone(),
        system.guarded("guarded").unwrap().logging("logging").unwrap(),
        caching.capped("capped", usize::MAX).unwrap(),
        counting::root().pool,
    ];
    for pool in pools {
        let before = pool.statistics();
        for align in [1, 64, 4096] {
            let options = AllocOptions::new().align(align);
            for nbytes in
                [isize::MAX as usize, usize::MAX, usize::MAX - 63, isize::MAX as usize - 100, 1 << 62]
            {
                for error in [
                    options.zeroed(&pool, nbytes).unwrap_err(),
                    options.uninit(&pool, nbytes).map(drop).unwrap_err(),
                    options.mutable(&pool, nbytes).map(drop).unwrap_err(),
                ] {
                    assert!(error.is_out_of_memory(), "{pool:?}: {error}");
                    assert!(error.to_string().contains(&nbytes.to_string()), "{pool:?}: {error}");
                }
                let mut bytes = options.mutable(&pool, 100).unwrap();
                bytes.extend_from_slice(b"kept").unwrap();
                assert!(bytes.resize(nbytes).unwrap_err().is_out_of_memory());
                assert!(bytes.reserve(nbytes).unwrap_err().is_out_of_memory());
                assert!(bytes.reserve_exact(nbytes).unwrap_err().is_out_of_memory());
                assert!(bytes.reserve_discard(nbytes).unwrap_err().is_out_of_memory());
                assert_eq!((&bytes[..], bytes.capacity()), (&b"kept"[..], 128));
                let mut buffer = bytes.freeze();
                assert!(buffer.resize(nbytes).unwrap_err().is_out_of_memory());
                assert_eq!(&buffer.read().unwrap()[..], b"kept");
            }
            let mut empty = options.mutable(&pool, 0).unwrap();
            assert_eq!((empty.capacity(), empty.as_ptr().addr() % align), (0, 0));
            empty.shrink_to_fit().unwrap();
            empty.push(1u8).unwrap();
            assert_eq!(empty.freeze().nbytes(), 1);
        }
        for align in [0, 3, 8192, 1 << 40, usize::MAX] {
            let error = AllocOptions::new().align(align).zeroed(&pool, 1).unwrap_err();
            assert!(error.is_alignment() && error.to_string().contains(&align.to_string()), "{error}");
        }
        let now = pool.statistics();
        assert_eq!((now.live_nbytes, now.live_count), (before.live_nbytes, before.live_count), "{pool:?}");
    }
}
