use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use super::*;
use crate::memory::device::{Completion, Signal};

/// A driver's event whose work is over when a test says so.
#[derive(Debug)]
struct Told(Arc<Signal>);

impl DriverEvent for Told {
    fn wait(&self) -> Result<()> {
        self.0.wait()
    }

    fn poll(&self) -> Option<Result<()>> {
        self.0.poll()
    }

    fn raw(&self) -> *mut c_void {
        std::ptr::null_mut()
    }
}

/// What tells that it was dropped.
struct Kept(Arc<AtomicUsize>);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn push(line: &Arc<Line<Told>>, held: impl FnOnce() + Send + 'static) -> (Arc<dyn Event>, Completion) {
    let (signal, completion) = Signal::new();
    (line.push(held, || Ok(Told(signal))).unwrap(), completion)
}

#[test]
fn what_work_held_is_given_back_when_it_is_over_though_nobody_asks() {
    let (given, back) = channel();
    let (end, completion) = push(&Line::new(), move || given.send(7).unwrap());
    assert!(end.poll().is_none());
    drop(end);
    assert!(back.try_recv().is_err(), "not before");
    completion.finish(Ok(()));
    assert_eq!(back.recv(), Ok(7));
}

#[test]
fn who_knows_that_work_is_over_knows_it_of_all_before_it_in_the_queue() {
    let line = Line::new();
    let (given, back) = channel();
    let [first, second, third] = [1, 2, 3].map(|number| {
        let given = given.clone();
        push(&line, move || given.send(number).unwrap())
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
    let line = Line::new();
    let (done, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (kept, counted) = (Kept(dropped.clone()), done.clone());
    let (failing, completion) = push(&line, move || {
        counted.fetch_add(1, Ordering::SeqCst);
        drop(kept);
    });
    let (next, well) = push(&line, || ());
    completion.finish(Err(Error::device("error 719")));
    well.finish(Ok(()));
    next.wait().unwrap();
    for _ in 0..2 {
        assert_eq!(failing.wait().unwrap_err().to_string(), "error 719");
    }
    assert_eq!((done.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst)), (0, 1));
    assert!(format!("{failing:?} {next:?}").contains("(failed: error 719)"));
}

#[test]
fn work_that_the_driver_refuses_gives_back_what_it_held_at_once() {
    let (line, dropped) = (Line::<Told>::new(), Arc::new(AtomicUsize::new(0)));
    let kept = Kept(dropped.clone());
    let refused = line.push(move || drop(kept), || Err(Error::device("error 2")));
    assert_eq!(refused.unwrap_err().to_string(), "error 2");
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    let (end, completion) = push(&line, || ());
    completion.finish(Ok(()));
    end.wait().unwrap();
}

#[test]
fn work_that_does_not_end_holds_up_no_other_queues() {
    let (blocked, never) = push(&Line::new(), || ());
    let (given, back) = channel();
    let (_, completion) = push(&Line::new(), move || given.send(()).unwrap());
    completion.finish(Ok(()));
    back.recv().unwrap();
    assert!(blocked.poll().is_none());
    never.finish(Ok(()));
}

#[test]
fn nobody_is_told_that_work_is_over_before_what_it_held_is_given_back() {
    for _ in 0..50 {
        let given_back = Arc::new(AtomicUsize::new(0));
        let counted = given_back.clone();
        let (end, completion) = push(&Line::new(), move || {
            std::thread::yield_now();
            counted.fetch_add(1, Ordering::SeqCst);
        });
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

#[test]
fn a_panic_of_what_was_held_stays_where_it_is() {
    let (end, completion) = push(&Line::new(), || panic!("of a release"));
    completion.finish(Ok(()));
    end.wait().unwrap();
}
