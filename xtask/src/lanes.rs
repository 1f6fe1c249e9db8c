//! Runs suites in lanes, several at once.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::suite::{Lane, Suite};

/// Suites that run one after another.
type Suites = Vec<&'static Suite>;

/// What has not started yet.
struct Waiting {
    now: VecDeque<Suites>,
    /// Those that start once the first lane has ended; `None` from then on.
    then: Option<Suites>,
}

struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// Runs the suites as their lanes permit, and returns the results in any order. One lane more than
/// there are processors runs at once, since a lane often waits for one process, or for a build of
/// another lane.
pub(crate) fn run<R: Send>(suites: &[&'static Suite], run: impl Fn(&'static Suite) -> R + Sync) -> Vec<R> {
    let (queue, results) = (Queue::new(suites), Mutex::new(Vec::new()));
    let work = || {
        while let Some(lane) = queue.next() {
            // Also after a panic, or the other threads would wait for ever.
            let _ended = lane.iter().any(|suite| suite.lane == Lane::First).then(|| FirstEnds(&queue));
            for suite in lane {
                let result = run(suite);
                results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            }
        }
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    // A panic of one thread continues here, after all have ended.
    thread::scope(|scope| {
        for _ in 0..=processors {
            scope.spawn(work);
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    fn new(suites: &[&'static Suite]) -> Self {
        let of = |lane| suites.iter().copied().filter(move |suite| suite.lane == lane);
        let (first, then, own): (Suites, Suites, _) =
            (of(Lane::First).collect(), of(Lane::Then).collect(), of(Lane::Own));
        let has_first = !first.is_empty();
        let now = has_first.then_some(first).into_iter().chain(own.map(|suite| vec![suite]));
        let queue = Self {
            waiting: Mutex::new(Waiting { now: now.collect(), then: Some(then) }),
            changed: Condvar::new(),
        };
        if !has_first {
            queue.first_ended();
        }
        queue
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next suites that may start; waits for them. `None` if all have started.
    fn next(&self) -> Option<Suites> {
        let mut waiting = self.waiting();
        loop {
            if let Some(lane) = waiting.now.pop_front() {
                return Some(lane);
            }
            waiting.then.as_ref()?;
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// They come before those that wait: with the first lane, they take longest.
    fn first_ended(&self) {
        let mut waiting = self.waiting();
        for suite in waiting.then.take().into_iter().flatten().rev() {
            waiting.now.push_front(vec![suite]);
        }
        self.changed.notify_all();
    }
}

/// Reports the end of the first lane when it is dropped.
struct FirstEnds<'a>(&'a Queue);

impl Drop for FirstEnds<'_> {
    fn drop(&mut self) {
        self.0.first_ended();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;
    use crate::suite::SUITES;

    /// Runs the suites, and returns the names of those that started and ended, in order of time.
    fn history(suites: &[&'static Suite]) -> Vec<(&'static str, bool)> {
        let history = Mutex::new(Vec::new());
        let count = run(suites, |suite| {
            history.lock().unwrap().push((suite.name, true));
            thread::sleep(Duration::from_millis(2));
            history.lock().unwrap().push((suite.name, false));
        })
        .len();
        assert_eq!(count, suites.len());
        history.into_inner().unwrap()
    }

    fn of(lane: Lane) -> Suites {
        SUITES.iter().filter(|suite| suite.lane == lane).collect()
    }

    #[test]
    fn the_first_lane_is_in_the_order_of_the_table_and_others_wait_for_its_end() {
        let history = history(&SUITES.iter().collect::<Vec<_>>());
        let at = |name, started| history.iter().position(|&event| event == (name, started)).unwrap();
        let (first, then) = (of(Lane::First), of(Lane::Then));
        for pair in first.windows(2) {
            assert!(at(pair[0].name, false) < at(pair[1].name, true), "{} is late", pair[0].name);
        }
        let end = at(first.last().unwrap().name, false);
        assert!(then.iter().all(|suite| at(suite.name, true) > end) && !then.is_empty());
        assert!(of(Lane::Own).iter().any(|suite| at(suite.name, true) < end), "nothing runs beside them");
    }

    #[test]
    fn without_the_first_lane_all_others_start() {
        let suites: Suites = SUITES.iter().filter(|suite| suite.lane != Lane::First).collect();
        assert_eq!(history(&suites).len(), 2 * suites.len());
        assert_eq!(history(&of(Lane::Then)).len(), 2 * of(Lane::Then).len());
        assert!(history(&[]).is_empty());
    }

    #[test]
    fn a_panic_in_the_first_lane_stops_nothing_else() {
        let ran = Mutex::new(Vec::new());
        let all: Suites = SUITES.iter().collect();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(&all, |suite| {
                assert!(suite.lane != Lane::First, "planned");
                ran.lock().unwrap().push(suite.name);
            })
        }));
        assert!(outcome.is_err());
        assert_eq!(ran.into_inner().unwrap().len(), of(Lane::Then).len() + of(Lane::Own).len());
    }
}
