//! Tests of the cache of mapped blocks.

// Other systems map no memory, so their pools have no cache.
#![cfg(any(unix, windows))]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Cache, MappedBlock, class_nbytes};
use crate::memory::header::Header;
use crate::memory::os::testing;
use crate::pool::hints::Hints;
use crate::pool::mapped::HUGE;

const MIB: usize = 1 << 20;
const HOUR: Duration = Duration::from_secs(3600);
/// How long to wait for the helper thread.
const PATIENCE: Duration = Duration::from_secs(20);

/// A mapped block and its size.
struct Block {
    base: NonNull<u8>,
    nbytes: usize,
    header: NonNull<Header>,
    zeroed: bool,
}

fn block(taken: Option<MappedBlock>, nbytes: usize) -> Block {
    let MappedBlock { base, header, zeroed, .. } = taken.expect("there is memory for a test");
    Block { base, nbytes: class_nbytes(nbytes).unwrap(), header, zeroed }
}

fn take(cache: &Cache, nbytes: usize) -> Block {
    block(cache.take(nbytes, Hints::new()), nbytes)
}

fn take_growing(cache: &Cache, nbytes: usize) -> Block {
    block(cache.take_growing(nbytes, Hints::new()), nbytes)
}

fn give(cache: &Cache, block: Block) {
    // SAFETY: clauses 1 and 2 of `Cache::give`: the block came from this cache with this size.
    // Clause 3: it is passed by value. Clause 4: the hints were common.
    unsafe { cache.give(block.base, block.nbytes, block.header, true) }
}

/// Resizes to the class of `nbytes`.
fn resize(cache: &Cache, block: &mut Block, nbytes: usize) {
    let new = class_nbytes(nbytes).unwrap();
    // SAFETY: clauses 1 and 2 of `Cache::resize`: the block came from this cache, and both sizes
    // are classes'. Clause 3: `&mut` excludes other access.
    let moved = unsafe { cache.resize(block.base, block.nbytes, new, Hints::new()) };
    block.base = moved.expect("there is memory for a test");
    block.nbytes = new;
}

fn bytes(block: &mut Block) -> &mut [u8] {
    // SAFETY: the block is a mapping of `nbytes` bytes, which the system initialised, and `&mut`
    // excludes other access.
    unsafe { std::slice::from_raw_parts_mut(block.base.as_ptr(), block.nbytes) }
}

/// A byte that distinguishes the positions of a block, one for each 256 bytes or so.
fn mark(at: usize) -> u8 {
    (at / 251) as u8 ^ (at / 65_521) as u8
}

fn write_marks(block: &mut Block, from: usize) {
    for (at, byte) in bytes(block).iter_mut().enumerate().skip(from).step_by(64) {
        *byte = mark(at);
    }
}

fn has_marks(block: &mut Block, nbytes: usize) -> bool {
    bytes(block)[..nbytes].iter().enumerate().step_by(64).all(|(at, &byte)| byte == mark(at))
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `child` in a fork of this process, and returns whether it succeeded. An alarm ends a child
/// that hangs.
///
/// Success is a signal: on an orderly exit, a leak checker would report the memory of threads that
/// the child does not have.
#[cfg(unix)]
fn in_child(child: impl FnOnce() -> bool) -> bool {
    let status = crossdock_testkit::status_of_child(|| {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).is_ok_and(|good| good) {
            testing::kill_this_process();
        }
        false
    });
    println!("the child ended with status {status:#x}");
    status == testing::KILLED
}

#[test]
fn a_block_is_had_again_by_whoever_asks_for_its_size() {
    let cache = Cache::new(64 * MIB, HOUR);
    let (first, second) = (take(&cache, MIB), take(&cache, MIB));
    let (older, newer, header) = (first.base, second.base, second.header);
    assert_eq!(cache.cached_nbytes(), 0);
    give(&cache, first);
    give(&cache, second);
    assert_eq!(cache.cached_nbytes(), 2 * MIB);
    let other = take(&cache, 3 * MIB);
    assert_eq!(cache.cached_nbytes(), 2 * MIB, "another size is another block");
    let again = take(&cache, MIB - 5000);
    assert_eq!((again.base, again.header, again.nbytes), (newer, header, MIB));
    let bottom = take(&cache, MIB);
    assert_eq!((bottom.base, cache.cached_nbytes()), (older, 0));
    give(&cache, again);
    give(&cache, bottom);
    give(&cache, other);
}

#[test]
fn new_blocks_are_zero_and_say_so_and_used_ones_do_not() {
    let cache = Cache::new(64 * MIB, HOUR);
    for nbytes in [1, 256 << 10, 2 * MIB, 5 * MIB + 1] {
        let mut block = take(&cache, nbytes);
        assert!(block.zeroed && block.nbytes >= nbytes);
        assert!(bytes(&mut block).iter().all(|&byte| byte == 0));
        bytes(&mut block).fill(7);
        give(&cache, block);
        let used = take(&cache, nbytes);
        assert!(!used.zeroed);
        give(&cache, used);
    }
}

