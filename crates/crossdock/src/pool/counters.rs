//! Statistics without contention.
//!
//! Each thread adds to its own counters, by plain loads and stores; a reader adds up all of them.
//! Only the peak needs a global sum: a thread reports its gain or loss to the sum once it exceeds
//! [`BATCH`].
//!
//! Reasons: `DESIGN.md`, "Each thread has counters of its own".

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use crate::memory::thread_index::{self, INDEXED_THREADS};

/// The most bytes that a thread gains or loses before it reports them.
const BATCH: i64 = 64 << 10;

/// The statistics of a pool. Bytes are the capacities of blocks, without the allocator's overhead.
///
/// While no other thread allocates, the numbers are exact (except the peak). Otherwise they are
/// sums of values from different moments, and can include memory that was freed meanwhile. They can
/// then exceed a limit, although the limit holds. [`device::usage`](crate::device::usage) reports
/// the bytes in use on each place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Bytes in use.
    pub live_nbytes: u64,
    /// Blocks in use.
    pub live_count: u64,
    /// The most bytes that were ever in use, or since
    /// [`Pool::reset_peak`](crate::pool::Pool::reset_peak). Exact for a single thread; otherwise
    /// off by at most 64 KiB for each thread that takes part.
    pub peak_nbytes: u64,
    /// Bytes ever allocated: the initial sizes of blocks, and their growth.
    pub total_nbytes: u64,
    /// Blocks ever allocated.
    pub allocations: u64,
    /// The number of times that a block grew.
    pub growths: u64,
    /// Unused bytes that are kept mapped for the next request. Not included in `live_nbytes`.
    pub cached_nbytes: u64,
    /// The most bytes that can be in use, or `None` if the pool has no limit of its own.
    pub limit_nbytes: Option<u64>,
}

/// One thread's counters; one cache line.
///
/// # Invariants
///
/// 1. Only the thread that has the index writes it, so that loads and stores suffice. (Resetting
///    the peak writes `high` from outside; if both write, the peak is off by at most a thread's
///    unreported bytes.)
#[repr(align(64))]
struct CounterShard {
    allocated: AtomicU64,
    freed: AtomicU64,
    allocations: AtomicU64,
    frees: AtomicU64,
    growths: AtomicU64,
    /// The part of `allocated - freed` that the sum includes.
    told: AtomicI64,
    /// The most by which `allocated - freed` exceeded `told`, since that or the peak was last set.
    high: AtomicI64,
    /// `told + high`: once `allocated - freed` exceeds this, more than an addition is needed.
    mark: AtomicI64,
}

/// The statistics of one account.
pub(crate) struct Counters {
    shards: [CounterShard; INDEXED_THREADS],
    /// For threads without an index, which add to it atomically.
    crowd: CounterShard,
    sum: CounterSum,
}

#[repr(align(64))]
struct CounterSum {
    /// Bytes in use, as far as threads have reported them.
    live: AtomicI64,
    peak: AtomicI64,
}

impl CounterShard {
    const fn new() -> Self {
        Self {
            allocated: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            frees: AtomicU64::new(0),
            growths: AtomicU64::new(0),
            told: AtomicI64::new(0),
            high: AtomicI64::new(0),
            mark: AtomicI64::new(0),
        }
    }

    #[inline]
    fn balance(&self) -> i64 {
        self.allocated.load(Relaxed).wrapping_sub(self.freed.load(Relaxed)) as i64
    }

    /// What this thread has gained and not reported.
    fn ahead(&self) -> i64 {
        self.balance() - self.told.load(Relaxed)
    }
}

#[inline]
fn add(counter: &AtomicU64, more: u64) -> u64 {
    let sum = counter.load(Relaxed).wrapping_add(more);
    counter.store(sum, Relaxed);
    sum
}

impl Counters {
    /// All counters zero.
    pub(crate) const fn new() -> Self {
        Self {
            shards: [const { CounterShard::new() }; INDEXED_THREADS],
            crowd: CounterShard::new(),
            sum: CounterSum { live: AtomicI64::new(0), peak: AtomicI64::new(0) },
        }
    }

    /// Counts a new block. `thread_index` is the result of [`thread_index::current`].
    #[inline]
    pub(crate) fn allocated(&self, thread_index: usize, nbytes: usize) {
        match self.shards.get(thread_index) {
            Some(shard) => self.shard_allocated(shard, nbytes),
            None => self.allocated_elsewhere(nbytes),
        }
    }

