//! What every device does, whatever it is: the same checks for all of them.

use std::any::Any;
use std::fs::File;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crossdock::buffer::Buffer;
use crossdock::device::{self, Effect, Event, MemoryManager, Moved, Stream, Usage};
use crossdock::memory::{Birth, LeaseKind, MapOptions, Place, copied_bytes};

/// A device, and what is to be expected of it: what it cannot do is stated, so that nothing is left out in silence.
pub(crate) struct Subject {
    pub(crate) memory: Arc<dyn MemoryManager>,
    /// Who answers for its buffers: itself, or the host's.
    pub(crate) manager: Arc<dyn MemoryManager>,
    /// Its queue of work, if it has any.
    pub(crate) stream: Option<Arc<dyn Stream>>,
    /// Holds work in the stream back while what it gives lives.
    pub(crate) pause: Option<Box<dyn Fn() -> Box<dyn Any>>>,
    /// Whether the host can see the memory without a copy.
    pub(crate) is_mappable: bool,
    /// Makes the next release of its memory fail.
    pub(crate) fail_release: Option<Box<dyn Fn()>>,
    /// Whether the numbers of its usage are those of its own buffers to the byte. (A pool rounds up.)
    pub(crate) is_exact: bool,
}

/// Some checks look at numbers of the whole process, which the others change.
static PROCESS: RwLock<()> = RwLock::new(());

/// While checks run that may run beside each other.
pub(crate) fn beside() -> RwLockReadGuard<'static, ()> {
    PROCESS.read().unwrap_or_else(PoisonError::into_inner)
}

/// While one runs that must be alone in the process.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    PROCESS.write().unwrap_or_else(PoisonError::into_inner)
}

/// All checks of the suite for one device, each as a test of its own: for a subject, or an `Option` of one, where the device may be
/// missing.
macro_rules! conforms {
    ($name:ident, $subject:expr) => {
        mod $name {
            use super::*;
            conforms! { @beside $subject;
                new_memory_is_of_the_place_the_size_and_the_manager
                bytes_arrive_unchanged_from_every_kind_of_memory
                a_range_is_copied_into_a_range_and_nothing_beside
                sizes_that_differ_and_ranges_that_overlap_are_refused
                memory_is_mapped_or_copied_and_which_it_was_is_said
                a_slice_keeps_place_manager_mutability_and_events
                nothing_is_copied_mapped_and_sliced_too
                more_memory_than_there_is_is_an_error_that_changes_nothing
                leases_decide_what_may_be_copied
                work_in_a_stream_is_done_in_its_order
                work_holds_its_leases_until_it_is_over
                the_host_waits_for_work_whatever_it_asks_for
                a_stream_waits_for_another
                many_threads_copy_at_once
                what_work_held_last_may_use_the_stream_when_it_is_released
            }
            conforms! { @alone $subject;
                what_is_in_use_is_counted_with_its_peak
                every_byte_that_is_copied_is_counted_and_no_other
                what_goes_wrong_in_a_release_is_queued_and_readable
            }
        }
    };
    (@beside $subject:expr; $($check:ident)*) => {$(
        #[test]
        fn $check() {
            let _others = conformance::beside();
            if let Some(subject) = Into::<Option<Subject>>::into($subject) {
                conformance::$check(&subject);
            }
        }
    )*};
    (@alone $subject:expr; $($check:ident)*) => {$(
        #[test]
        fn $check() {
            let _alone = conformance::alone();
            if let Some(subject) = Into::<Option<Subject>>::into($subject) {
                conformance::$check(&subject);
            }
        }
    )*};
}

const SIZES: [usize; 6] = [1, 63, 64, 4096, 100_003, 1 << 20];

pub(crate) fn host() -> Arc<dyn MemoryManager> {
    device::memory(Place::CPU).unwrap()
}

pub(crate) fn numbers(nbytes: usize) -> Vec<u8> {
    (0..nbytes).map(|index| (index * 7 + index / 251) as u8).collect()
}

/// The bytes, wherever they are.
pub(crate) fn bytes(buffer: &Buffer) -> Vec<u8> {
    buffer.copy_to(&host()).unwrap().pin().unwrap().to_vec()
}

impl Subject {
    fn sent(&self, content: &[u8]) -> Buffer {
        Buffer::copy_from_slice(content).unwrap().copy_to(&self.memory).unwrap()
    }

