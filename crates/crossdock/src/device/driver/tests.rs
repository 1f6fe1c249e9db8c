use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};

use crate::buffer::Buffer;
use crate::device::driver::held::sealed::{GiveBack, Left};
use crate::device::driver::{DriverQueue, Held};
use crate::device::{Completion, Effect, Event, Orphans, Signal, Transfer};
use crate::error::{Error, Result};
use crate::pool::Pool;

/// A driver's event whose work is over when a test says so.
#[derive(Debug)]
struct Told(Arc<Signal>);

impl Event for Told {
    fn wait(&self) -> Result<()> {
        self.0.wait()
    }

    fn poll(&self) -> Option<Result<()>> {
        self.0.poll()
    }
}

/// What work holds: a function that runs when its leases are released, and one that runs when it is
/// dropped.
struct Kept<G, R: FnOnce()>(G, Released<R>);

struct Released<R: FnOnce()>(Option<R>);

fn kept<G, R>(give_back: G, release: R) -> Kept<G, R>
where
    G: FnMut(bool) + Send + 'static,
    R: FnOnce() + Send + 'static,
{
    Kept(give_back, Released(Some(release)))
}

/// For tests that only look at the drop.
fn released(release: impl FnOnce() + Send + 'static) -> impl Held {
    kept(|_| (), release)
}

impl<G: FnMut(bool) + Send + 'static, R: FnOnce() + Send + 'static> GiveBack for Kept<G, R> {
    type Rest = Released<R>;
    fn give_back(mut self, is_done: bool) -> (Left, Released<R>) {
        (self.0)(is_done);
        (Left(Orphans::default()), self.1)
    }
}

impl<R: FnOnce()> Drop for Released<R> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

fn push(line: &DriverQueue<Told>, held: impl Held) -> (Arc<dyn Event>, Completion) {
    let (signal, completion) = Signal::new();
    (line.push(held, |_| Ok(Told(signal))).unwrap(), completion)
}

#[test]
fn what_work_held_is_given_back_when_it_is_over_though_nobody_asks() {
    let (given, back) = channel();
    let (end, completion) = push(&DriverQueue::new(), released(move || given.send(7).unwrap()));
    assert!(end.poll().is_none());
    drop(end);
    assert!(back.try_recv().is_err(), "not before");
    completion.finish(Ok(()));
    assert_eq!(back.recv(), Ok(7));
}

#[test]
fn who_knows_that_work_is_over_knows_it_of_all_before_it_in_the_queue() {
    let line = DriverQueue::new();
    let (given, back) = channel();
    let [first, second, third] = [1, 2, 3].map(|number| {
        let given = given.clone();
        push(&line, kept(move |_| given.send(number).unwrap(), || ()))
    });
    for (_, completion) in [first, second] {
        completion.finish(Ok(()));
    }
    third.1.finish(Ok(()));
    third.0.wait().unwrap();
    assert_eq!(back.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn failed_work_gives_back_what_it_held_without_saying_that_it_is_done() {
    let line = DriverQueue::new();
    let (given, back) = channel();
    let (dropped, gone) = channel();
    let held = kept(move |is_done| given.send(is_done).unwrap(), move || dropped.send(()).unwrap());
    let (failing, completion) = push(&line, held);
    let (next, well) = push(&line, ());
    completion.finish(Err(Error::device("error 719")));
    well.finish(Ok(()));
    next.wait().unwrap();
    for _ in 0..2 {
        assert_eq!(failing.wait().unwrap_err().to_string(), "error 719");
    }
    gone.recv().unwrap();
    assert_eq!(back.iter().collect::<Vec<_>>(), [false], "once");
    assert!(gone.recv().is_err(), "once");
    assert!(format!("{failing:?} {next:?}").contains("(failed: error 719)"));
}

#[test]
fn work_that_the_driver_refuses_gives_back_what_it_held_at_once() {
    let (line, dropped) = (Arc::new(DriverQueue::<Told>::new()), Arc::new(AtomicUsize::new(0)));
    let counted = dropped.clone();
    let inner = line.clone();
    // Without the lock, so that dropping it may use the queue.
    let held = released(move || {
        push(&inner, ()).1.finish(Ok(()));
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let refused = line.push(held, |_| Err(Error::device("error 2")));
    assert_eq!(refused.unwrap_err().to_string(), "error 2");
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    let (end, completion) = push(&line, ());
    completion.finish(Ok(()));
    end.wait().unwrap();
}

#[test]
fn work_that_does_not_end_holds_up_no_other_queues() {
    let (blocked, never) = push(&DriverQueue::new(), ());
    let (given, back) = channel();
    let (_, completion) = push(&DriverQueue::new(), released(move || given.send(()).unwrap()));
    completion.finish(Ok(()));
    back.recv().unwrap();
    assert!(blocked.poll().is_none());
    never.finish(Ok(()));
}

#[test]
fn work_that_is_over_before_older_work_waits_for_none() {
    let line = DriverQueue::new();
    let (older, never) = push(&line, ());
    let (given, back) = channel();
    let (failing, completion) = push(&line, released(move || given.send(()).unwrap()));
    completion.finish(Err(Error::device("what it waited for failed")));
    assert!(failing.wait().is_err());
    back.recv().unwrap();
    assert!(older.poll().is_none());
    // The queue is not locked during the drop.
    let (_next, completion) = push(&line, ());
    completion.finish(Ok(()));
    never.finish(Ok(()));
    older.wait().unwrap();
}

#[test]
fn nobody_is_told_that_work_is_over_before_its_leases_are_given_back() {
    for _ in 0..50 {
        let given_back = Arc::new(AtomicUsize::new(0));
        let counted = given_back.clone();
        let give_back = move |_| {
            std::thread::yield_now();
            counted.fetch_add(1, Ordering::SeqCst);
        };
        let (end, completion) = push(&DriverQueue::new(), kept(give_back, || ()));
        completion.finish(Ok(()));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    end.wait().unwrap();
                    assert_eq!(given_back.load(Ordering::SeqCst), 1);
                });
            }
        });
    }
}

