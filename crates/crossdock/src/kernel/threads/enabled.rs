//! Shares work between the caller and the helper threads.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::kernel::threads::{count_for, helpers};

/// Calls `work` with every number below `parts`, in any order and on several threads. The caller's
/// thread does not wait for helpers to start: it works until no part is left.
///
/// # Panics
///
/// With the first panic of `work`, once no thread runs it any more.
#[inline]
pub(crate) fn each(parts: usize, work: impl Fn(usize) + Sync) {
    share(parts, &work);
}

/// Not generic, so that each `work` is compiled once.
fn share(parts: usize, work: &(dyn Fn(usize) + Sync)) {
    let most = if parts < 2 { 0 } else { count_for(parts).min(parts) - 1 };
    if most == 0 {
        return (0..parts).for_each(work);
    }
    let shared = SharedWork::new(parts, work);
    helpers::work_with(&shared, most);
    if let Some(panic) = shared.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
}

/// One call of [`each`].
pub(super) struct SharedWork<'a> {
    work: &'a (dyn Fn(usize) + Sync),
    parts: usize,
    /// The first part that no thread has taken.
    next: AtomicUsize,
    /// The helpers at work, changed by [`helpers`] under its lock.
    pub(super) helpers: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> SharedWork<'a> {
    fn new(parts: usize, work: &'a (dyn Fn(usize) + Sync)) -> Self {
        let (next, helpers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { work, parts, next, helpers, panic: Mutex::new(None) }
    }

    pub(super) fn has_parts_left(&self) -> bool {
        self.next.load(Relaxed) < self.parts
    }

    /// Takes parts until none is left. A panic of the work is stored and ends the loop of every
    /// thread.
    pub(super) fn run(&self) {
        let parts = || {
            loop {
                let part = self.next.fetch_add(1, Relaxed);
                if part >= self.parts {
                    return;
                }
                (self.work)(part);
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(parts)) {
            self.next.store(self.parts, Relaxed);
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU8;

    use super::*;

    fn run(parts: usize, most: usize, work: impl Fn(usize) + Sync) -> Option<Box<dyn Any + Send>> {
        let shared = SharedWork::new(parts, &work);
        helpers::work_with(&shared, most);
        shared.panic.into_inner().unwrap()
    }

    #[test]
    fn every_part_runs_once() {
        for parts in [0, 1, 2, 1000] {
            let ran: Vec<AtomicU8> = (0..parts).map(|_| AtomicU8::new(0)).collect();
            assert!(run(parts, 3, |part| _ = ran[part].fetch_add(1, Relaxed)).is_none());
            assert!(ran.iter().all(|ran| ran.load(Relaxed) == 1));
        }
    }

    #[test]
    fn no_helper_uses_a_work_after_its_end() {
        // The counter of each work is on the stack of its caller, where the next work has another.
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..500 {
                        let (parts, sum) = (round % 7, AtomicUsize::new(0));
                        let work = |part| {
                            // Lets a helper take the next part.
                            std::thread::yield_now();
                            sum.fetch_add(part + 1, Relaxed);
                        };
                        assert!(run(parts, 3, work).is_none());
                        assert_eq!(sum.into_inner(), parts * (parts + 1) / 2);
                    }
                });
            }
        });
    }

    #[test]
    fn parts_may_have_parts() {
        let ran = AtomicUsize::new(0);
        each(20, |_| each(20, |_| _ = ran.fetch_add(1, Relaxed)));
        assert_eq!(ran.into_inner(), 400);
    }

    #[cfg(panic = "unwind")]
    #[test]
    fn a_panic_of_any_part_reaches_the_caller_when_no_thread_works_any_more() {
        for bad in [0, 7, 99] {
            let at_work = AtomicUsize::new(0);
            let panic = run(100, 3, |part| {
                at_work.fetch_add(1, Relaxed);
                if part == bad {
                    at_work.fetch_sub(1, Relaxed);
                    panic!("part {part}");
                }
                std::thread::yield_now();
                at_work.fetch_sub(1, Relaxed);
            });
            assert_eq!(at_work.into_inner(), 0);
            assert_eq!(*panic.unwrap().downcast::<String>().unwrap(), format!("part {bad}"));
        }
        let caught = catch_unwind(|| each(10, |part| assert_ne!(part, 5)));
        assert!(caught.is_err());
    }
}
