//! Two devices.

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::memory::{DeviceKind, copied_bytes};
use crossdock_cuda as cuda;

use crate::conformance::{bytes, numbers};
use crate::gate;
use crate::setting::{alone, beside, memory, mock, only_mock, place};

/// Whether there is a second device. Without one, reports that the test was not run.
fn are_two() -> bool {
    crate::setting::begin();
    let are_two = cuda::devices().unwrap().len() >= 2;
    if !are_two {
        crossdock_testkit::not_run("copies between devices of CUDA: there is one device");
    }
    are_two
}

#[test]
fn two_devices_copy_directly_and_the_bytes_are_counted_once() {
    let _alone = alone();
    if !are_two() {
        return;
    }
    let (first, second) = (memory(DeviceKind::CUDA, 0), memory(DeviceKind::CUDA, 1));
    let sent = Buffer::from_vec(numbers(1000)).unwrap().copy_to(&first).unwrap();
    let (before, calls) = (copied_bytes(), mock().map(|mock| mock.calls("cuMemcpyPeerAsync")));
    let copy = sent.copy_to(&second).unwrap();
    assert_eq!((copied_bytes() - before, copy.place()), (1000, second.place()));
    let back = copy.copy_to(&first).unwrap();
    assert_eq!(mock().map(|mock| mock.calls("cuMemcpyPeerAsync")), calls.map(|calls| calls + 2));
    assert_eq!(bytes(&copy), numbers(1000));
    assert_eq!(bytes(&back), numbers(1000));
    assert!(copy.map_to(&first).unwrap().is_none());
}

#[test]
fn two_devices_copy_in_a_stream_of_either() {
    let _others = beside();
    if !are_two() {
        return;
    }
    let (first, second) = (memory(DeviceKind::CUDA, 0), memory(DeviceKind::CUDA, 1));
    let sent = Buffer::from_vec(numbers(1000)).unwrap().copy_to(&first).unwrap();
    for ordinal in [0, 1] {
        let stream = device::get(place(DeviceKind::CUDA, ordinal)).unwrap().stream().unwrap().unwrap();
        let paused = gate::pause(&stream);
        let copy = sent.copy_to_in(&second, &*stream).unwrap();
        let event = copy.event.unwrap();
        assert!(!event.is_done());
        drop(paused);
        event.wait().unwrap();
        assert_eq!(bytes(&copy.buffer), numbers(1000));
    }
}

#[test]
fn devices_that_do_not_reach_each_other_copy_all_the_same() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    mock.set("reaches_peers", 0);
    let sent = Buffer::from_vec(numbers(1000)).unwrap().copy_to(&memory(DeviceKind::CUDA, 3)).unwrap();
    let copy = sent.copy_to(&memory(DeviceKind::CUDA, 0)).unwrap();
    mock.set("reaches_peers", 1);
    assert_eq!(bytes(&copy), numbers(1000));
}