    fn paused_stream(&self) -> (Arc<dyn Stream>, Box<dyn Any>) {
        (self.stream.clone().unwrap(), self.pause.as_ref().unwrap()())
    }
}

pub(crate) fn new_memory_is_of_the_place_the_size_and_the_manager(subject: &Subject) {
    for nbytes in SIZES {
        let buffer = Buffer::on(&subject.memory, nbytes).unwrap();
        assert_eq!((buffer.place(), buffer.nbytes()), (subject.memory.place(), nbytes));
        assert_eq!(buffer.backing(), subject.memory.backing());
        assert!(Arc::ptr_eq(&buffer.memory_manager().unwrap().unwrap(), &subject.manager));
        assert!(!buffer.is_readonly() && !buffer.as_ptr().is_null());
        assert!(buffer.events().unwrap().is_empty());
    }
}

pub(crate) fn bytes_arrive_unchanged_from_every_kind_of_memory(subject: &Subject) {
    static CONSTANT: [u8; 5000] = [9; 5000];
    let path = std::env::temp_dir().join(format!("crossdock-devices-{}", std::process::id()));
    for nbytes in SIZES {
        let content = numbers(nbytes);
        std::fs::write(&path, &content).unwrap();
        let map = Buffer::map(File::open(&path).unwrap(), MapOptions::new()).unwrap();
        let shared = Buffer::from_vec(content.clone()).unwrap().copy_to(&device::shared_memory()).unwrap();
        let owned = Buffer::from_owner(Arc::new(content.clone())).unwrap();
        let there = subject.sent(&content);
        for source in [Buffer::from_vec(content.clone()).unwrap(), map, shared, owned, there] {
            let copy = source.copy_to(&subject.memory).unwrap();
            assert_eq!(copy.place(), subject.memory.place());
            assert_ne!(copy.as_ptr(), source.as_ptr());
            assert!(!copy.is_readonly(), "a copy is ours, whatever the source was");
            assert!(bytes(&copy) == content, "{nbytes} bytes of {source:?}");
        }
    }
    std::fs::remove_file(path).unwrap();
    let copy = Buffer::from_static(&CONSTANT).unwrap().copy_to(&subject.memory).unwrap();
    assert!(bytes(&copy) == CONSTANT);
}

pub(crate) fn a_range_is_copied_into_a_range_and_nothing_beside(subject: &Subject) {
    let (mut expected, source) = (numbers(1000), subject.sent(&[0xEE; 300]));
    let there = subject.sent(&expected);
    let here = Buffer::copy_from_slice(&[0xDDu8; 300]).unwrap();
    // Odd offsets; from the host, from the same place, and within one allocation.
    here.slice(1..100).unwrap().copy_into(&there.slice(13..112).unwrap()).unwrap();
    expected[13..112].fill(0xDD);
    source.slice(7..8).unwrap().copy_into(&there.slice(500..501).unwrap()).unwrap();
    expected[500] = 0xEE;
    there.slice(0..40).unwrap().copy_into(&there.slice(960..).unwrap()).unwrap();
    expected.copy_within(0..40, 960);
    assert!(bytes(&there) == expected);
    let window = Buffer::copy_from_slice(&[0u8; 10]).unwrap();
    there.slice(958..968).unwrap().copy_into(&window).unwrap();
    assert_eq!(window.read().unwrap()[..], expected[958..968]);
}

pub(crate) fn sizes_that_differ_and_ranges_that_overlap_are_refused(subject: &Subject) {
    let content = numbers(100);
    let there = subject.sent(&content);
    let here = Buffer::zeroed(99).unwrap();
    for (source, destination) in [(&here, &there), (&there, &here)] {
        let error = source.copy_into(destination).unwrap_err();
        assert!(error.is_bounds() && error.to_string().contains("99") && error.to_string().contains("100"));
    }
    for (from, to) in [(0..50, 49..99), (0..100, 0..100), (30..80, 10..60)] {
        let (from, to) = (there.slice(from).unwrap(), there.slice(to).unwrap());
        assert!(from.copy_into(&to).unwrap_err().is_bounds());
    }
    assert_eq!(bytes(&there), content);
}

