//! The lease word under the model checker: every pair of operations of two threads on it, in every
//! interleaving and with every reordering that the memory model permits. (Where
//! `LOOM_MAX_PREEMPTIONS` is set, in every interleaving with at most so many preemptions.)
//!
//! Cells stand for what the leases protect. They report any access that is not ordered against
//! another access that excludes it. Each thread has two lanes of its own:
//!
//! | holder of | exclusive access to | reads |
//! |---|---|---|
//! | Read | | the racy lane of every thread |
//! | Share | the racy lane of its thread | |
//! | Pin | the pin lane of its thread | |
//! | Write, exclusive handle, release | every lane | |
//!
//! So two Share leases, or two Pin leases, or Pin and Read, or Pin and Share, never access the same
//! lane, and every other pair does. The checker fails if the word lets them be held at once, or if
//! the end of one does not happen before the beginning of the other.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p crossdock-loom --release`.

use std::sync::atomic::{AtomicUsize, Ordering};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::memory::LeaseKind::{self, Pin, Read, Share, Write};
use crate::memory::word::LeaseWord;

const KINDS: [LeaseKind; 4] = [Read, Write, Share, Pin];
const MOST_THREADS: usize = 3;

/// An allocation without a header: the word, and cells in place of the bytes.
struct Model {
    word: LeaseWord,
    racy: [UnsafeCell<()>; MOST_THREADS],
    pins: [UnsafeCell<()>; MOST_THREADS],
    /// Outside the model (the checker runs one thread at a time): the number of releases.
    released: AtomicUsize,
}

// SAFETY: the cells of `loom` detect unordered accesses, which the test looks for; the other fields
// are atomics.
unsafe impl Send for Model {}
// SAFETY: the cells of `loom` report unordered accesses as failures of the test; the other fields
// are atomics.
unsafe impl Sync for Model {}

impl Model {
    fn new(aliased: bool) -> Self {
        Self {
            word: LeaseWord::new(aliased),
            racy: std::array::from_fn(|_| UnsafeCell::new(())),
            pins: std::array::from_fn(|_| UnsafeCell::new(())),
            released: AtomicUsize::new(0),
        }
    }

    fn assert_alive(&self) {
        assert_eq!(self.released.load(Ordering::Relaxed), 0, "the memory is used after its release");
    }

    fn access(&self, kind: LeaseKind, thread: usize) {
        self.assert_alive();
        match kind {
            Read => self.racy.iter().for_each(|lane| lane.with(|_| ())),
            Share => self.racy[thread].with_mut(|_| ()),
            Pin => self.pins[thread].with_mut(|_| ()),
            Write => self.access_all(),
        }
    }

    fn access_all(&self) {
        self.assert_alive();
        self.racy.iter().chain(&self.pins).for_each(|lane| lane.with_mut(|_| ()));
    }

