//! Streams and events of this library and of other libraries, and combinations.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::{self, Device, Effect, Stream};
use crossdock::memory::{DeviceKind, LeaseKind};
use crossdock_mock_cuda::Status;

use crate::conformance::{bytes, numbers};
use crate::gate;
use crate::raw::{self, Current, cu};
use crate::setting::{alone, begin, beside, memory, only_mock, place, set};

fn device() -> Arc<dyn Device> {
    memory(DeviceKind::CUDA, 0);
    device::get(place(DeviceKind::CUDA, 0)).unwrap()
}

fn stream() -> Arc<dyn Stream> {
    device().stream().unwrap().unwrap()
}

#[test]
fn a_stream_waits_for_another_and_the_host_goes_on() {
    let _others = beside();
    let (there, here) = (memory(DeviceKind::CUDA, 0), Buffer::from_vec(numbers(1000)).unwrap());
    let (first, second) = (stream(), stream());
    let (sent, back) = (Buffer::on(&there, 1000).unwrap(), Buffer::zeroed(1000).unwrap());
    let paused = gate::pause(&first);
    let arrived = here.copy_into_in(&sent, &*first).unwrap().unwrap();
    let copied = sent.copy_into_in(&back, &*second).unwrap().unwrap();
    assert!(!arrived.is_done() && !copied.is_done());
    assert!(!arrived.raw().is_null() && !first.raw().is_null());
    drop(paused);
    copied.wait().unwrap();
    assert!(arrived.is_done(), "the second stream came after it");
    assert_eq!(back.read().unwrap()[..], numbers(1000));
    second.wait(&arrived).unwrap();
    assert!(matches!(arrived.poll(), Some(Ok(()))));
}

#[test]
fn what_a_stream_reads_of_the_host_is_what_was_written_before_it_in_the_stream() {
    let _others = beside();
    for kind in [DeviceKind::CUDA, DeviceKind::CUDA_MANAGED, DeviceKind::CUDA_HOST] {
        let (there, stream) = (memory(kind, 0), stream());
        let sent = Buffer::from_vec(numbers(3000)).unwrap().copy_to(&there).unwrap();
        let (between, last) = (Buffer::zeroed(3000).unwrap(), Buffer::on(&there, 3000).unwrap());
        let paused = gate::pause(&stream);
        sent.copy_into_in(&between, &*stream).unwrap();
        let end = between.copy_into_in(&last, &*stream).unwrap().unwrap();
        assert!(!end.is_done());
        drop(paused);
        assert_eq!(bytes(&last), numbers(3000), "{kind}");
    }
}

#[test]
fn long_copies_of_usual_memory_go_in_pieces_and_arrive_whole() {
    let _others = beside();
    let (there, stream) = (memory(DeviceKind::CUDA, 0), stream());
    for nbytes in [(4 << 20) - 1, 4 << 20, (4 << 20) + 1, (9 << 20) + 12_345] {
        let content = numbers(nbytes);
        let sent = Buffer::from_vec(content.clone()).unwrap().copy_to_in(&there, &*stream).unwrap();
        let back = Buffer::zeroed(nbytes).unwrap();
        sent.buffer.copy_into_in(&back, &*stream).unwrap();
        assert!(back.read().unwrap()[..] == content, "{nbytes} bytes");
    }
}

#[test]
fn streams_of_others_are_wrapped_and_left_alone() {
    let _others = beside();
    let _current = Current::of(0);
    let theirs = raw::stream();
    let (there, here) = (memory(DeviceKind::CUDA, 0), Buffer::from_vec(numbers(1000)).unwrap());
    // The default stream by each of its names, the calling thread's stream, and a new stream.
    for raw in [0, 1, 2, theirs] {
        let raw = std::ptr::without_provenance_mut::<c_void>(raw);
        // SAFETY: `raw` is a default stream, or the stream of this driver that is destroyed after
        // the loop.
        let stream = unsafe { device().wrap_stream(raw) }.unwrap().unwrap();
        assert_eq!((stream.raw(), stream.place()), (raw, there.place()));
        let sent = here.copy_to_in(&there, &*stream).unwrap();
        sent.event.as_ref().unwrap().wait().unwrap();
        stream.synchronize().unwrap();
        assert_eq!(bytes(&sent.buffer), numbers(1000));
    }
    cu!(cuStreamSynchronize(theirs => usize));
    cu!(cuStreamDestroy_v2(theirs => usize));
}

#[test]
fn a_stream_of_another_device_is_refused() {
    let _others = beside();
    begin();
    let devices = crossdock_cuda::devices().unwrap().len() as c_int;
    if devices < 2 {
        return crossdock_testkit::not_run("a stream of another device of CUDA: there is one device");
    }
    let _current = Current::of(1);
    let theirs = raw::stream();
    // SAFETY: the stream belongs to this driver and is alive until it is destroyed below.
    let error = unsafe { device().wrap_stream(std::ptr::without_provenance_mut(theirs)) }.unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("cuda:0"), "{error}");
    cu!(cuStreamDestroy_v2(theirs => usize));
}

