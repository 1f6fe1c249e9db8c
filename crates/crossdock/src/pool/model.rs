//! The charge of a pool, chains of accounts, and the indexes of threads, in every interleaving
//! (loom).

use std::alloc::Layout;
use std::ptr::NonNull;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::{cell::UnsafeCell, thread};

use crate::memory::index_set::{INDEXED_THREADS, IndexSet};
use crate::pool::account::{Account, AccountPlan, AccountRef, Upstream, refund};
use crate::pool::charge::AccountCharge;
use crate::pool::source::{BlockSource, ByteAllocator};

/// Every interleaving in which threads are interrupted at most three times. With three threads,
/// checking all interleavings would take too long.
fn bounded(run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(run);
}

/// A core that records its release. It fails if a thread accesses it afterwards, or accessed it
/// before without synchronisation.
struct ModelCore {
    charge: std::cell::UnsafeCell<AccountCharge<2>>,
    /// Written by each thread that uses the core, and by the thread that frees it.
    lanes: [UnsafeCell<()>; 3],
    freed: AtomicUsize,
}

// SAFETY: the charge consists of atomics; only the thread that frees the core accesses it
// otherwise, which the model checker verifies.
unsafe impl Sync for ModelCore {}

impl ModelCore {
    fn charge(&self) -> &AccountCharge<2> {
        // SAFETY: the charge lies in `self` and is alive while `self` is borrowed; only
        // `end_credits` accesses it mutably.
        unsafe { &*self.charge.get() }
    }

    fn new(limit: u64) -> Self {
        let lanes = std::array::from_fn(|_| UnsafeCell::new(()));
        Self { charge: AccountCharge::contended(limit).into(), lanes, freed: AtomicUsize::new(0) }
    }

    fn touch(&self, thread: usize) {
        assert_eq!(self.freed.load(Ordering::Relaxed), 0, "the core is used after it was freed");
        self.lanes[thread].with_mut(|_| ());
    }