pub(crate) fn memory_is_mapped_or_copied_and_which_it_was_is_said(subject: &Subject) {
    let content = numbers(5000);
    let there = subject.sent(&content).slice(8..).unwrap();
    let mapped = there.map_to(&host()).unwrap();
    assert_eq!(mapped.is_some(), subject.is_mappable);
    let before = copied_bytes();
    let placed = there.map_or_copy_to(&host()).unwrap();
    assert_eq!(placed.buffer.place(), Place::CPU);
    assert_eq!(placed.buffer.pin().unwrap().to_vec(), content[8..]);
    match placed.moved {
        Moved::Mapped => assert!(subject.is_mappable),
        Moved::Copied { nbytes } => {
            assert!(!subject.is_mappable);
            assert_eq!(nbytes, 4992);
            assert!(copied_bytes() >= before + 4992);
        }
    }
    if let Some(mapped) = mapped {
        assert_eq!(mapped.pin().unwrap().to_vec(), content[8..]);
        // The same bytes: what is written here is seen there; and they outlive the buffer that was mapped.
        mapped.share().unwrap().store(0, 0xAAu8).unwrap();
        assert_eq!(bytes(&there)[0], 0xAA);
        drop((there, placed));
        assert_eq!(mapped.pin().unwrap().load::<u8>(0).unwrap(), 0xAA);
    }
    // To its own manager it is another handle.
    let there = subject.sent(&content);
    let same = there.map_or_copy_to(&subject.memory).unwrap();
    assert_eq!((same.moved, same.buffer.as_ptr()), (Moved::Mapped, there.as_ptr()));
    assert!(same.event.is_none());
}

pub(crate) fn a_slice_keeps_place_manager_mutability_and_events(subject: &Subject) {
    let buffer = subject.sent(&numbers(1000));
    let (signal, completion) = device::Signal::new();
    buffer.note_event(signal.clone(), Effect::Writes).unwrap();
    let slice = buffer.slice(10..900).unwrap().slice(5..).unwrap();
    for part in [&slice, &slice.clone().into_readonly(), &slice.try_clone().unwrap()] {
        assert_eq!((part.place(), part.backing()), (buffer.place(), buffer.backing()));
        assert!(Arc::ptr_eq(&part.memory_manager().unwrap().unwrap(), &subject.manager));
        let events = part.events().unwrap();
        assert_eq!(events.len(), 1);
        assert!(Arc::ptr_eq(&events[0].0, &(signal.clone() as Arc<dyn Event>)));
        assert_eq!(events[0].1, Effect::Writes);
    }
    assert!(!slice.is_readonly() && slice.clone().into_readonly().slice(1..).unwrap().is_readonly());
    completion.finish(Ok(()));
    assert!(slice.events().unwrap().is_empty(), "what is over is not listed");
    let readonly = buffer.clone().into_readonly();
    let error = Buffer::zeroed(1000).unwrap().copy_into(&readonly).unwrap_err();
    assert!(error.is_read_only(), "{error}");
    drop((slice, readonly));
    let parts = buffer.partition(&[0..100, 200..300]).unwrap();
    for (part, start) in parts.iter().zip([0, 200]) {
        assert!(Arc::ptr_eq(&part.memory_manager().unwrap().unwrap(), &subject.manager));
        assert_eq!(bytes(part), numbers(1000)[start..start + 100]);
    }
}

pub(crate) fn nothing_is_copied_mapped_and_sliced_too(subject: &Subject) {
    let empty = Buffer::on(&subject.memory, 0).unwrap();
    assert_eq!((empty.nbytes(), empty.place()), (0, subject.memory.place()));
    assert!(!empty.as_ptr().is_null());
    let here = empty.copy_to(&host()).unwrap();
    here.copy_into(&empty).unwrap();
    assert_eq!(empty.slice(..).unwrap().copy_to(&subject.memory).unwrap().nbytes(), 0);
    assert_eq!(empty.map_or_copy_to(&host()).unwrap().buffer.nbytes(), 0);
    let full = subject.sent(&numbers(10));
    full.slice(10..).unwrap().copy_into(&empty).unwrap();
    if let Some(stream) = &subject.stream {
        empty.copy_into_in(&here, &**stream).unwrap();
        here.settle().unwrap();
    }
}

