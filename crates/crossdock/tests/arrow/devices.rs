//! Devices, their memory, their streams.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::fenced::{FencedDevice, Operation, Ways};
use crossdock::device::{self, Device, Effect, Event, Moved, Signal};
use crossdock::memory::{DeviceKind, Place};
use crossdock::pool::Pool;

use crate::{buffer, bytes, fenced, host, numbers};

#[test]
fn a_device_has_a_name_for_people_and_a_place_for_programs() {
    let device = FencedDevice::new(3);
    assert_eq!(device.name(), "fenced device 3");
    assert_eq!(device.place().to_string(), "ext_dev:3");
}

#[test]
fn places_are_compared_and_not_devices() {
    let (first, second) = (FencedDevice::new(0), FencedDevice::new(1));
    assert_ne!(first.place(), second.place());
    assert_ne!(first.place(), Place::CPU);
    assert_eq!(first.place(), Place::new(DeviceKind::EXT_DEV, 0));
}

#[test]
fn the_processor_has_the_number_0() {
    assert_eq!((Place::CPU.kind(), Place::CPU.ordinal()), (DeviceKind::CPU, 0));
    assert!(device::get(Place::new(DeviceKind::CPU, -1)).unwrap_err().is_bounds());
}

#[test]
fn a_kind_of_device_without_a_name_is_kept_as_its_number() {
    assert_eq!((DeviceKind::CUDA.0, DeviceKind::CUDA.name()), (2, Some("cuda")));
    let unknown = DeviceKind(1000);
    assert_eq!((unknown.name(), unknown.to_string().as_str()), (None, "kind1000"));
}

#[test]
fn pinned_and_managed_memory_is_the_hosts_too() {
    for kind in [DeviceKind::CPU, DeviceKind::CUDA_HOST, DeviceKind::ROCM_HOST, DeviceKind::CUDA_MANAGED] {
        assert!(Place::new(kind, 0).is_host(), "{kind}");
    }
    assert!(!Place::new(DeviceKind::CUDA, 0).is_host());
}

#[test]
fn a_device_has_one_usual_memory() {
    let device = FencedDevice::new(0);
    assert!(Arc::ptr_eq(&device.memory(), &device.memory()));
    assert_eq!(device.memory().place(), device.place());
}

#[test]
fn a_device_makes_streams_or_says_that_it_has_none() {
    let fenced = FencedDevice::new(0);
    assert_eq!(fenced.stream().unwrap().unwrap().place(), fenced.place());
    assert!(device::get(Place::CPU).unwrap().stream().unwrap().is_none());
}

#[test]
fn the_processor_is_got_like_any_device() {
    let processor = device::get(Place::CPU).unwrap();
    assert!(Arc::ptr_eq(&processor, &device::get(Place::CPU).unwrap()));
    assert!(Arc::ptr_eq(&processor.memory(), &device::memory(Place::CPU).unwrap()));
}

#[test]
fn a_pool_is_the_memory_that_copies_are_charged_to() {
    let pool = Pool::system().unwrap();
    let memory = device::pool_memory(pool.clone());
    let copy = buffer(100).copy_to(&memory).unwrap();
    assert_eq!((copy.pool_name(), pool.statistics().live_nbytes), (Some("system"), 128));
    assert_eq!(memory.usage().live_nbytes, 128);
}

#[test]
fn new_memory_on_a_device_is_checked_to_be_there() {
    let device = FencedDevice::new(0);
    device.set_limit(1000);
    let fresh = Buffer::on(&device.memory(), 1000).unwrap();
    assert_eq!((fresh.place(), fresh.nbytes()), (device.place(), 1000));
    let memory = device.memory();
    assert!(memory.allocate(1).unwrap_err().is_out_of_memory());
}

#[test]
fn who_copies_is_asked_before_and_an_error_of_the_copy_is_final() {
    let (device, there) = fenced(100);
    let memory = device.memory();
    assert!(memory.can_copy(Place::CPU, device.place()));
    device.set_ways(Ways::NONE);
    assert!(!memory.can_copy(Place::CPU, device.place()));
    assert!(there.copy_to(&host()).unwrap_err().is_unsupported());
    device.set_ways(Ways::ALL);
    device.fail(Operation::Transfer, 1);
    let error = there.copy_to(&host()).unwrap_err();
    assert!(error.is_device() && !error.is_unsupported(), "{error}");
    let room = Buffer::zeroed(100).unwrap();
    there.copy_into(&room).unwrap();
    assert_eq!(room.read().unwrap()[..], numbers(100));
}

#[test]
fn a_view_that_cannot_be_is_none_and_one_that_fails_an_error() {
    let (device, there) = fenced(100);
    assert!(there.map_to(&host()).unwrap().is_none());
    device.set_mappable(true);
    let mapped = there.map_to(&host()).unwrap().unwrap();
    assert_eq!((mapped.place(), bytes(&mapped)), (Place::CPU, numbers(100)));
    drop(mapped);
    device.fail(Operation::Map, 1);
    assert!(there.map_to(&host()).unwrap_err().is_device());
    let memory = device.memory();
    assert!(memory.map(&there, &*host()).unwrap().is_some(), "what a manager answers is the same");
}