    fn free_if(&self, last: bool) {
        if last {
            self.lanes.iter().for_each(|lane| lane.with_mut(|_| ()));
            // SAFETY: the charge is alive as long as `self`; clause 1 of `end_credits` is what this
            // test checks.
            unsafe { AccountCharge::end_credits(self.charge.get()) };
            self.freed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Blocks are freed on several threads while the last handle is dropped. One of the threads frees
/// the core, and sees the effects of all, whatever credits contain.
#[test]
fn whoever_is_last_frees_the_core_once() {
    bounded(|| {
        let core = Arc::new(ModelCore::new(10));
        assert!(core.charge().take(0, 2).is_ok());
        assert!(core.charge().take(1, 3).is_ok());
        let threads = [(0, 2), (1, 3)].map(|(thread, units)| {
            let core = Arc::clone(&core);
            thread::spawn(move || {
                core.touch(thread);
                core.free_if(core.charge().give(thread, units));
            })
        });
        core.touch(2);
        core.free_if(core.charge().drop_handles());
        for thread in threads {
            thread.join().expect("no thread of the model panics");
        }
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}

/// The same for a thread whose credit is full. Last or not, it does not touch the credit once
/// another thread may have freed it.
#[test]
fn a_full_credit_is_not_touched_after_the_core_is_freed() {
    bounded(|| {
        let core = Arc::new(ModelCore::new(1000));
        assert!(core.charge().take(0, 192).is_ok());
        assert!(!core.charge().give(0, 64));
        assert!(!core.charge().give(0, 64));
        let other = Arc::clone(&core);
        let thread = thread::spawn(move || {
            other.touch(0);
            other.free_if(other.charge().give(0, 64));
        });
        core.touch(2);
        core.free_if(core.charge().drop_handles());
        thread.join().expect("no thread of the model panics");
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}

/// Threads that request more than there is: never more than the limit is in use, and refused units
/// are not counted.
#[test]
fn the_limit_is_never_exceeded() {
    bounded(|| {
        const LIMIT: usize = 4;
        let core = Arc::new(ModelCore::new(LIMIT as u64));
        let out = Arc::new(AtomicUsize::new(0));
        let run = |thread_index: usize, units: usize, core: &ModelCore, out: &AtomicUsize| {
            for _ in 0..2 {
                if core.charge().take(thread_index, units as u64).is_ok() {
                    let before = out.fetch_add(units, Ordering::Relaxed);
                    assert!(before + units <= LIMIT, "{} of {LIMIT}", before + units);
                    out.fetch_sub(units, Ordering::Relaxed);
                    core.free_if(core.charge().give(thread_index, units as u64));
                }
            }
        };
        let thread = {
            let (core, out) = (Arc::clone(&core), Arc::clone(&out));
            thread::spawn(move || run(0, 2, &core, &out))
        };
        run(1, 3, &core, &out);
        thread.join().expect("no thread of the model panics");
        core.free_if(core.charge().drop_handles());
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}

/// A limit that suffices for all threads refuses none, whatever is in flight or in credits.
#[test]
fn what_fits_is_not_refused() {
    bounded(|| {
        let core = Arc::new(ModelCore::new(4));
        let other = Arc::clone(&core);
        let run = |thread_index: usize, core: &ModelCore| {
            for _ in 0..2 {
                assert!(core.charge().take(thread_index, 2).is_ok());
                core.free_if(core.charge().give(thread_index, 2));
            }
        };
        let thread = thread::spawn(move || run(0, &other));
        run(1, &core);
        thread.join().expect("no thread of the model panics");
        core.free_if(core.charge().drop_handles());
        assert_eq!(core.freed.load(Ordering::Relaxed), 1);
    });
}

/// The record of a source: which threads used it, and how often it was dropped.
struct Traces {
    lanes: [UnsafeCell<()>; 3],
    dropped: AtomicUsize,
}

/// A source without memory, at the end of a chain of real accounts. It is dropped with the last
/// account, and must then see the effects of all threads before their release.
struct Probe(Arc<Traces>);

// SAFETY: the cells are those of the model checker, which reports unordered accesses of two threads
// as failures.
unsafe impl Send for Probe {}
// SAFETY: the cells are those of the model checker, which fails the test if two threads access one
// without order.
unsafe impl Sync for Probe {}

impl ByteAllocator for Probe {
    unsafe fn allocate(&self, _: Layout, _: bool) -> Option<NonNull<u8>> {
        None
    }

    unsafe fn deallocate(&self, _: NonNull<u8>, _: Layout) {}

    unsafe fn reallocate(&self, _: NonNull<u8>, _: Layout, _: usize) -> Option<NonNull<u8>> {
        None
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.lanes.iter().for_each(|lane| lane.with_mut(|_| ()));
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// An account over another one, which stays with the caller.
fn over(account: &AccountRef) -> AccountRef {
    let upstream = Upstream::Account(account.clone().into_counted());
    AccountRef::open(AccountPlan::new("over", upstream)).expect("there is memory")
}

/// A block without memory, which is charged.
struct Charged(NonNull<Account>);

// SAFETY: the account consists of atomics and constants, and its charge may be refunded on any
// thread.
unsafe impl Send for Charged {}

impl Charged {
    fn new(account: &AccountRef) -> Self {
        account.account().charge(INDEXED_THREADS, 64).expect("there is no limit");
        Self(NonNull::from(account.account()))
    }

    fn give_back(self) {
        // SAFETY: clause 1 of `refund`: `new` charged the account for 64 bytes. Clause 2: the block
        // has no memory; the value is consumed.
        unsafe { refund(self.0, INDEXED_THREADS, 64) }
    }
}

/// A chain of three accounts: a block of the lowest is freed while the last handles of the lowest
/// and of the middle one are dropped, each on its own thread. Each account is freed once, and the
/// source with the last. The freeing thread sees the effects of all.
#[test]
fn a_chain_comes_apart_in_any_order() {
    bounded(|| {
        let lanes = std::array::from_fn(|_| UnsafeCell::new(()));
        let traces = Arc::new(Traces { lanes, dropped: AtomicUsize::new(0) });
        let source = BlockSource::foreign(Box::new(Probe(Arc::clone(&traces))));
        let root =
            AccountRef::open(AccountPlan::new("root", Upstream::Source(source))).expect("there is memory");
        let middle = over(&root);
        let lowest = over(&middle);
        drop(root);
        let block = Charged::new(&lowest);
        let threads = {
            let (ours, others) = (Arc::clone(&traces), Arc::clone(&traces));
            let giving = thread::spawn(move || {
                ours.lanes[0].with_mut(|_| ());
                block.give_back();
            });
            let dropping = thread::spawn(move || {
                others.lanes[1].with_mut(|_| ());
                drop(middle);
            });
            [giving, dropping]
        };
        traces.lanes[2].with_mut(|_| ());
        drop(lowest);
        for thread in threads {
            thread.join().expect("no thread of the model panics");
        }
        assert_eq!(traces.dropped.load(Ordering::Relaxed), 1);
    });
}

/// A thread's index is unique, and what was done under it is visible to the next thread that has
/// it.
#[test]
fn an_index_goes_from_thread_to_thread_with_what_was_done_under_it() {
    bounded(|| {
        let indexes = Arc::new(IndexSet::new());
        let lanes: Arc<[UnsafeCell<()>; 3]> = Arc::new(std::array::from_fn(|_| UnsafeCell::new(())));
        let run = |indexes: &IndexSet, lanes: &[UnsafeCell<()>; 3]| {
            let index = indexes.take().expect("there are more indexes than threads");
            lanes[index].with_mut(|_| ());
            // SAFETY: clause 1 of `give`: this thread took the index above, and is done with it.
            unsafe { indexes.give(index) };
        };
        let threads = [(); 2].map(|()| {
            let (indexes, lanes) = (Arc::clone(&indexes), Arc::clone(&lanes));
            thread::spawn(move || run(&indexes, &lanes))
        });
        run(&indexes, &lanes);
        for thread in threads {
            thread.join().expect("no thread of the model panics");
        }
        assert_eq!(indexes.take(), Some(0), "all were given back");
    });
}