#[test]
fn blocks_of_two_mib_begin_at_a_multiple_of_it_and_headers_at_one_of_64() {
    let cache = Cache::new(64 * MIB, HOUR);
    let sizes = [HUGE, HUGE + 1, 3 * HUGE, 10 * MIB + 77, HUGE - 1, 300 << 10];
    let blocks: Vec<Block> = sizes.iter().map(|&nbytes| take(&cache, nbytes)).collect();
    for block in &blocks {
        let alignment = if block.nbytes >= HUGE { HUGE } else { 4096 };
        assert!(block.base.addr().get().is_multiple_of(alignment), "{:p} of {}", block.base, block.nbytes);
        assert!(block.header.addr().get().is_multiple_of(64));
    }
    for block in blocks {
        give(&cache, block);
    }
}

#[test]
fn hints_are_taken_or_ignored() {
    let cache = Cache::new(64 * MIB, HOUR);
    let all = [
        Hints::new().huge(true),
        Hints::new().huge(false),
        Hints::new().node(0),
        Hints::new().node(u32::MAX),
        Hints::new().populate(true),
    ];
    for hints in all {
        give(&cache, take(&cache, 4 * MIB));
        let cached = cache.cached_nbytes();
        let mut block = block(cache.take(4 * MIB, hints), 4 * MIB);
        assert_eq!(block.zeroed, !hints.is_common(), "{hints:?}: only common memory comes from the cache");
        write_marks(&mut block, 0);
        assert!(has_marks(&mut block, 4 * MIB));
        // SAFETY: clauses 1 and 2 of `Cache::give`: the block came from this cache with this size.
        // Clause 3: it is not used again. Clause 4: `cacheable` is `is_common`.
        unsafe { cache.give(block.base, block.nbytes, block.header, hints.is_common()) };
        assert_eq!(cache.cached_nbytes(), cached);
    }
}

#[test]
fn what_exceeds_the_limit_pushes_out_the_oldest() {
    let cache = Cache::new(8 * MIB, HOUR);
    let blocks: Vec<Block> = (0..4).map(|_| take(&cache, 3 * MIB)).collect();
    let bases: Vec<NonNull<u8>> = blocks.iter().map(|block| block.base).collect();
    for block in blocks {
        give(&cache, block);
        assert!(cache.cached_nbytes() <= 8 * MIB);
    }
    assert_eq!(cache.cached_nbytes(), 6 * MIB);
    let kept = [take(&cache, 3 * MIB), take(&cache, 3 * MIB)];
    assert_eq!([kept[0].base, kept[1].base], [bases[3], bases[2]]);
    let large = take(&cache, 9 * MIB);
    for block in kept {
        give(&cache, block);
    }
    give(&cache, large);
    assert_eq!(cache.cached_nbytes(), 6 * MIB, "larger than the limit, it leaves the others alone");
    for (limit, quiet) in [(0, HOUR), (8 * MIB, Duration::ZERO)] {
        let none = Cache::new(limit, quiet);
        give(&none, take(&none, MIB));
        assert_eq!(none.cached_nbytes(), 0);
    }
}

#[test]
fn trim_gives_all_back_at_once() {
    let cache = Cache::new(64 * MIB, HOUR);
    let blocks = [take(&cache, MIB), take(&cache, 4 * MIB), take(&cache, 4 * MIB)];
    let bases = [blocks[0].base, blocks[1].base, blocks[2].base];
    for block in blocks {
        give(&cache, block);
    }
    assert_eq!((cache.trim(), cache.trim(), cache.cached_nbytes()), (9 * MIB, 0, 0));
    assert!(
        bases.iter().any(|&base| !testing::is_mapped(base, MIB)),
        "another test may have mapped some of them again"
    );
}