#[test]
fn view_or_copy_says_which_it_was_and_hides_no_error() {
    let (device, there) = fenced(100);
    assert_eq!(there.map_or_copy_to(&host()).unwrap().moved, Moved::Copied { nbytes: 100 });
    device.set_mappable(true);
    assert_eq!(there.map_or_copy_to(&host()).unwrap().moved, Moved::Mapped);
    device.fail(Operation::Map, 1);
    assert!(there.map_or_copy_to(&host()).unwrap_err().is_device(), "and no copy");
}

#[test]
fn an_event_is_recorded_by_a_stream_or_made_by_hand() {
    let stream = FencedDevice::new(0).stream().unwrap().unwrap();
    stream.record().unwrap().wait().unwrap();
    let (signal, completion) = Signal::new();
    assert!(!signal.is_done());
    completion.finish(Ok(()));
    signal.wait().unwrap();
}

#[test]
fn an_event_is_waited_for_or_asked() {
    let (signal, completion) = Signal::new();
    assert!(signal.poll().is_none());
    drop(completion);
    assert!(signal.poll().unwrap().unwrap_err().is_device(), "abandoned work has failed");
    assert!(signal.wait().unwrap_err().is_device());
    let event: Arc<dyn Event> = signal;
    assert!(event.raw().is_null());
}

#[test]
fn a_stream_waits_for_events_and_is_waited_for() {
    let (device, there) = fenced(100);
    let (first, second) = (device.stream().unwrap().unwrap(), device.stream().unwrap().unwrap());
    let room = Buffer::zeroed(100).unwrap();
    let paused = device.pause();
    let copied = there.copy_into_in(&room, &*first).unwrap().unwrap();
    second.wait(&copied).unwrap();
    assert!(!copied.is_done());
    drop(paused);
    second.synchronize().unwrap();
    assert!(copied.is_done(), "the second stream came after it");
    assert!(first.raw().is_null(), "there is no driver behind it");
    assert_eq!(room.read().unwrap()[..], numbers(100));
}

#[test]
fn a_kind_is_registered_once_and_can_be_taken_out() {
    let kind = DeviceKind(4711);
    let open = |place: Place| Ok(FencedDevice::new(place.ordinal()) as Arc<dyn Device>);
    device::register(Arc::new((kind, open))).unwrap();
    let error = device::register(Arc::new((kind, open))).unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("4711"), "{error}");
    assert!(device::register(Arc::new((DeviceKind::CPU, open))).unwrap_err().is_conflict());
    device::unregister(kind).unwrap();
    assert!(device::unregister(kind).unwrap_err().is_unsupported());
}

#[test]
fn a_kind_that_nobody_registered_is_unsupported_and_named() {
    for error in [
        device::get(Place::new(DeviceKind::METAL, 0)).unwrap_err(),
        device::memory(Place::new(DeviceKind::METAL, 0)).unwrap_err(),
    ] {
        assert!(error.is_unsupported() && error.to_string().contains("metal"), "{error}");
    }
}

#[test]
fn a_manager_knows_its_place() {
    let device = FencedDevice::new(7);
    assert_eq!(device.memory().place(), device.place());
    assert_eq!(host().place(), Place::CPU);
}

#[test]
fn what_is_in_use_on_each_device_is_listed() {
    let rows = device::usage();
    assert_eq!(rows[0].1, Place::CPU);
    let (device, there) = fenced(100);
    assert_eq!(device.memory().usage().live_nbytes, 100);
    drop(there);
    assert_eq!((device.memory().usage().live_nbytes, device.memory().usage().peak_nbytes), (0, 100));
}

#[test]
fn an_error_when_device_memory_is_freed_is_kept_and_nothing_ends() {
    let device = FencedDevice::new(9);
    let there = Buffer::on(&device.memory(), 10).unwrap();
    device.fail(Operation::Release, 1);
    drop(there);
    let errors = device::take_release_errors().errors;
    assert!(errors.iter().any(|(place, error)| *place == device.place() && error.is_device()), "{errors:?}");
}

#[test]
fn a_copy_in_a_stream_returns_with_its_event_noted_on_both_sides() {
    let (device, there) = fenced(100);
    let stream = device.stream().unwrap().unwrap();
    let paused = device.pause();
    let placed = there.copy_to_in(&host(), &*stream).unwrap();
    assert_eq!(placed.moved, Moved::Copied { nbytes: 100 });
    assert_eq!(placed.buffer.events().unwrap()[0].1, Effect::Writes);
    assert_eq!(there.events().unwrap()[0].1, Effect::Reads);
    drop(paused);
    assert_eq!(placed.buffer.read().unwrap()[..], numbers(100), "reading waits");
}
