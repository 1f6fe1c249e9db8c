//! Work in streams: its order, its leases, and code that runs at its end.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::{self, Effect, Event, Moved};
use crossdock::memory::LeaseKind;

use crate::{Subject, bytes, numbers};

pub fn work_in_a_stream_is_done_in_its_order(subject: &Subject) {
    let Some(stream) = &subject.stream else { return assert!(subject.pause.is_none()) };
    let content = numbers(50_000);
    let here = Buffer::from_vec(content.clone()).unwrap();
    let back = Buffer::zeroed(content.len()).unwrap();
    // To the device, to a second buffer on it, and back; the host does not wait in between.
    let first = here.copy_to_in(&subject.memory, &**stream).unwrap();
    let second = first.buffer.copy_to_in(&subject.memory, &**stream).unwrap();
    assert_eq!(second.moved, Moved::Copied { nbytes: content.len() });
    second.buffer.copy_into_in(&back, &**stream).unwrap();
    assert_eq!(back.read().unwrap()[..], content, "who reads waits");
    let event = stream.record().unwrap();
    event.wait().unwrap();
    assert!(event.is_done());
    assert!(matches!(event.poll(), Some(Ok(()))));
    stream.synchronize().unwrap();
    assert!(first.event.unwrap().is_done() && second.event.unwrap().is_done());
}

pub fn work_holds_its_leases_until_it_is_over(subject: &Subject) {
    if subject.pause.is_none() {
        return assert!(subject.stream.is_none());
    }
    let (stream, paused) = subject.paused_stream();
    let content = numbers(10_000);
    let (here, there) = (Buffer::from_vec(content.clone()).unwrap(), subject.sent(&[0; 10_000]));
    let event = here.copy_into_in(&there, &*stream).unwrap().expect("it is under way");
    assert!(!event.is_done() && event.poll().is_none());
    assert_eq!(here.events().unwrap().len(), 1);
    assert_eq!(there.slice(7..9).unwrap().events().unwrap()[0].1, Effect::Writes);
    // A read of the source need not wait; a write must. A device that needs exclusive access
    // refuses.
    assert_eq!(here.pin().unwrap().load::<u8>(5).unwrap(), content[5]);
    for kind in [LeaseKind::Read, LeaseKind::Write] {
        assert!(there.device_lease(kind).unwrap_err().is_conflict(), "{kind:?}");
    }
    assert!(here.device_lease(LeaseKind::Write).unwrap_err().is_conflict());
    // The last handle on the source is dropped before the work ends, and its bytes still arrive.
    let kept = there.slice(..).unwrap();
    drop((here, there));
    drop(paused);
    event.wait().unwrap();
    assert_eq!(bytes(&kept), content);
    drop(kept.device_lease(LeaseKind::Read).expect("the leases have been given back"));
}

pub fn the_host_waits_for_work_whatever_it_asks_for(subject: &Subject) {
    if subject.pause.is_none() {
        return assert!(subject.stream.is_none());
    }
    let content = numbers(3000);
    type Touch = fn(&mut Buffer) -> u8;
    let touches: [Touch; 6] = [
        |b| b.read().unwrap()[1],
        |b| b.write().unwrap()[1],
        |b| b.share().unwrap().load(1).unwrap(),
        |b| b.pin().unwrap().load(1).unwrap(),
        |b| b.as_mut_slice().unwrap()[1],
        |b| b.slice(1..).unwrap().read().unwrap()[0],
    ];
    for (number, touch) in touches.into_iter().enumerate() {
        let (stream, paused) = subject.paused_stream();
        let (there, mut back) = (subject.sent(&content), Buffer::zeroed(3000).unwrap());
        let event = there.copy_into_in(&back, &*stream).unwrap().expect("it is under way");
        assert!(!event.is_done());
        std::thread::scope(|scope| {
            let touching = scope.spawn(|| touch(&mut back));
            std::thread::yield_now();
            assert!(!touching.is_finished(), "touch {number} did not wait");
            drop(paused);
            assert_eq!(touching.join().unwrap(), content[1], "touch {number}");
        });
        assert!(event.is_done() && back.events().unwrap().is_empty());
    }
}