pub(crate) fn more_memory_than_there_is_is_an_error_that_changes_nothing(subject: &Subject) {
    let kept = subject.sent(&numbers(77));
    for nbytes in [isize::MAX as usize, isize::MAX as usize + 1, usize::MAX - 63, usize::MAX] {
        let error = Buffer::on(&subject.memory, nbytes).unwrap_err();
        assert!(error.is_out_of_memory(), "{nbytes} bytes: {error}");
    }
    assert_eq!(bytes(&kept), numbers(77));
    drop(Buffer::on(&subject.memory, 100).unwrap());
}

/// Alone in the process.
pub(crate) fn what_is_in_use_is_counted_with_its_peak(subject: &Subject) {
    let usage = || -> Usage { subject.memory.usage() };
    let before = usage();
    let (first, second) =
        (Buffer::on(&subject.memory, 1 << 20).unwrap(), Buffer::on(&subject.memory, 3 << 20).unwrap());
    let (during, slice) = (usage(), first.slice(1..).unwrap());
    let grown = during.live_nbytes - before.live_nbytes;
    assert!(if subject.is_exact { grown == 4 << 20 } else { grown >= 4 << 20 }, "{before:?} {during:?}");
    assert_eq!(during.live_count, before.live_count + 2);
    drop((first, second));
    assert_eq!(usage().live_count, before.live_count + 1, "the slice keeps the first");
    drop(slice);
    let after = usage();
    assert_eq!((after.live_nbytes, after.live_count), (before.live_nbytes, before.live_count));
    // A pool's threads tell what they have in steps, so that its peak is off by some of them.
    let least = if subject.is_exact { during.live_nbytes } else { during.live_nbytes / 2 };
    assert!(after.peak_nbytes >= least, "{during:?} {after:?}");
    assert!(Buffer::on(&subject.memory, usize::MAX).is_err());
    assert_eq!(usage().live_count, before.live_count);
}

