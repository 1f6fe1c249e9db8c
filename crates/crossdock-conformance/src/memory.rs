//! Memory: its place, its manager, its slices, its leases, and its end.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::{self, Effect, Event, Moved, Usage};
use crossdock::memory::{Birth, LeaseKind, Place, copied_bytes};

use crate::{SIZES, Subject, bytes, host, numbers};

pub fn new_memory_is_of_the_place_the_size_and_the_manager(subject: &Subject) {
    for nbytes in SIZES {
        let buffer = Buffer::on(&subject.memory, nbytes).unwrap();
        assert_eq!((buffer.place(), buffer.nbytes()), (subject.memory.place(), nbytes));
        assert_eq!(buffer.backing(), subject.memory.backing());
        assert!(Arc::ptr_eq(&buffer.memory_manager().unwrap().unwrap(), &subject.manager));
        assert!(!buffer.is_readonly() && !buffer.as_ptr().is_null());
        assert!(buffer.events().unwrap().is_empty());
    }
}

pub fn memory_is_mapped_or_copied_and_which_it_was_is_said(subject: &Subject) {
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
        // Both have the same bytes, so a write to one is visible in the other; and the bytes
        // outlive the buffer that was mapped.
        mapped.share().unwrap().store(0, 0xAAu8).unwrap();
        assert_eq!(bytes(&there)[0], 0xAA);
        drop((there, placed));
        assert_eq!(mapped.pin().unwrap().load::<u8>(0).unwrap(), 0xAA);
    }
    // Mapped to its own manager, it is another handle.
    let there = subject.sent(&content);
    let same = there.map_or_copy_to(&subject.memory).unwrap();
    assert_eq!((same.moved, same.buffer.as_ptr()), (Moved::Mapped, there.as_ptr()));
    assert!(same.event.is_none());
}

pub fn a_slice_keeps_place_manager_mutability_and_events(subject: &Subject) {
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

pub fn more_memory_than_there_is_is_an_error_that_changes_nothing(subject: &Subject) {
    let kept = subject.sent(&numbers(77));
    for nbytes in [isize::MAX as usize, isize::MAX as usize + 1, usize::MAX - 63, usize::MAX] {
        let error = Buffer::on(&subject.memory, nbytes).unwrap_err();
        assert!(error.is_out_of_memory(), "{nbytes} bytes: {error}");
    }
    assert_eq!(bytes(&kept), numbers(77));
    drop(Buffer::on(&subject.memory, 100).unwrap());
}

pub fn a_device_that_does_not_exist_is_out_of_bounds(subject: &Subject) {
    let Some(missing) = subject.missing else { return };
    let error = device::get(missing).expect_err("a device that does not exist opened");
    assert!(error.is_bounds(), "{error}");
}

pub fn what_is_in_use_is_counted_with_its_peak(subject: &Subject) {
    let usage = || -> Usage { subject.memory.usage() };
    let before = standing_still(usage);
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
    // A pool's threads report their usage in steps, so that its peak is off by some of them.
    let least = if subject.is_exact { during.live_nbytes } else { during.live_nbytes / 2 };
    assert!(after.peak_nbytes >= least, "{during:?} {after:?}");
    assert!(Buffer::on(&subject.memory, usize::MAX).is_err());
    assert_eq!(usage().live_count, before.live_count);
}

/// The usage once it has not changed for 200 ms: what earlier tests used last in a stream is
/// released by a thread of the library.
fn standing_still(usage: impl Fn() -> Usage) -> Usage {
    let mut last = usage();
    loop {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let now = usage();
        if (now.live_nbytes, now.live_count) == (last.live_nbytes, last.live_count) {
            return now;
        }
        last = now;
    }
}

pub fn leases_decide_what_may_be_copied(subject: &Subject) {
    let (here, there) = (Buffer::zeroed(64).unwrap(), subject.sent(&numbers(64)));
    let is_sole = there.birth() == Birth::Sole;
    for kind in [LeaseKind::Read, LeaseKind::Share, LeaseKind::Pin] {
        if kind == LeaseKind::Read && !is_sole {
            assert!(there.device_lease(kind).unwrap_err().is_conflict());
            continue;
        }
        let held = there.device_lease(kind).unwrap();
        assert_eq!((held.kind(), held.nbytes(), held.place()), (kind, 64, there.place()));
        there.copy_into(&here).unwrap_or_else(|error| panic!("from memory under {kind:?}: {error}"));
        let written = here.copy_into(&there);
        assert_eq!(written.is_ok(), kind != LeaseKind::Read, "to memory under {kind:?}: {written:?}");
        drop(held);
    }
    if is_sole {
        let held = there.device_lease(LeaseKind::Write).unwrap();
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
    // A finished copy holds no lease.
    here.write().unwrap();
    drop(there.device_lease(if is_sole { LeaseKind::Write } else { LeaseKind::Share }).unwrap());
}

pub fn what_goes_wrong_in_a_release_is_queued_and_readable(subject: &Subject) {
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