    fn release_if(&self, last: bool) {
        if last {
            self.access_all();
            self.released.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn add_handle(&self) {
        self.assert_alive();
        assert!(self.word.add_handle().is_ok());
    }

    fn drop_handle(&self) {
        self.assert_alive();
        let last = self.word.drop_handle();
        self.release_if(last);
    }

    fn take(&self, kind: LeaseKind) -> bool {
        self.assert_alive();
        self.word.take(kind).is_ok()
    }

    fn take_at_once(&self, kind: LeaseKind) -> bool {
        self.assert_alive();
        self.word.take_at_once(kind)
    }

    fn give(&self, kind: LeaseKind) {
        self.assert_alive();
        let last = self.word.give(kind);
        self.release_if(last);
    }
}

/// What one thread does with its one handle, which it has released at the end.
#[derive(Clone, Copy, Debug)]
enum Script {
    Drop,
    /// Clones the handle and drops both.
    Clone,
    /// Takes `&mut` to the bytes, if the handle is the only holder.
    Exclusive,
    /// Divides the bytes, if the handle is the only holder in this process, and owns every part.
    Partition,
    /// Declares that no other owner writes, and takes a lease that outlives the handle.
    AssumeSole(LeaseKind),
    /// Lets another process write the memory from now on, unless a holder relies on the opposite.
    Alias,
    /// Takes a lease in one attempt, which outlives the handle.
    AtOnce(LeaseKind),
    /// Takes a lease, and releases it before the handle.
    Lease(LeaseKind),
    /// The lease outlives the handle.
    Outlive(LeaseKind),
    /// The lease outlives the handle, and turns into a new handle.
    Exchange(LeaseKind),
    /// Makes a handle from a lease that outlived the first handle.
    HandleOf(LeaseKind),
}

fn scripts() -> Vec<Script> {
    let leases = [Script::AtOnce, Script::Lease, Script::Outlive, Script::Exchange, Script::HandleOf];
    let of_kinds = leases.into_iter().flat_map(|script| KINDS.map(script));
    let alone = [Script::Drop, Script::Clone, Script::Exclusive, Script::Partition, Script::Alias];
    alone.into_iter().chain(of_kinds).collect()
}

fn run(script: Script, model: &Model, thread: usize) {
    match script {
        Script::Drop => model.drop_handle(),
        Script::Clone => {
            model.add_handle();
            model.drop_handle();
            model.drop_handle();
        }
        Script::Exclusive => {
            if model.word.is_exclusive() {
                model.access_all();
            }
            model.drop_handle();
        }
        Script::Partition => {
            if model.word.is_only_handle() {
                model.access_all();
            }
            model.drop_handle();
        }
        Script::AssumeSole(kind) => {
            model.word.clear_aliased();
            run(Script::Outlive(kind), model, thread);
        }
        Script::Alias => {
            if model.word.set_aliased().is_ok() {
                // The other process writes as the holder of a Share lease does.
                model.access(Share, thread);
            }
            model.drop_handle();
        }
        Script::AtOnce(kind) => {
            let taken = model.take_at_once(kind);
            outlive(taken, kind, model, thread);
        }
        Script::Lease(kind) => {
            if model.take(kind) {
                model.access(kind, thread);
                model.give(kind);
            }
            model.drop_handle();
        }
        Script::Outlive(kind) => {
            let taken = model.take(kind);
            outlive(taken, kind, model, thread);
        }
        Script::Exchange(kind) => {
            let taken = model.take(kind);
            model.drop_handle();
            if taken {
                model.access(kind, thread);
                assert!(model.word.exchange_for_handle(kind).is_ok());
                model.drop_handle();
            }
        }
        Script::HandleOf(kind) => {
            let taken = model.take(kind);
            model.drop_handle();
            if taken {
                model.add_handle();
                model.access(kind, thread);
                model.give(kind);
                model.drop_handle();
            }
        }
    }
}

/// Drops the handle before the lease, if that was taken.
fn outlive(taken: bool, kind: LeaseKind, model: &Model, thread: usize) {
    model.drop_handle();
    if taken {
        model.access(kind, thread);
        model.give(kind);
    }
}

/// Runs one script per thread, each with its own handle; the last script runs on the initial
/// thread.
fn check(scripts: &[Script], aliased: bool, preemptions: Option<usize>) {
    let (last, others) = scripts.split_last().expect("a script at least");
    let (last, others) = (*last, others.to_vec());
    let mut builder = loom::model::Builder::new();
    // `LOOM_MAX_PREEMPTIONS` limits the others.
    builder.preemption_bound = preemptions.or(builder.preemption_bound);
    builder.check(move || {
        let model = Arc::new(Model::new(aliased));
        let threads: Vec<_> = others
            .iter()
            .enumerate()
            .map(|(index, &script)| {
                model.add_handle();
                let model = Arc::clone(&model);
                thread::spawn(move || run(script, &model, index))
            })
            .collect();
        run(last, &model, others.len());
        for thread in threads {
            thread.join().expect("no thread of the model panics");
        }
        assert_eq!(model.released.load(Ordering::Relaxed), 1, "{others:?} beside {last:?}");
    });
}

#[test]
fn every_pair_of_operations_on_two_handles() {
    let scripts = scripts();
    for (index, &first) in scripts.iter().enumerate() {
        for &second in &scripts[index..] {
            check(&[first, second], false, None);
        }
    }
}

#[test]
fn every_pair_of_leases_on_aliased_memory() {
    let leases = [Script::Outlive, Script::AtOnce, Script::AssumeSole]
        .into_iter()
        .flat_map(|script| KINDS.map(script));
    let alone = [Script::Drop, Script::Exclusive, Script::Partition];
    let scripts: Vec<_> = alone.into_iter().chain(leases).collect();
    for (index, &first) in scripts.iter().enumerate() {
        for &second in &scripts[index..] {
            check(&[first, second], true, None);
        }
    }
}

/// Two threads work through one borrowed handle, whose owner drops it after both.
#[test]
fn every_pair_of_leases_through_one_shared_handle() {
    for first in KINDS {
        for second in KINDS {
            loom::model(move || {
                let model = Arc::new(Model::new(false));
                let borrow = |kind: LeaseKind, thread: usize, model: &Model| {
                    if model.take(kind) {
                        model.access(kind, thread);
                        model.give(kind);
                    }
                };
                let other = Arc::clone(&model);
                let thread = thread::spawn(move || borrow(first, 0, &other));
                borrow(second, 1, &model);
                thread.join().expect("no thread of the model panics");
                assert!(model.word.is_exclusive());
                model.access_all();
                model.drop_handle();
                assert_eq!(model.released.load(Ordering::Relaxed), 1);
            });
        }
    }
}

#[test]
fn three_threads() {
    let cases = [
        [Script::Outlive(Read), Script::Outlive(Write), Script::Exclusive],
        [Script::Outlive(Share), Script::Outlive(Pin), Script::Outlive(Read)],
        [Script::Outlive(Write), Script::Outlive(Write), Script::Drop],
        [Script::Lease(Pin), Script::Outlive(Write), Script::Clone],
        [Script::Exchange(Write), Script::Exclusive, Script::Drop],
        [Script::HandleOf(Share), Script::Exchange(Read), Script::Drop],
        [Script::Drop, Script::Drop, Script::Exclusive],
        [Script::Lease(Share), Script::Lease(Read), Script::Lease(Write)],
    ];
    for case in cases {
        check(&case, false, Some(2));
    }
}