/// Alone in the process.
pub(crate) fn every_byte_that_is_copied_is_counted_and_no_other(subject: &Subject) {
    let here = Buffer::from_vec(numbers(3000)).unwrap();
    let before = copied_bytes();
    let there = here.copy_to(&subject.memory).unwrap();
    assert_eq!(copied_bytes() - before, 3000);
    there.slice(0..1000).unwrap().copy_into(&there.slice(1000..2000).unwrap()).unwrap();
    assert_eq!(copied_bytes() - before, 4000);
    there.copy_into(&here).unwrap();
    assert_eq!(copied_bytes() - before, 7000);
    let mapped = there.map_to(&host()).unwrap();
    drop((there.slice(5..), there.clone(), mapped, Buffer::on(&subject.memory, 500)));
    assert!(here.copy_into(&there.slice(1..).unwrap()).is_err());
    assert_eq!(copied_bytes() - before, 7000);
    if let Some(stream) = &subject.stream {
        here.copy_into_in(&there, &**stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(copied_bytes() - before, 10_000);
    }
}

pub(crate) fn leases_decide_what_may_be_copied(subject: &Subject) {
    let (here, there) = (Buffer::zeroed(64).unwrap(), subject.sent(&numbers(64)));
    let is_sole = there.birth() == Birth::Sole;
    for kind in [LeaseKind::Read, LeaseKind::Share, LeaseKind::Pin] {
        if kind == LeaseKind::Read && !is_sole {
            assert!(there.hold(kind).unwrap_err().is_conflict());
            continue;
        }
        let held = there.hold(kind).unwrap();
        assert_eq!((held.kind(), held.nbytes(), held.place()), (kind, 64, there.place()));
        there.copy_into(&here).unwrap_or_else(|error| panic!("from memory under {kind:?}: {error}"));
        let written = here.copy_into(&there);
        assert_eq!(written.is_ok(), kind != LeaseKind::Read, "to memory under {kind:?}: {written:?}");
        drop(held);
    }
    if is_sole {
        let held = there.hold(LeaseKind::Write).unwrap();
        assert!(there.copy_into(&here).unwrap_err().is_conflict());
        assert!(here.copy_into(&there).unwrap_err().is_conflict());
        drop(held);
    }
    let reading = here.read().unwrap();
    assert!(there.copy_into(&here).unwrap_err().is_conflict());
    here.copy_into(&there).unwrap();
    drop(reading);
    let writing = here.write().unwrap();
    assert!(here.copy_into(&there).unwrap_err().is_conflict());
    drop(writing);
    // Nothing is held when a copy is over.
    here.write().unwrap();
    drop(there.hold(if is_sole { LeaseKind::Write } else { LeaseKind::Share }).unwrap());
}

pub(crate) fn work_in_a_stream_is_done_in_its_order(subject: &Subject) {
    let Some(stream) = &subject.stream else { return assert!(subject.pause.is_none()) };
    let content = numbers(50_000);
    let here = Buffer::from_vec(content.clone()).unwrap();
    let back = Buffer::zeroed(content.len()).unwrap();
    // There, there once more, and back: nobody waits in between.
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

pub(crate) fn work_holds_its_leases_until_it_is_over(subject: &Subject) {
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
    // A reader of the source has nothing to wait for; a writer would. A device that wants either alone is refused.
    assert_eq!(here.pin().unwrap().load::<u8>(5).unwrap(), content[5]);
    for kind in [LeaseKind::Read, LeaseKind::Write] {
        assert!(there.hold(kind).unwrap_err().is_conflict(), "{kind:?}");
    }
    assert!(here.hold(LeaseKind::Write).unwrap_err().is_conflict());
    // Nobody has a handle on the source any more, and its bytes arrive all the same.
    let kept = there.slice(..).unwrap();
    drop((here, there));
    drop(paused);
    event.wait().unwrap();
    assert_eq!(bytes(&kept), content);
    drop(kept.hold(LeaseKind::Read).expect("the leases have been given back"));
}

pub(crate) fn the_host_waits_for_work_whatever_it_asks_for(subject: &Subject) {
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

pub(crate) fn a_stream_waits_for_another(subject: &Subject) {
    let Some(stream) = &subject.stream else { return };
    let (signal, completion) = device::Signal::new();
    let signal: Arc<dyn Event> = signal;
    let content = numbers(500);
    let (there, back) = (subject.sent(&content), Buffer::zeroed(500).unwrap());
    std::thread::scope(|scope| {
        // From elsewhere, since a stream that cannot wait by itself waits here.
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

pub(crate) fn many_threads_copy_at_once(subject: &Subject) {
    let shared = subject.sent(&numbers(4096));
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (memory, stream, shared) = (&subject.memory, &subject.stream, &shared);
            scope.spawn(move || {
                for round in 0..20usize {
                    let content: Vec<u8> = numbers(1 + thread * 1000 + round).into_iter().rev().collect();
                    let here = Buffer::from_vec(content.clone()).unwrap();
                    let there = match stream {
                        Some(stream) if round % 2 == 0 => here.copy_to_in(memory, &**stream).unwrap().buffer,
                        _ => here.copy_to(memory).unwrap(),
                    };
                    assert_eq!(bytes(&there), content);
                    assert_eq!(bytes(shared), numbers(4096));
                    // Released by another thread than made it.
                    std::thread::spawn(move || drop(there)).join().unwrap();
                }
            });
        }
    });
}

/// Alone in the process.
pub(crate) fn what_goes_wrong_in_a_release_is_queued_and_readable(subject: &Subject) {
    device::take_release_errors();
    drop(subject.sent(&numbers(10)));
    assert!(device::take_release_errors().errors.is_empty());
    let Some(fail_release) = &subject.fail_release else { return };
    let (first, second) = (subject.sent(&numbers(10)), subject.sent(&numbers(10)));
    let before = subject.memory.usage();
    fail_release();
    drop((first, second));
    let queued = device::take_release_errors();
    assert_eq!((queued.errors.len(), queued.lost), (1, 0));
    assert_eq!(queued.errors[0].0, subject.memory.place());
    assert!(queued.errors[0].1.is_device(), "{:?}", queued.errors);
    assert_eq!(subject.memory.usage().live_count, before.live_count - 2);
    assert!(device::take_release_errors().errors.is_empty(), "they are told once");
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

/// Work holds the last lease of some memory. When the memory is released, its owner uses the same
/// stream, waits for the same event, and does everything else that a program may do.
pub(crate) fn what_work_held_last_may_use_the_stream_when_it_is_released(subject: &Subject) {
    let Some(stream) = &subject.stream else { return };
    // Which thread finds the work over: one that waits for it, one that waits for the stream, one
    // that reads the result, or the library's own.
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
                drop(written.hold(LeaseKind::Pin).unwrap());
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
