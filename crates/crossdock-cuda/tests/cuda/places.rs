//! The devices, and how they are opened.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::memory::DeviceKind;
use crossdock_cuda as cuda;

use crate::conformance::numbers;
use crate::raw::{self, Current};
use crate::setting::{alone, begin, beside, memory, mock, only_mock, place};

#[test]
fn devices_are_described_without_being_opened() {
    let _alone = alone();
    begin();
    let contexts = mock().map(|mock| mock.count("retained"));
    let devices = cuda::devices().unwrap();
    for (ordinal, device) in devices.iter().enumerate() {
        assert_eq!(device.place, place(DeviceKind::CUDA, ordinal as i32));
        assert!(
            !device.name.is_empty() && device.total_nbytes > 0 && device.multiprocessors > 0,
            "{device:?}"
        );
        assert!(device.compute_capability.0 >= 3, "{device:?}");
    }
    assert!(!devices.is_empty());
    assert_eq!(mock().map(|mock| mock.count("retained")), contexts);
    assert!(cuda::driver_version().unwrap() >= (11, 2));
}

#[test]
fn a_number_that_no_device_has_is_out_of_bounds_and_named() {
    let _others = beside();
    begin();
    for kind in [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED] {
        for ordinal in [-1, 99, i32::MIN, i32::MAX] {
            let error = device::get(place(kind, ordinal)).unwrap_err();
            assert!(error.is_bounds() && error.to_string().contains(&ordinal.to_string()), "{error}");
        }
    }
    assert!(cuda::free_nbytes(99).unwrap_err().is_bounds());
    assert!(cuda::exportable_memory(-1).unwrap_err().is_bounds());
}

#[test]
fn a_device_is_opened_once_for_all_its_places() {
    let _others = beside();
    let kinds = [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED];
    for kind in kinds {
        let (first, again) = (memory(kind, 0), memory(kind, 0));
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(first.place(), place(kind, 0));
        let device = device::get(place(kind, 0)).unwrap();
        assert!(!device.name().is_empty());
        assert_eq!(device.stream().unwrap().unwrap().place(), place(DeviceKind::CUDA, 0));
    }
    let exportable = || cuda::exportable_memory(0).unwrap();
    assert!(Arc::ptr_eq(&exportable(), &exportable()));
    assert_eq!(exportable().place(), place(DeviceKind::CUDA, 0));
    let free = cuda::free_nbytes(0).unwrap();
    assert!(free > 0 && free <= cuda::devices().unwrap()[0].total_nbytes);
}

#[test]
fn a_device_has_one_context_which_is_shared_with_the_program() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    for kind in [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED] {
        drop(Buffer::on(&memory(kind, 1), 10).unwrap());
    }
    // Memory of a pool is freed in stream order.
    mock.settle();
    let before = mock.live();
    let current = Current::of(1);
    assert_eq!(mock.live().contexts, before.contexts);
    drop(current);
    assert_eq!(mock.live(), before);
}

#[test]
fn what_was_current_for_the_program_stays_so() {
    let _others = beside();
    let there = memory(DeviceKind::CUDA, 0);
    assert_eq!(raw::current(), 0);
    let work = || {
        let stream = device::get(there.place()).unwrap().stream().unwrap().unwrap();
        let here = Buffer::from_vec(numbers(1000)).unwrap();
        let sent = here.copy_to_in(&there, &*stream).unwrap();
        sent.event.unwrap().wait().unwrap();
        let error = Buffer::on(&there, isize::MAX as usize).unwrap_err();
        assert!(error.is_out_of_memory());
    };
    work();
    assert_eq!(raw::current(), 0, "there was none");
    let last = cuda::devices().unwrap().len() as i32 - 1;
    let _own = Current::of(last);
    let own = raw::current();
    work();
    assert_eq!(raw::current(), own);
    if let Some(mock) = mock() {
        assert_eq!(mock.count("current"), 1, "and nothing is left on the stack of contexts");
    }
}
