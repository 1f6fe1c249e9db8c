//! Two devices.

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::memory::{DeviceKind, copied_bytes};
use crossdock_cuda as cuda;

use crate::conformance::{bytes, numbers};
use crate::gate;
use crate::setting::{alone, beside, memory, mock, only_mock, place, shareable};

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
fn memory_with_descriptors_is_copied_to_and_from_another_device() {
    let _alone = alone();
    let (true, Some(there)) = (are_two(), shareable()) else { return };
    let second = memory(DeviceKind::CUDA, 1);
    let sent = Buffer::from_vec(numbers(1000)).unwrap().copy_to(&there).unwrap();
    let calls = || mock().map_or(0, |mock| mock.calls("cuMemSetAccess"));
    let before = calls();
    for _ in 0..2 {
        let stream = device::get(second.place()).unwrap().stream().unwrap().unwrap();
        let copy = sent.copy_to_in(&second, &*stream).unwrap();
        assert_eq!(bytes(&copy.buffer), numbers(1000));
        copy.buffer.slice(500..).unwrap().copy_into(&sent.slice(..500).unwrap()).unwrap();
        let mirrored: Vec<u8> = [&numbers(1000)[500..], &numbers(1000)[500..]].concat();
        assert_eq!(bytes(&sent), mirrored);
        Buffer::from_vec(numbers(1000)).unwrap().copy_into(&sent).unwrap();
    }
    assert_eq!(calls(), before + mock().map_or(0, |_| 1), "a device is allowed once");
    // What was imported is read by another device, too.
    let export = cuda::export_descriptor(&sent).unwrap();
    let imported = cuda::import_descriptor(export.fd(), &export.range()).unwrap();
    let stream = device::get(second.place()).unwrap().stream().unwrap().unwrap();
    let copy = imported.copy_to_in(&second, &*stream).unwrap();
    assert_eq!(bytes(&copy.buffer), numbers(1000));
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