#[test]
fn a_stream_of_another_context_of_the_same_device_is_refused() {
    let _others = beside();
    begin();
    // Initialises the driver, in case this test runs in its own process.
    let _primary = Current::of(0);
    let mut context = 0usize;
    cu!(cuCtxCreate_v2(&raw mut context => *mut usize, 0 => u32, 0 => c_int));
    let theirs = raw::stream();
    // SAFETY: the stream belongs to this driver and is alive until it is destroyed below.
    let error = unsafe { device().wrap_stream(std::ptr::without_provenance_mut(theirs)) }.unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("cuda:0"), "{error}");
    cu!(cuStreamDestroy_v2(theirs => usize));
    cu!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn events_of_others_are_waited_for_and_left_alone() {
    let _others = beside();
    let _current = Current::of(0);
    let (stream, other) = (stream(), stream());
    let mut theirs = 0usize;
    cu!(cuEventCreate(&raw mut theirs => *mut usize, 2 => u32));
    let paused = gate::pause(&stream);
    cu!(cuEventRecord(theirs => usize, stream.raw() => *mut c_void));
    // SAFETY: the event belongs to this driver, and is destroyed only after `event` is dropped
    // below.
    let event = unsafe { device().wrap_event(std::ptr::without_provenance_mut(theirs)) }.unwrap().unwrap();
    assert!(!event.is_done());
    assert_eq!(event.raw().addr(), theirs);
    // Noted on memory, the event delays later work in streams and on the host.
    let there = Buffer::on(&memory(DeviceKind::CUDA, 0), 100).unwrap();
    there.note_event(event.clone(), Effect::Writes).unwrap();
    let back = Buffer::zeroed(100).unwrap();
    let copied = there.copy_into_in(&back, &*other).unwrap().unwrap();
    assert!(!copied.is_done());
    drop(paused);
    event.wait().unwrap();
    assert!(copied.wait().is_ok() && there.events().unwrap().is_empty());
    drop((event, copied));
    cu!(cuEventSynchronize(theirs => usize));
    cu!(cuEventDestroy_v2(theirs => usize));
}

#[test]
fn leases_are_given_back_when_work_is_over_though_nobody_asks() {
    let _others = beside();
    let (there, stream) = (memory(DeviceKind::CUDA, 0), stream());
    let here = Buffer::from_vec(numbers(1000)).unwrap();
    drop(here.copy_to_in(&there, &*stream).unwrap());
    while here.device_lease(LeaseKind::Write).is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn events_and_streams_are_used_again() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    let (there, stream) = (memory(DeviceKind::CUDA, 0), stream());
    let here = Buffer::from_vec(numbers(1000)).unwrap();
    let round = || {
        let event = here.copy_to_in(&there, &*stream).unwrap().event.unwrap();
        here.settle().unwrap();
        // The event returns when its last holder drops it, which may be the thread that polls for
        // finished work.
        while Arc::strong_count(&event) > 1 {
            std::thread::yield_now();
        }
        drop(event);
        drop(here.copy_to(&there).unwrap());
    };
    round();
    let made = ["cuEventCreate", "cuStreamCreate", "cuMemHostAlloc"];
    let before = made.map(|function| mock.calls(function));
    for _ in 0..20 {
        round();
    }
    assert_eq!(made.map(|function| mock.calls(function)), before);
}

#[test]
fn work_that_failed_on_the_device_is_told_by_its_event_and_gives_its_leases_back() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    let (there, stream) = (memory(DeviceKind::CUDA, 0), stream());
    let (here, sent) = (Buffer::from_vec(numbers(1000)).unwrap(), Buffer::on(&there, 1000).unwrap());
    mock.settle();
    let paused = gate::pause(&stream);
    mock.fail_work(1, Status::ILLEGAL_ADDRESS);
    let event = here.copy_into_in(&sent, &*stream).unwrap().unwrap();
    drop(paused);
    for _ in 0..2 {
        let error = event.wait().unwrap_err();
        assert!(error.is_device() && error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
    }
    assert!(sent.copy_into(&here).unwrap_err().is_device());
    assert!(here.device_lease(LeaseKind::Write).is_ok() && sent.device_lease(LeaseKind::Write).is_ok());
    // A broken context performs no work until the device is reset.
    assert!(Buffer::on(&there, 10).is_err() && stream.record().is_err());
    mock.reset();
    set(mock);
    assert!(sent.settle().is_err());
    here.copy_into_in(&sent, &*stream).unwrap();
    assert_eq!(bytes(&sent), numbers(1000));
    device::take_release_errors();
}
