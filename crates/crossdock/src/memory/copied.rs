//! The counter of copied bytes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::memory::thread_index::{self, INDEXED_THREADS};

/// What threads with one index copied, one after the other.
///
/// Padded to two cache lines to avoid false sharing (adjacent-line prefetch loads lines in pairs).
///
/// # Invariants
///
/// 1. Only the thread that has the index writes it, so that loads and stores suffice.
#[repr(align(128))]
struct CopiedShard {
    count: AtomicU64,
    /// What the former threads copied.
    before: AtomicU64,
}

static SHARDS: [CopiedShard; INDEXED_THREADS] =
    [const { CopiedShard { count: AtomicU64::new(0), before: AtomicU64::new(0) } }; INDEXED_THREADS];

/// What threads without an index copied, which add to it atomically.
static CROWD: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// What this thread copied without its present index.
    static APART: Cell<u64> = const { Cell::new(0) };
}

impl CopiedShard {
    #[inline]
    fn add(&self, nbytes: u64) {
        self.count.store(self.count.load(Relaxed).wrapping_add(nbytes), Relaxed);
    }

    /// What the thread that has the index copied.
    fn here(&self) -> u64 {
        self.count.load(Relaxed).wrapping_sub(self.before.load(Relaxed))
    }
}

/// Prepares an index of this thread for the next thread that gets it.
pub(super) fn leave(thread_index: usize) {
    if let Some(shard) = SHARDS.get(thread_index) {
        APART.set(APART.get().wrapping_add(shard.here()));
        shard.before.store(shard.count.load(Relaxed), Relaxed);
    }
}

/// How many bytes of array data this library has copied since the process began, on all threads.
///
/// Every copy of array data goes through this counter, whether it was requested or permitted. So
/// "nothing was copied" is a measurement: the difference of two readings. Single elements that are
/// read or written by value do not count.
///
/// Adds up the counters of all threads: some 60 loads. If other threads copy meanwhile,
/// [`copied_bytes_here`] counts this thread's copies.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::memory::copied_bytes;
///
/// let before = copied_bytes();
/// let buffer = Buffer::from_vec(vec![0u8; 1000])?;
/// assert_eq!(copied_bytes(), before);
/// let other = Buffer::copy_from_slice(&buffer.read()?)?;
/// assert_eq!(copied_bytes(), before + 1000);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn copied_bytes() -> u64 {
    let sum = |sum: u64, shard: &CopiedShard| sum.wrapping_add(shard.count.load(Relaxed));
    SHARDS.iter().fold(CROWD.load(Relaxed), sum)
}

/// Like [`copied_bytes`], for calls on this thread, since the thread began.
///
/// A copy that is divided among worker threads counts on the thread that called it. What a device's
/// stream copies counts on the thread that reports its completion.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::memory::copied_bytes_here;
///
/// let (buffer, before) = (Buffer::from_vec(vec![0u8; 1000])?, copied_bytes_here());
/// let copy = || Buffer::copy_from_slice(&buffer.read()?);
/// std::thread::scope(|scope| scope.spawn(copy).join()).unwrap()?;
/// assert_eq!(copied_bytes_here(), before);
/// copy()?;
/// assert_eq!(copied_bytes_here(), before + 1000);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn copied_bytes_here() -> u64 {
    let here = SHARDS.get(thread_index::current()).map_or(0, CopiedShard::here);
    here.wrapping_add(APART.get())
}

/// Counts bytes of array data that were copied. The code that copies them calls it, with the number
/// that arrived.
///
/// For adapters: another library may have copied bytes on the way to an array, and those count,
/// too.
///
/// ```
/// use crossdock::Array;
/// use crossdock::memory::copied_bytes_here;
/// use crossdock::bindings::count_copied;
///
/// let picture = [1u8, 2, 3, 4];
/// let before = copied_bytes_here();
/// let pixels = picture.to_vec(); // as by a function that gives pixels only as a copy
/// count_copied(pixels.len());
/// let array = Array::from_vec(pixels, [2, 2])?;
/// assert_eq!(copied_bytes_here() - before, array.nbytes() as u64);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[inline]
pub fn count_copied(nbytes: usize) {
    let nbytes = nbytes as u64;
    match SHARDS.get(thread_index::current()) {
        Some(shard) => shard.add(nbytes),
        None => count_elsewhere(nbytes),
    }
}

#[cold]
#[inline(never)]
fn count_elsewhere(nbytes: u64) {
    match SHARDS.get(thread_index::claim()) {
        Some(shard) => shard.add(nbytes),
        None => {
            CROWD.fetch_add(nbytes, Relaxed);
            APART.set(APART.get().wrapping_add(nbytes));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;
    use std::sync::{Barrier, Mutex};
    use std::thread;

    use super::*;

    #[test]
    fn each_thread_counts_its_own_bytes_whoever_had_its_index_before() {
        for round in 1..=3 {
            let barrier = Barrier::new(INDEXED_THREADS + 8);
            let before = copied_bytes();
            thread::scope(|scope| {
                for number in 0..INDEXED_THREADS as u64 + 8 {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        assert_eq!(copied_bytes_here(), 0);
                        count_copied(3);
                        // All threads have an index, or none is left for them.
                        barrier.wait();
                        (0..number).for_each(|_| count_copied(round));
                        assert_eq!(copied_bytes_here(), 3 + number * round as u64);
                    });
                }
            });
            let threads = INDEXED_THREADS as u64 + 8;
            let counted = copied_bytes() - before;
            // Other tests may copy meanwhile.
            assert!(counted >= 3 * threads + round as u64 * threads * (threads - 1) / 2, "{counted} bytes");
        }
    }

    #[test]
    fn a_thread_that_ends_keeps_its_count_when_it_returns_its_index() {
        struct AtEnd;
        static LAST: Mutex<Vec<u64>> = Mutex::new(Vec::new());
        impl Drop for AtEnd {
            fn drop(&mut self) {
                count_copied(5);
                LAST.lock().unwrap().push(copied_bytes_here());
            }
        }
        thread_local!(static FIRST: RefCell<Option<AtEnd>> = const { RefCell::new(None) });
        thread_local!(static SECOND: RefCell<Option<AtEnd>> = const { RefCell::new(None) });
        thread::spawn(|| {
            // Destructors run in the reverse order of their registration, or in the same order: one
            // of them runs after the index was returned.
            FIRST.set(Some(AtEnd));
            count_copied(100);
            SECOND.set(Some(AtEnd));
        })
        .join()
        .unwrap();
        assert_eq!(*LAST.lock().unwrap(), [105, 110]);
    }
}