pub fn a_stream_waits_for_another(subject: &Subject) {
    let Some(stream) = &subject.stream else { return };
    let (signal, completion) = device::Signal::new();
    let signal: Arc<dyn Event> = signal;
    let content = numbers(500);
    let (there, back) = (subject.sent(&content), Buffer::zeroed(500).unwrap());
    std::thread::scope(|scope| {
        // On another thread, since a stream that cannot wait by itself blocks here.
        let waiting = scope.spawn(|| {
            stream.wait(&signal).unwrap();
            there.copy_into_in(&back, &**stream).unwrap()
        });
        std::thread::yield_now();
        completion.finish(Ok(()));
        if let Some(event) = waiting.join().unwrap() {
            event.wait().unwrap();
        }
    });
    assert_eq!(back.read().unwrap()[..], content);
    let event: Arc<dyn Event> = stream.record().unwrap();
    stream.wait(&event).unwrap();
    stream.synchronize().unwrap();
}

/// Memory whose owner runs code when it is released.
struct Reentrant<F: FnOnce()> {
    content: Vec<u8>,
    on_release: Option<F>,
}

impl<F: FnOnce()> AsRef<[u8]> for Reentrant<F> {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

impl<F: FnOnce()> Drop for Reentrant<F> {
    fn drop(&mut self) {
        if let Some(on_release) = self.on_release.take() {
            on_release();
        }
    }
}

/// In-flight work holds the last lease of some memory. When the memory is released, its owner uses
/// the same stream, waits for the same event, and does everything else that a program may do.
pub fn what_work_held_last_may_use_the_stream_when_it_is_released(subject: &Subject) {
    let Some(stream) = &subject.stream else { return };
    // The thread that finds the work finished: one that waits for it, one that waits for the
    // stream, one that reads the result, or the library's own.
    for asks in 0..4 {
        let (told, hears) = std::sync::mpsc::channel();
        let own_event = Arc::new(std::sync::OnceLock::<Arc<dyn Event>>::new());
        let (there, other) = (subject.sent(&[0; 500]), subject.sent(&numbers(700)));
        let on_release = {
            let (stream, memory, own_event) = (stream.clone(), subject.memory.clone(), own_event.clone());
            let written = there.clone();
            move || {
                own_event.wait().wait().unwrap();
                let back = Buffer::zeroed(700).unwrap();
                let copied = other.copy_into_in(&back, &*stream).unwrap().expect("it is under way");
                copied.wait().unwrap();
                assert_eq!(back.read().unwrap()[..], numbers(700));
                // Another thread waits for the stream, and this one for that thread.
                let waits = std::thread::spawn({
                    let stream = stream.clone();
                    move || stream.synchronize().unwrap()
                });
                waits.join().unwrap();
                assert_eq!(bytes(&written), numbers(500));
                drop(written.device_lease(LeaseKind::Pin).unwrap());
                drop(Buffer::on(&memory, 100).unwrap());
                assert!(memory.usage().live_count > 0 && !device::kinds().is_empty());
                drop((crossdock::ledger::report(), device::opened(), written.events().unwrap()));
                told.send(()).unwrap();
            }
        };
        let owner = Reentrant { content: numbers(500), on_release: Some(on_release) };
        let here = Buffer::from_owner(Box::new(owner)).unwrap();
        // If the subject can pause, the work outlives the last handle.
        let paused = subject.pause.as_ref().map(|pause| pause());
        let event = here.copy_into_in(&there, &**stream).unwrap().expect("it is under way");
        own_event.set(event.clone()).unwrap();
        drop(here);
        drop(paused);
        match asks {
            0 => event.wait().unwrap(),
            1 => stream.synchronize().unwrap(),
            2 => assert_eq!(bytes(&there), numbers(500)),
            _ => {}
        }
        hears.recv().expect("the owner's code ran to its end");
    }
}