    #[inline]
    fn shard_allocated(&self, shard: &CounterShard, nbytes: usize) {
        add(&shard.allocations, 1);
        self.gained(shard, nbytes);
    }

    #[cold]
    fn allocated_elsewhere(&self, nbytes: usize) {
        match self.shards.get(thread_index::claim()) {
            Some(shard) => self.shard_allocated(shard, nbytes),
            None => {
                self.crowd.allocations.fetch_add(1, Relaxed);
                self.crowd_gained(nbytes);
            }
        }
    }

    /// Counts a freed block. `thread_index` is the result of [`thread_index::current`].
    #[inline]
    pub(crate) fn freed(&self, thread_index: usize, nbytes: usize) {
        match self.shards.get(thread_index) {
            Some(shard) => self.shard_freed(shard, nbytes),
            None => self.freed_elsewhere(nbytes),
        }
    }

    #[inline]
    fn shard_freed(&self, shard: &CounterShard, nbytes: usize) {
        add(&shard.frees, 1);
        self.lost(shard, nbytes);
    }

    #[cold]
    fn freed_elsewhere(&self, nbytes: usize) {
        match self.shards.get(thread_index::claim()) {
            Some(shard) => self.shard_freed(shard, nbytes),
            None => {
                self.crowd.frees.fetch_add(1, Relaxed);
                self.crowd_lost(nbytes);
            }
        }
    }

    /// Counts a resize of a block.
    pub(crate) fn resized(&self, old_nbytes: usize, new_nbytes: usize) {
        let grown = new_nbytes.checked_sub(old_nbytes);
        match (self.shards.get(thread_index::claim()), grown) {
            (_, Some(0)) => {}
            (Some(shard), Some(more)) => {
                add(&shard.growths, 1);
                self.gained(shard, more);
            }
            (Some(shard), None) => self.lost(shard, old_nbytes - new_nbytes),
            (None, Some(more)) => {
                self.crowd.growths.fetch_add(1, Relaxed);
                self.crowd_gained(more);
            }
            (None, None) => self.crowd_lost(old_nbytes - new_nbytes),
        }
    }

    #[inline]
    fn gained(&self, shard: &CounterShard, nbytes: usize) {
        let allocated = add(&shard.allocated, nbytes as u64);
        let balance = allocated.wrapping_sub(shard.freed.load(Relaxed)) as i64;
        if balance > shard.mark.load(Relaxed) {
            self.rise(shard);
        }
    }

    #[inline]
    fn lost(&self, shard: &CounterShard, nbytes: usize) {
        let freed = add(&shard.freed, nbytes as u64);
        let balance = shard.allocated.load(Relaxed).wrapping_sub(freed) as i64;
        if balance < shard.told.load(Relaxed) - BATCH {
            self.tell(shard, shard.ahead());
        }
    }

    /// The thread has more than ever, or more unreported bytes than permitted.
    #[cold]
    fn rise(&self, shard: &CounterShard) {
        let ahead = shard.ahead();
        if ahead > BATCH {
            self.tell(shard, ahead);
        } else {
            shard.high.store(ahead, Relaxed);
            shard.mark.store(shard.told.load(Relaxed) + ahead, Relaxed);
        }
    }

    #[cold]
    fn tell(&self, shard: &CounterShard, ahead: i64) {
        let before = self.sum.live.fetch_add(ahead, Relaxed);
        self.sum.peak.fetch_max(before + shard.high.load(Relaxed).max(ahead), Relaxed);
        let told = shard.told.load(Relaxed) + ahead;
        shard.told.store(told, Relaxed);
        shard.high.store(0, Relaxed);
        shard.mark.store(told, Relaxed);
    }

    #[cold]
    fn crowd_gained(&self, nbytes: usize) {
        self.crowd.allocated.fetch_add(nbytes as u64, Relaxed);
        let live = self.sum.live.fetch_add(nbytes as i64, Relaxed) + nbytes as i64;
        self.sum.peak.fetch_max(live, Relaxed);
    }

    #[cold]
    fn crowd_lost(&self, nbytes: usize) {
        self.crowd.freed.fetch_add(nbytes as u64, Relaxed);
        self.sum.live.fetch_sub(nbytes as i64, Relaxed);
    }

