//! Runs on the current pool of `rayon`, which the program can choose with `ThreadPool::install`.

use rayon::prelude::*;

/// How many threads share work.
#[inline]
pub(crate) fn count() -> usize {
    rayon::current_num_threads()
}

/// Calls `work` with every number below `parts`, in any order and on several threads.
#[inline]
pub(crate) fn each(parts: usize, work: impl Fn(usize) + Sync) {
    match parts {
        0 => {}
        1 => work(0),
        _ => (0..parts).into_par_iter().with_max_len(1).for_each(&work),
    }
}
