//! The charge of a pool, in every interleaving (loom).

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::{cell::UnsafeCell, thread};

use crate::memory::pool::charge::Charge;

/// A core that notes who freed it, and fails where anybody touches it afterwards or touched it unseen before.
struct Core {
    charge: Charge<2>,
    /// Written by whoever uses the core, and by whoever frees it.
    lanes: [UnsafeCell<()>; 3],
    freed: AtomicUsize,
}

impl Core {
    fn new(limit: u64) -> Self {
        let lanes = std::array::from_fn(|_| UnsafeCell::new(()));
        Self { charge: Charge::contended(limit), lanes, freed: AtomicUsize::new(0) }
    }

    fn touch(&self, thread: usize) {
        assert_eq!(self.freed.load(Ordering::Relaxed), 0, "the core is used after it was freed");
        self.lanes[thread].with_mut(|_| ());
    }

    fn free_if(&self, last: bool) {
        if last {
            self.lanes.iter().for_each(|lane| lane.with_mut(|_| ()));
            self.freed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Runs a model in every interleaving with up to three preemptions.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Blocks that are given back on several threads while the last handle goes: one of them frees the core, and sees what all did,
/// whatever is in purses.
#[test]
fn whoever_is_last_frees_the_core_once() {
    check(|| {
        let core = Arc::new(Core::new(10));
        assert!(core.charge.take(0, 2).is_ok());
        assert!(core.charge.take(1, 3).is_ok());
        let threads = [(0, 2), (1, 3)].map(|(thread, units)| {
            let core = Arc::clone(&core);
            thread::spawn(move || {
                core.touch(thread);
                core.free_if(core.charge.give(thread, units));
            })
        });
        core.touch(2);
        core.free_if(core.charge.drop_handles());
        for thread in threads {
            thread.join().expect("no thread of the model panics");
        }
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}

/// Threads that want more than there is: never more than the limit is out, and what was refused is not counted.
#[test]
fn the_limit_is_never_exceeded() {
    check(|| {
        const LIMIT: usize = 4;
        let core = Arc::new(Core::new(LIMIT as u64));
        let out = Arc::new(AtomicUsize::new(0));
        let run = |slot: usize, units: usize, core: &Core, out: &AtomicUsize| {
            for _ in 0..2 {
                if core.charge.take(slot, units as u64).is_ok() {
                    let before = out.fetch_add(units, Ordering::Relaxed);
                    assert!(before + units <= LIMIT, "{} of {LIMIT}", before + units);
                    out.fetch_sub(units, Ordering::Relaxed);
                    core.free_if(core.charge.give(slot, units as u64));
                }
            }
        };
        let thread = {
            let (core, out) = (Arc::clone(&core), Arc::clone(&out));
            thread::spawn(move || run(0, 2, &core, &out))
        };
        run(1, 3, &core, &out);
        thread.join().expect("no thread of the model panics");
        core.free_if(core.charge.drop_handles());
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}

/// A limit that all of them fit under refuses nobody, whatever is in flight or in purses.
#[test]
fn what_fits_is_not_refused() {
    check(|| {
        let core = Arc::new(Core::new(4));
        let other = Arc::clone(&core);
        let run = |slot: usize, core: &Core| {
            for _ in 0..2 {
                assert!(core.charge.take(slot, 2).is_ok());
                core.free_if(core.charge.give(slot, 2));
            }
        };
        let thread = thread::spawn(move || run(0, &other));
        run(1, &core);
        thread.join().expect("no thread of the model panics");
        core.free_if(core.charge.drop_handles());
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}