/// The dropped value waits for all events of its queue: those before it, its own, those after it,
/// and one that it adds.
#[test]
fn a_release_may_use_its_queue_and_wait_for_any_event_of_it() {
    for asks in [true, false] {
        let line = Arc::new(DriverQueue::new());
        let events = Arc::new(OnceLock::<Vec<Arc<dyn Event>>>::new());
        let (given, back) = channel();
        let work: Vec<_> = (0..3)
            .map(|_| {
                let (same, events, given) = (line.clone(), events.clone(), given.clone());
                let release = move || {
                    let (added, completion) = push(&same, ());
                    completion.finish(Ok(()));
                    added.wait().unwrap();
                    events.wait().iter().for_each(|event| event.wait().unwrap());
                    given.send(()).unwrap();
                };
                push(&line, released(release))
            })
            .collect();
        let (ends, completions): (Vec<_>, Vec<_>) = work.into_iter().unzip();
        let last = ends[2].clone();
        events.set(ends).unwrap();
        completions.into_iter().for_each(|completion| completion.finish(Ok(())));
        if asks {
            last.wait().unwrap();
        }
        (0..3).for_each(|_| back.recv().unwrap());
    }
}

/// A dropped value waits for a thread that waits for the same work: there must be no deadlock.
#[test]
fn others_find_out_that_work_is_over_while_what_it_held_is_being_released() {
    let line = DriverQueue::new();
    let (known, knows) = channel();
    let (released_at, at) = channel();
    let release = move || {
        knows.recv().unwrap();
        released_at.send(()).unwrap();
    };
    let (end, completion) = push(&line, released(release));
    completion.finish(Ok(()));
    // Whichever thread concludes the work, one of the two or the finisher, stays in the drop until
    // the other thread is through.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                end.wait().unwrap();
                let _nobody_asks_twice = known.send(());
            });
        }
        at.recv().unwrap();
    });
}

#[test]
fn memory_of_the_librarys_own_is_back_when_work_is_known_to_be_over() {
    let pool = Pool::system().unwrap().capped("small", 64).unwrap();
    for round in 0..100 {
        let buffer = pool.zeroed(64).unwrap();
        let held = Transfer::later(&buffer, &Buffer::zeroed(64).unwrap()).unwrap();
        let (end, completion) = push(&DriverQueue::new(), held);
        if round % 2 == 0 {
            buffer.note_event(end.clone(), Effect::Reads).unwrap();
        }
        drop(buffer);
        completion.finish(Ok(()));
        end.wait().unwrap();
        assert_eq!(pool.statistics().live_nbytes, 0, "round {round}");
    }
}

#[test]
fn a_panic_of_what_was_held_stays_where_it_is() {
    let line = DriverQueue::new();
    let of_a_lease = push(&line, kept(|_| panic!("of a lease"), || ()));
    let of_a_release = push(&line, released(|| panic!("of a release")));
    for (end, completion) in [of_a_lease, of_a_release] {
        completion.finish(Ok(()));
        end.wait().unwrap();
    }
}
