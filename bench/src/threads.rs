//! A loop on two threads at once.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 2;
/// The number of operations before the clock runs, so that the one-time work of a thread's first
/// allocation is not timed.
const WARM_UP: usize = 256;

/// Runs `work(count)` on two threads. Returns the time from the common start until both
/// have ended, and the result.
///
/// # Panics
///
/// If the two threads have different results.
pub(crate) fn on_two(count: usize, work: impl Fn(usize) -> usize + Sync) -> (Duration, usize) {
    let warm_up = || work(WARM_UP);
    let ends = together(warm_up, || {
        let start = Instant::now();
        let sum = work(count);
        (start, Instant::now(), sum)
    });
    let [(first, first_end, sum), (second, second_end, other)] = ends;
    assert_eq!(sum, other, "the threads have different answers");
    (first_end.max(second_end) - first.min(second), sum)
}

/// Runs `work` on two threads that begin at the same moment, after `prepare` on each.
pub(crate) fn together<P, T: Send>(
    prepare: impl Fn() -> P + Sync,
    work: impl Fn() -> T + Sync,
) -> [T; THREADS] {
    let waiting = AtomicUsize::new(THREADS);
    let thread = || {
        prepare();
        waiting.fetch_sub(1, Ordering::AcqRel);
        while waiting.load(Ordering::Acquire) > 0 {
            spin_loop();
        }
        work()
    };
    thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(thread));
        threads.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
