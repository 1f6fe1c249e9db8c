//! The order of work in streams: nothing begins early, nothing is lost, and failures are
//! propagated.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossdock::buffer::Buffer;
use crossdock::device::{Event, Signal};
use crossdock::{Array, Casting, DArray, Error, Result};

use crate::{Subject, bytes, numbers};

/// Long enough for work that wrongly does not wait.
const A_WHILE: Duration = Duration::from_millis(20);

/// Longer than any work of a check.
const AT_MOST: Duration = Duration::from_secs(20);

/// Submits work while a stream is held back, opens the stream, and waits for the work. A device
/// whose streams cannot wait by themselves waits in `submit`, which runs on another thread.
#[track_caller]
fn behind(paused: Box<dyn Any>, submit: impl FnOnce() -> Option<Arc<dyn Event>> + Send) {
    let is_over = |event: &Option<Arc<dyn Event>>| event.as_ref().is_none_or(|event| event.is_done());
    let (event, is_early) = thread::scope(|scope| {
        let submitting = scope.spawn(submit);
        thread::sleep(A_WHILE);
        let submitted = submitting.is_finished();
        let mut paused = Some(paused);
        if !submitted {
            paused = None;
        }
        let event = submitting.join();
        let is_early = submitted && event.as_ref().is_ok_and(is_over);
        drop(paused);
        (event.unwrap_or_else(|panic| resume_unwind(panic)), is_early)
    });
    assert!(!is_early, "the work was over before the stream that it follows was opened");
    let begun = Instant::now();
    while !is_over(&event) {
        assert!(begun.elapsed() < AT_MOST, "the work is not over after {AT_MOST:?}");
        thread::sleep(Duration::from_millis(1));
    }
    event.map_or(Ok(()), |event| event.wait()).unwrap();
}

pub fn work_comes_after_what_its_stream_waits_for(subject: &Subject) {
    let (Some(_), Some(second)) = (&subject.pause, subject.another_stream()) else { return };
    let content = numbers(5000);
    let here = Buffer::from_vec(content.clone()).unwrap();
    let (there, other, beside) =
        (subject.sent(&[0; 5000]), subject.sent(&[0; 5000]), subject.sent(&[7; 5000]));
    // The second stream reads the result of the first.
    let (first, paused) = subject.paused_stream();
    let written = here.copy_into_in(&there, &*first).unwrap().expect("it is under way");
    behind(paused, || {
        second.wait(&written).unwrap();
        there.copy_into_in(&other, &*second).unwrap()
    });
    assert!(written.is_done());
    assert!(bytes(&other) == content, "the second stream read what had not been written");
    // Only the event orders the two copies: they have no memory in common.
    let (first, paused) = subject.paused_stream();
    let written = here.copy_into_in(&there, &*first).unwrap().expect("it is under way");
    behind(paused, || {
        second.wait(&written).unwrap();
        beside.copy_into_in(&other, &*second).unwrap()
    });
    assert!(written.is_done());
    assert!(bytes(&other) == [7; 5000]);
}

pub fn strided_work_comes_after_earlier_work_in_its_stream(subject: &Subject) {
    let (Some(_), Some(_), Some(_)) = (&subject.pause, &subject.stream, &subject.strided) else {
        return;
    };
    let content = numbers(5000);
    let here = Buffer::from_vec(content.clone()).unwrap();
    let there = subject.sent(&[0; 5000]);
    let array =
        |buffer: &Buffer, shape| DArray::from(Array::<u8, 2>::from_buffer(buffer.clone(), shape).unwrap());
    let turned = subject.sent(&[0; 5000]);
    let (source, target) = (array(&there, [100, 50]).transpose().unwrap(), array(&turned, [50, 100]));
    // The kernels are compiled before the stream is held back.
    target.assign(&source, Casting::Saturating).unwrap();
    let (stream, paused) = subject.paused_stream();
    here.copy_into_in(&there, &*stream).unwrap().expect("it is under way");
    behind(paused, || target.assign_in(&source, Casting::Saturating, &*stream).unwrap());
    let wanted: Vec<u8> =
        (0..50).flat_map(|column| (0..100).map(move |row| row * 50 + column)).map(|at| content[at]).collect();
    assert!(bytes(&turned) == wanted, "strided work did not come after the copy");
}

pub fn a_dropped_stream_does_its_work(subject: &Subject) {
    let (Some(_), Some(second)) = (&subject.pause, subject.another_stream()) else { return };
    let content = numbers(5000);
    let here = Buffer::from_vec(content.clone()).unwrap();
    let there = subject.sent(&[0; 5000]);
    let (first, paused) = subject.paused_stream();
    let opened = first.record().unwrap();
    behind(paused, || {
        second.wait(&opened).unwrap();
        let event = here.copy_into_in(&there, &*second).unwrap();
        drop(second);
        event
    });
    assert!(bytes(&there) == content, "a dropped stream lost its work");
}

pub fn work_after_an_event_that_failed_fails(subject: &Subject) {
    let Some(stream) = subject.another_stream() else { return };
    let (signal, completion) = Signal::new();
    let signal: Arc<dyn Event> = signal;
    let (here, there) = (Buffer::from_vec(numbers(500)).unwrap(), subject.sent(&[0; 500]));
    let outcome = thread::scope(|scope| {
        let submitting = scope.spawn(|| -> Result<()> {
            stream.wait(&signal)?;
            let Some(event) = here.copy_into_in(&there, &*stream)? else { return Ok(()) };
            let outcome = event.wait();
            assert_eq!(event.poll().expect("it is over").is_ok(), outcome.is_ok());
            outcome
        });
        thread::sleep(A_WHILE);
        completion.finish(Err(Error::device("a failure that the check made")));
        submitting.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    outcome.expect_err("work after an event that failed reports success");
}