#[test]
fn what_nobody_asks_for_goes_back_without_a_call() {
    let cache = Cache::new(64 * MIB, Duration::from_millis(200));
    // Twice: the thread ends when nothing is left, and starts again.
    for _ in 0..2 {
        let mut block = take(&cache, 8 * MIB);
        write_marks(&mut block, 0);
        let base = block.base;
        give(&cache, block);
        wait_until("the block is unmapped", || !testing::is_mapped(base, 8 * MIB));
        assert_eq!(cache.cached_nbytes(), 0);
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_time_as_long_as_can_be_said_is_as_good_as_for_ever() {
    for quiet in [Duration::MAX, Duration::from_millis(u64::MAX), Duration::from_millis(u64::MAX - 100)] {
        let cache = Cache::new(64 * MIB, quiet);
        give(&cache, take(&cache, MIB));
        // The thread has looked at all caches twice when it has released these.
        for _ in 0..2 {
            let other = Cache::new(64 * MIB, Duration::from_millis(1));
            give(&other, take(&other, MIB));
            wait_until("the other cache is looked after", || other.cached_nbytes() == 0);
        }
        assert_eq!(cache.cached_nbytes(), MIB);
    }
}

#[test]
fn a_cache_is_dropped_with_blocks_in_it_while_the_thread_sleeps() {
    let other = Cache::new(64 * MIB, Duration::from_millis(100));
    give(&other, take(&other, MIB));
    for _ in 0..20 {
        let cache = Cache::new(64 * MIB, Duration::from_millis(1));
        for nbytes in [MIB, 2 * MIB, 3 * MIB] {
            give(&cache, take(&cache, nbytes));
        }
        std::thread::sleep(Duration::from_millis(3));
        // Moved while it holds content, too.
        let moved = Box::new(cache);
        give(&moved, take(&moved, MIB));
        drop(moved);
    }
    wait_until("the other cache is looked after", || other.cached_nbytes() == 0);
}

#[test]
fn resizing_keeps_bytes_and_alignment_in_place_and_elsewhere() {
    let cache = Cache::new(64 * MIB, HOUR);
    let mut block = take(&cache, 256 << 10);
    write_marks(&mut block, 0);
    let mut moved = 0;
    let mut obstacles = Vec::new();
    for nbytes in [300 << 10, MIB, 2 * MIB, 3 * MIB, 5 * MIB, 4 * MIB, 12 * MIB, 3 * MIB, MIB, 8 * MIB] {
        let (base, old) = (block.base, block.nbytes);
        // A block that may lie directly behind it.
        obstacles.push(take(&cache, 64 << 10));
        resize(&cache, &mut block, nbytes);
        assert!(has_marks(&mut block, old.min(nbytes)), "from {old} to {nbytes}");
        assert!(block.nbytes < HUGE || block.base.addr().get().is_multiple_of(HUGE));
        moved += usize::from(block.base != base);
        assert!(nbytes > old || block.base == base, "shrinks in place");
        write_marks(&mut block, old.min(nbytes));
    }
    assert!(moved > 0, "no growth had to move");
    give(&cache, block);
    for obstacle in obstacles {
        give(&cache, obstacle);
    }
}

#[test]
fn a_growing_block_goes_on_into_what_is_left_of_a_cached_one() {
    let cache = Cache::new(64 * MIB, HOUR);
    let large = take(&cache, 16 * MIB);
    let base = large.base;
    give(&cache, large);
    let mut block = take_growing(&cache, 256 << 10);
    assert_eq!((block.base, block.nbytes, block.zeroed), (base, 256 << 10, false));
    assert_eq!(cache.cached_nbytes(), 16 * MIB - (256 << 10));
    write_marks(&mut block, 0);
    for nbytes in [MIB, 4 * MIB, 3 * MIB, 16 * MIB, 5 * MIB] {
        let old = block.nbytes;
        resize(&cache, &mut block, nbytes);
        assert_eq!(block.base, base, "in place");
        assert!(has_marks(&mut block, old.min(nbytes)));
        write_marks(&mut block, old.min(nbytes));
        let rest = if nbytes == 5 * MIB { 0 } else { 16 * MIB - nbytes };
        assert_eq!(cache.cached_nbytes(), rest, "at {nbytes}");
    }
    give(&cache, block);
    assert_eq!(cache.cached_nbytes(), 5 * MIB);
}

#[test]
fn a_front_that_is_given_back_is_one_block_with_what_is_left() {
    let cache = Cache::new(64 * MIB, HOUR);
    let large = take(&cache, 16 * MIB);
    let base = large.base;
    give(&cache, large);
    for steps in 0..3 {
        let mut block = take_growing(&cache, MIB);
        assert_eq!(block.base, base);
        for step in 0..steps {
            resize(&cache, &mut block, (2 + step) * MIB);
        }
        give(&cache, block);
        assert_eq!(cache.cached_nbytes(), 16 * MIB);
    }
    let whole = take(&cache, 16 * MIB);
    assert_eq!((whole.base, cache.cached_nbytes()), (base, 0));
    give(&cache, whole);
}

#[test]
fn a_front_outgrows_its_block_and_loses_its_rest() {
    let cache = Cache::new(64 * MIB, HOUR);
    give(&cache, take(&cache, 8 * MIB));
    let mut block = take_growing(&cache, MIB);
    write_marks(&mut block, 0);
    resize(&cache, &mut block, 10 * MIB);
    assert!(has_marks(&mut block, MIB));
    assert_eq!(cache.cached_nbytes(), 0);
    write_marks(&mut block, 0);
    give(&cache, block);

    let mut block = take_growing(&cache, MIB);
    assert_eq!(cache.trim(), 9 * MIB, "what is left goes like the rest");
    write_marks(&mut block, 0);
    resize(&cache, &mut block, 6 * MIB);
    assert!(has_marks(&mut block, MIB));
    give(&cache, block);
    assert_eq!(cache.cached_nbytes(), 6 * MIB);
}

#[cfg(unix)]
#[test]
fn out_of_memory_is_none_and_nothing_is_lost() {
    let good = in_child(|| {
        let cache = Cache::new(64 * MIB, HOUR);
        let mut block = take(&cache, 16 * MIB);
        give(&cache, take(&cache, MIB));
        write_marks(&mut block, 0);
        let limited = testing::limit_addresses(24 * MIB as u64);
        let refused =
            cache.take(32 * MIB, Hints::new()).is_none() && cache.take(usize::MAX, Hints::new()).is_none();
        // SAFETY: clauses 1 and 2 of `Cache::resize`: the block came from this cache with 16 MiB,
        // and both sizes are classes'. Clause 3: only this thread accesses it.
        let stuck = unsafe { cache.resize(block.base, 16 * MIB, 64 * MIB, Hints::new()) }.is_none();
        let unchanged = has_marks(&mut block, 16 * MIB);
        give(&cache, block);
        let cached = cache.cached_nbytes() == 16 * MIB;
        // Only memory that the cache releases makes room for this block.
        let other = cache.take(32 * MIB, Hints::new());
        let roomy = other.is_some() && cache.cached_nbytes() == 0;
        limited && refused && stuck && unchanged && cached && roomy
    });
    assert!(good);
}

/// Takes, writes, grows and releases blocks, and returns whether all bytes were kept.
fn use_it(cache: &Cache, random: &mut fastrand::Rng) -> bool {
    let nbytes = random.usize(1..3 * MIB);
    let growing = random.bool();
    let mut block = if growing { take_growing(cache, nbytes) } else { take(cache, nbytes) };
    let tag = random.u8(..);
    let corners = |block: &mut Block, nbytes: usize| [0, nbytes / 2, nbytes - 1].map(|at| bytes(block)[at]);
    for at in [0, nbytes / 2, nbytes - 1] {
        bytes(&mut block)[at] = tag;
    }
    let mut kept = true;
    if growing {
        resize(cache, &mut block, nbytes + random.usize(1..3 * MIB));
        bytes(&mut block).last_mut().into_iter().for_each(|byte| *byte = 1);
    }
    std::thread::yield_now();
    kept &= corners(&mut block, nbytes) == [tag; 3];
    give(cache, block);
    kept
}

#[test]
fn threads_never_share_a_block() {
    let seed = crossdock_testkit::seed();
    let cache = Cache::new(16 * MIB, Duration::from_millis(2));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed + thread);
                for round in 0..300 {
                    assert!(use_it(cache, &mut random), "thread {thread}, round {round}");
                    if round % 100 == 50 {
                        cache.trim();
                    }
                }
            });
        }
    });
    wait_until("all is given back", || cache.cached_nbytes() == 0);
}