    /// Adds up all counters. O(1) in the number of blocks: one cache line for each thread.
    pub(crate) fn read(&self) -> Statistics {
        let sum = |of: fn(&CounterShard) -> &AtomicU64| {
            let shards = self.shards.iter().chain(std::iter::once(&self.crowd));
            shards.fold(0u64, |sum, shard| sum.wrapping_add(of(shard).load(Relaxed)))
        };
        // Frees are read before allocations, so that no block is counted as freed but not as
        // allocated.
        let (freed, frees) = (sum(|shard| &shard.freed), sum(|shard| &shard.frees));
        let (total_nbytes, allocations) = (sum(|shard| &shard.allocated), sum(|shard| &shard.allocations));
        // Changes by other threads may still be seen in another order.
        let left = |came: u64, gone: u64| (came.wrapping_sub(gone) as i64).max(0) as u64;
        let live_nbytes = left(total_nbytes, freed);
        let high: i64 = self.shards.iter().map(|shard| shard.high.load(Relaxed)).sum();
        let peak = self.sum.peak.load(Relaxed).max(self.sum.live.load(Relaxed) + high).max(0) as u64;
        Statistics {
            live_nbytes,
            live_count: left(allocations, frees),
            peak_nbytes: peak.max(live_nbytes),
            total_nbytes,
            allocations,
            growths: sum(|shard| &shard.growths),
            cached_nbytes: 0,
            limit_nbytes: None,
        }
    }

    /// Resets the peak to what is in use now.
    pub(crate) fn reset_peak(&self) {
        let mut live = self.sum.live.load(Relaxed);
        for shard in &self.shards {
            let ahead = shard.ahead();
            shard.high.store(ahead, Relaxed);
            shard.mark.store(i64::MIN, Relaxed);
            live += ahead;
        }
        self.sum.peak.store(live, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_thread_is_counted_exactly() {
        let counters = Counters::new();
        counters.allocated(thread_index::current(), 128);
        counters.allocated(thread_index::current(), 64);
        counters.freed(thread_index::current(), 64);
        assert_eq!(
            counters.read(),
            Statistics {
                live_nbytes: 128,
                live_count: 1,
                peak_nbytes: 192,
                total_nbytes: 192,
                allocations: 2,
                ..Statistics::default()
            }
        );
        counters.resized(128, 192);
        counters.resized(192, 64);
        counters.resized(64, 64);
        let now = counters.read();
        assert_eq!((now.live_nbytes, now.total_nbytes, now.growths), (64, 256, 1));
        counters.freed(thread_index::current(), 64);
        assert_eq!((counters.read().live_nbytes, counters.read().live_count), (0, 0));
    }

    #[test]
    fn the_peak_is_exact_for_one_thread_whatever_the_sizes_and_can_be_set_back() {
        let counters = Counters::new();
        let mut random = fastrand::Rng::with_seed(7);
        let (mut live, mut peak, mut blocks) = (0, 0, Vec::new());
        for round in 0..20_000 {
            if random.bool() || blocks.is_empty() {
                let nbytes = 64 * random.usize(0..if round % 3 == 0 { 10_000 } else { 20 });
                counters.allocated(thread_index::current(), nbytes);
                blocks.push(nbytes);
                live += nbytes as u64;
                peak = live.max(peak);
            } else {
                let nbytes = blocks.swap_remove(random.usize(..blocks.len()));
                counters.freed(thread_index::current(), nbytes);
                live -= nbytes as u64;
            }
            let now = counters.read();
            assert_eq!((now.live_nbytes, now.peak_nbytes), (live, peak));
            if random.u32(..500) == 0 {
                counters.reset_peak();
                peak = live;
                assert_eq!(counters.read().peak_nbytes, peak);
            }
        }
    }

    #[test]
    fn many_threads_lose_nothing_and_the_peak_is_within_its_bounds() {
        let counters = Counters::new();
        let threads = INDEXED_THREADS + 6;
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..500 {
                        counters.allocated(thread_index::current(), 640);
                    }
                    for _ in 0..499 {
                        counters.freed(thread_index::current(), 640);
                    }
                });
            }
        });
        let now = counters.read();
        let threads = threads as u64;
        assert_eq!(now.live_nbytes, 640 * threads);
        assert_eq!((now.live_count, now.allocations), (threads, 500 * threads));
        assert!(now.peak_nbytes >= 500 * 640 && now.peak_nbytes <= 500 * 640 * threads + threads * 65_536);
    }
}
