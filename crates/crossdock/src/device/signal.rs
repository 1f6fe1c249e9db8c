//! An event that this process itself signals.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::device::Event;
use crate::error::{Error, Result};
use crate::memory::fork;

/// An event for devices whose driver has none, or whose work runs on a thread. The code that does
/// the work holds the [`Completion`].
///
/// It needs no lock, so a forked child never finds one held. In the child, a pending signal is an
/// error, because the thread that would signal it stayed with the parent.
///
/// ```
/// use crossdock::device::{Event, Signal};
///
/// let (signal, completion) = Signal::new();
/// assert!(!signal.is_done());
/// std::thread::spawn(move || completion.finish(Ok(())));
/// signal.wait()?;
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct Signal {
    outcome: OnceLock<Result<()>>,
    generation: u64,
}

impl Signal {
    /// A pending signal, and its completion.
    pub fn new() -> (Arc<Self>, Completion) {
        let signal = Arc::new(Self { outcome: OnceLock::new(), generation: fork::generation() });
        (signal.clone(), Completion(Some(signal)))
    }

    /// Ends the wait explicitly, as dropping the [`Completion`] does. It is for a leaked completion
    /// (`std::mem::forget`, a reference cycle), for which every access to the memory would wait
    /// forever. Returns whether the signal was pending. A later completion has no effect.
    ///
    /// Leases of the memory that the work was to write fail until
    /// [`Buffer::settle`](crate::buffer::Buffer::settle) is called. Leases that the work holds stay
    /// until their holder is dropped. [`Buffer::events`](crate::buffer::Buffer::events) and the
    /// [ledger](crate::ledger) list the work recorded on memory.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::device::{Effect, Signal};
    ///
    /// let (signal, completion) = Signal::new();
    /// let buffer = Buffer::zeroed(8)?;
    /// buffer.note_event(signal, Effect::Writes)?;
    /// std::mem::forget(completion); // now `buffer.read()` would wait for ever
    ///
    /// for (event, _) in buffer.events()? {
    ///     let event: &dyn std::any::Any = &*event;
    ///     if let Some(signal) = event.downcast_ref::<Signal>() {
    ///         assert!(signal.give_up());
    ///     }
    /// }
    /// assert!(buffer.read().unwrap_err().is_device());
    /// assert!(buffer.settle().is_err()); // says so once more, and the memory can be used again
    /// assert_eq!(buffer.read()?[0], 0);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn give_up(&self) -> bool {
        self.set(given_up())
    }

    /// Whether this was the first outcome. In a forked child no outcome is set, because a thread of
    /// the parent may have been setting it during the fork.
    fn set(&self, outcome: Result<()>) -> bool {
        self.generation == fork::generation() && self.outcome.set(outcome).is_ok()
    }
}

#[cold]
fn given_up() -> Result<()> {
    Err(Error::device("the work was dropped before it was done"))
}

/// The obligation to report how work ended. If it is dropped, the work counts as abandoned. If it
/// is leaked, the signal stays pending until [`Signal::give_up`] is called.
#[derive(Debug)]
pub struct Completion(Option<Arc<Signal>>);

impl Completion {
    /// Reports how the work ended, after its leases have been released.
    pub fn finish(mut self, outcome: Result<()>) {
        self.set(outcome);
    }

    fn set(&mut self, outcome: Result<()>) {
        if let Some(signal) = self.0.take() {
            // Already set if `give_up` was called.
            let _is_first = signal.set(outcome);
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if self.0.is_some() {
            self.set(given_up());
        }
    }
}

impl Event for Signal {
    fn wait(&self) -> Result<()> {
        match self.poll() {
            Some(outcome) => outcome,
            None => repeat(self.outcome.wait()),
        }
    }

    fn poll(&self) -> Option<Result<()>> {
        match self.outcome.get() {
            Some(outcome) => Some(repeat(outcome)),
            None if self.generation != fork::generation() => Some(Err(left_behind())),
            None => None,
        }
    }
}

/// The error in a forked child for its parent's work.
#[cold]
pub(super) fn left_behind() -> Error {
    Error::device("the work was in flight in the parent process when this process was forked")
}

/// Returns a copy of an outcome.
pub(super) fn repeat(outcome: &Result<()>) -> Result<()> {
    match outcome {
        Ok(()) => Ok(()),
        Err(error) => Err(error.again()),
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.poll() {
            None => f.write_str("Signal(not yet)"),
            Some(Ok(())) => f.write_str("Signal(done)"),
            Some(Err(error)) => write!(f, "Signal(failed: {error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_as_often_as_it_is_asked_for() {
        let (signal, completion) = Signal::new();
        assert!(signal.poll().is_none() && !signal.is_done());
        assert_eq!(format!("{signal:?}"), "Signal(not yet)");
        completion.finish(Err(Error::device("error 7")));
        for _ in 0..3 {
            let error = signal.wait().unwrap_err();
            assert!(error.is_device());
            assert_eq!(error.to_string(), "error 7");
        }
        assert_eq!(format!("{signal:?}"), "Signal(failed: error 7)");
    }

    #[test]
    fn work_that_is_given_up_is_a_failure_and_not_a_wait_for_ever() {
        let (signal, completion) = Signal::new();
        drop(completion);
        assert!(signal.wait().unwrap_err().is_device());
    }

    #[test]
    fn a_forgotten_completion_is_ended_by_hand() {
        let (signal, completion) = Signal::new();
        std::mem::forget(completion);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| signal.wait());
            assert!(signal.give_up());
            assert!(waiting.join().unwrap().unwrap_err().is_device());
        });
        assert!(!signal.give_up(), "it has happened");
    }

    #[test]
    fn a_completion_that_comes_after_the_end_by_hand_changes_nothing() {
        let (signal, completion) = Signal::new();
        assert!(signal.give_up());
        completion.finish(Ok(()));
        assert!(signal.wait().unwrap_err().is_device());
        let (signal, completion) = Signal::new();
        completion.finish(Ok(()));
        assert!(!signal.give_up());
        signal.wait().unwrap();
    }

    #[test]
    fn who_waits_is_woken_by_another_thread() {
        let (signal, completion) = Signal::new();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| signal.wait());
            completion.finish(Ok(()));
            waiting.join().unwrap().unwrap();
        });
        assert!(matches!(signal.poll(), Some(Ok(()))));
    }
}