#[cfg(unix)]
#[test]
fn a_child_uses_the_cache_while_threads_of_its_parent_were_in_it() {
    let seed = crossdock_testkit::seed();
    let cache = Cache::new(16 * MIB, Duration::from_millis(2));
    let over = AtomicBool::new(false);
    let good = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = fastrand::Rng::with_seed(seed);
            while !over.load(Ordering::Relaxed) {
                assert!(use_it(&cache, &mut random));
            }
        });
        let good = (0..20).all(|round| {
            in_child(|| {
                let mut random = fastrand::Rng::with_seed(seed + round);
                let used = (0..200).all(|_| use_it(&cache, &mut random));
                let begun = Instant::now();
                while cache.cached_nbytes() > 0 && begun.elapsed() < PATIENCE {
                    std::thread::sleep(Duration::from_millis(1));
                }
                used && cache.cached_nbytes() == 0
            })
        });
        over.store(true, Ordering::Relaxed);
        good
    });
    assert!(good);
}

#[cfg(unix)]
#[test]
fn a_child_gives_back_what_it_inherited_after_its_next_use() {
    let cache = Cache::new(64 * MIB, Duration::from_millis(300));
    give(&cache, take(&cache, 4 * MIB));
    let good = in_child(|| {
        let inherited = cache.cached_nbytes() == 4 * MIB;
        let used = take(&cache, MIB);
        let begun = Instant::now();
        while cache.cached_nbytes() > 0 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let gone = cache.cached_nbytes() == 0;
        give(&cache, used);
        inherited && gone
    });
    assert!(good);
}
