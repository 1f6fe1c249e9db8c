//! The charge of a pool, in every interleaving (loom).

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::{cell::UnsafeCell, thread};

use crate::memory::pool::charge::Charge;

/// A core that notes who freed it, and fails where anybody touches it afterwards or touched it unseen before.
struct Core {
    charge: Charge,
    /// Written by whoever uses the core, and by whoever frees it.
    lanes: [UnsafeCell<()>; 3],
    freed: AtomicUsize,
}

impl Core {
    fn new(limit: u64) -> Self {
        let lanes = std::array::from_fn(|_| UnsafeCell::new(()));
        Self { charge: Charge::new(limit), lanes, freed: AtomicUsize::new(0) }
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

/// Blocks that are given back on several threads while the last handle goes: one of them frees the core, and sees what all did.
#[test]
fn whoever_is_last_frees_the_core_once() {
    loom::model(|| {
        let core = Arc::new(Core::new(10));
        assert!(core.charge.take(2).is_ok());
        assert!(core.charge.take(3).is_ok());
        let threads = [(0, 2), (1, 3)].map(|(thread, units)| {
            let core = Arc::clone(&core);
            thread::spawn(move || {
                core.touch(thread);
                core.free_if(core.charge.give(units));
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

/// Three threads that want more than there is: never more than the limit is out, and what was refused is not counted.
#[test]
fn the_limit_is_never_exceeded() {
    loom::model(|| {
        const LIMIT: usize = 5;
        let core = Arc::new(Core::new(LIMIT as u64));
        let out = Arc::new(AtomicUsize::new(0));
        let run = |units: usize, core: &Core, out: &AtomicUsize| {
            if core.charge.take(units as u64).is_ok() {
                let before = out.fetch_add(units, Ordering::Relaxed);
                assert!(before + units <= LIMIT, "{} of {LIMIT}", before + units);
                out.fetch_sub(units, Ordering::Relaxed);
                core.free_if(core.charge.give(units as u64));
            }
        };
        let threads = [2, 3].map(|units| {
            let (core, out) = (Arc::clone(&core), Arc::clone(&out));
            thread::spawn(move || run(units, &core, &out))
        });
        run(1, &core, &out);
        for thread in threads {
            thread.join().expect("no thread of the model panics");
        }
        core.free_if(core.charge.drop_handles());
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}

/// A limit that all of them fit under refuses nobody, whatever is in flight.
#[test]
fn what_fits_is_not_refused() {
    loom::model(|| {
        let core = Arc::new(Core::new(4));
        let other = Arc::clone(&core);
        let thread = thread::spawn(move || {
            assert!(other.charge.take(2).is_ok());
            other.free_if(other.charge.give(2));
        });
        assert!(core.charge.take(2).is_ok());
        core.free_if(core.charge.give(2));
        thread.join().expect("no thread of the model panics");
        core.free_if(core.charge.drop_handles());
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}
