//! Allocation and release of memory.

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::memory::{DeviceKind, LeaseKind};
use crossdock_cuda as cuda;
use crossdock_mock_cuda::{Mock, Status};

use crate::conformance::{bytes, numbers};
use crate::raw::Current;
use crate::setting::{WITHOUT_MANAGED, WITHOUT_POOLS, alone, beside, memory, mock, only_mock, place};

/// The number of calls of a function during `run`, and its result.
fn calls<T>(mock: &Mock, function: &str, run: impl FnOnce() -> T) -> (u64, T) {
    let before = mock.calls(function);
    let result = run();
    (mock.calls(function) - before, result)
}

#[test]
fn memory_of_a_device_comes_from_a_pool_by_one_call_and_goes_back_by_one() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    let there = memory(DeviceKind::CUDA, 0);
    drop(Buffer::on(&there, 1000).unwrap());
    mock.settle();
    let before = mock.count("device_memory");
    let (taken, buffer) = calls(mock, "cuMemAllocFromPoolAsync", || Buffer::on(&there, 1000).unwrap());
    assert_eq!(mock.count("device_memory"), before + 1);
    let (freed, ()) = calls(mock, "cuMemFreeAsync", || drop(buffer));
    assert_eq!((taken, freed), (1, 1));
    mock.settle();
    assert_eq!(mock.count("device_memory"), before);
}

#[test]
fn many_allocations_are_asked_for_once_whether_they_can_be_used() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    let there = memory(DeviceKind::CUDA, 0);
    let _current = Current::of(0);
    // With the context current, each allocation takes two calls: the query of the current context,
    // and the allocation.
    let (each, buffers) = calls(mock, "*", || [(); 10].map(|()| Buffer::on(&there, 1000).unwrap()));
    assert_eq!(each, 20);
    let (asked, ()) = calls(mock, "cuStreamQuery", || {
        let content = Buffer::from_vec(numbers(1000)).unwrap();
        buffers.iter().for_each(|buffer| content.copy_into(buffer).unwrap());
    });
    assert_eq!(asked, 1);
    assert!(
        buffers.iter().all(|buffer| buffer.events().unwrap().is_empty() && bytes(buffer) == numbers(1000))
    );
    let (each, ()) = calls(mock, "*", || drop(buffers));
    assert_eq!(each, 20);
}

#[test]
fn memory_that_cannot_be_used_yet_is_waited_for_and_what_fails_then_is_told() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    let (there, content) = (memory(DeviceKind::CUDA, 0), Buffer::from_vec(numbers(1000)).unwrap());
    let fresh = Buffer::on(&there, 1000).unwrap();
    mock.fail("cuStreamQuery", 1, Status::NOT_READY);
    let waits = mock.calls("cuStreamSynchronize");
    content.copy_into(&fresh).unwrap();
    assert!(mock.calls("cuStreamSynchronize") >= waits + 2, "for the memory, and for the copy");
    let fresh = Buffer::on(&there, 1000).unwrap();
    mock.fail("cuStreamQuery", 1, Status::LAUNCH_FAILED);
    let error = content.copy_into(&fresh).unwrap_err();
    assert!(
        error.is_device() && error.to_string().contains("cuStreamQuery failed with error 719"),
        "{error}"
    );
    content.copy_into(&fresh).unwrap();
    assert_eq!(bytes(&fresh), numbers(1000));
}

#[test]
fn a_device_without_pools_has_its_memory_of_the_driver() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    let there = memory(DeviceKind::CUDA, WITHOUT_POOLS);
    let (taken, buffer) = calls(mock, "cuMemAlloc_v2", || Buffer::on(&there, 1000).unwrap());
    Buffer::from_vec(numbers(1000)).unwrap().copy_into(&buffer).unwrap();
    assert_eq!(bytes(&buffer), numbers(1000));
    let (freed, ()) = calls(mock, "cuMemFree_v2", || drop(buffer));
    assert_eq!((taken, freed), (1, 1));
    cuda::trim(WITHOUT_POOLS, 0).unwrap();
}

#[test]
fn what_the_pool_keeps_is_given_back_when_asked_for() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    let there = memory(DeviceKind::CUDA, 0);
    let kept = Buffer::on(&there, 1 << 20).unwrap();
    drop(Buffer::on(&there, 64 << 20).unwrap());
    let full = mock.count("reserved");
    cuda::trim(0, 0).unwrap();
    assert!(full - mock.count("reserved") >= 64 << 20);
    drop(kept);
}

#[test]
fn memory_of_no_bytes_takes_no_call() {
    let _alone = alone();
    for kind in [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED] {
        let memory = memory(kind, 0);
        let before = mock().map(|mock| mock.calls("*"));
        let (first, second) = (Buffer::on(&memory, 0).unwrap(), Buffer::on(&memory, 0).unwrap());
        assert_eq!(first.as_ptr(), second.as_ptr());
        first.copy_into(&second).unwrap();
        assert_eq!(memory.usage().live_count, 2);
        drop((first, second));
        assert_eq!(mock().map(|mock| mock.calls("*")), before);
    }
}

#[test]
fn memory_that_the_host_reaches_is_zero_when_it_is_new() {
    let _others = beside();
    for kind in [DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED] {
        let memory = memory(kind, 0);
        for _ in 0..3 {
            let mut buffer = Buffer::on(&memory, 100_000).unwrap();
            let all = buffer.as_mut_slice().unwrap();
            assert!(all.iter().all(|&byte| byte == 0), "{kind}");
            all.fill(0xEE);
        }
    }
}

#[test]
fn managed_memory_beyond_what_is_free_is_refused_before_the_driver_is_asked() {
    let _alone = alone();
    let managed = memory(DeviceKind::CUDA_MANAGED, 0);
    let free = cuda::free_nbytes(0).unwrap() as usize;
    let before = mock().map(|mock| mock.calls("cuMemAllocManaged"));
    let error = Buffer::on(&managed, free + 1).unwrap_err();
    assert!(error.is_out_of_memory() && error.to_string().contains(&(free + 1).to_string()), "{error}");
    assert!(error.to_string().contains("cuda_managed:0"), "{error}");
    assert_eq!(mock().map(|mock| mock.calls("cuMemAllocManaged")), before);
    assert_eq!(managed.usage().live_count, 0);
}

#[test]
fn managed_memory_that_host_and_device_cannot_touch_at_a_time_is_unsupported() {
    let _others = beside();
    let Some(_) = only_mock() else { return };
    let error = Buffer::on(&memory(DeviceKind::CUDA_MANAGED, WITHOUT_MANAGED), 10).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("89"), "{error}");
}

#[test]
fn an_error_for_want_of_memory_says_where_and_how_much_and_other_memory_is_had_from_what_the_pool_kept() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    let (there, driver) = (memory(DeviceKind::CUDA, 0), cuda::exportable_memory(0).unwrap());
    let total = cuda::devices().unwrap()[0].total_nbytes as usize;
    let error = Buffer::on(&there, total + 1).unwrap_err();
    assert!(error.is_out_of_memory() && error.to_string().contains(&total.to_string()), "{error}");
    mock.fail("cuMemAllocFromPoolAsync", 1, Status::OUT_OF_MEMORY);
    let error = Buffer::on(&there, 4321).unwrap_err();
    let text = error.to_string();
    assert!(error.is_out_of_memory() && text.contains("4321 bytes on cuda:0"), "{text}");
    assert!(text.contains("cuMemAllocFromPoolAsync failed with error 2 (CUDA_ERROR_OUT_OF_MEMORY"), "{text}");
    // The first failure trims the pool; then the allocation succeeds.
    mock.fail("cuMemAlloc_v2", 1, Status::OUT_OF_MEMORY);
    let (trimmed, buffer) = calls(mock, "cuMemPoolTrimTo", || Buffer::on(&driver, 1000));
    assert_eq!((trimmed, buffer.unwrap().nbytes()), (1, 1000));
    assert_eq!((there.usage().live_count, driver.usage().live_count), (0, 0));
}

#[test]
fn memory_of_a_context_that_has_gone_is_forgotten_without_an_error() {
    let _alone = alone();
    let Some(mock) = only_mock() else { return };
    device::take_release_errors();
    let kinds = [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED];
    let buffers = kinds.map(|kind| Buffer::on(&memory(kind, 0), 10).unwrap());
    let stream = device::get(place(DeviceKind::CUDA, 0)).unwrap().stream().unwrap();
    mock.set("gone", 1);
    let error = Buffer::on(&memory(DeviceKind::CUDA, 0), 10).unwrap_err();
    assert!(error.is_device() && error.to_string().contains("error 4"), "{error}");
    drop((buffers, stream));
    mock.set("gone", 0);
    let errors = device::take_release_errors().errors;
    assert!(errors.is_empty(), "{errors:?}");
    assert!(kinds.iter().all(|&kind| memory(kind, 0).usage().live_count == 0));
}

#[test]
fn memory_that_work_was_done_on_is_free_for_others_as_soon_as_it_is_dropped() {
    let _others = beside();
    let there = memory(DeviceKind::CUDA, 0);
    let streams =
        [(); 2].map(|()| device::get(place(DeviceKind::CUDA, 0)).unwrap().stream().unwrap().unwrap());
    for round in 0..200usize {
        let content = numbers(1000 + round);
        let first =
            Buffer::from_vec(content.clone()).unwrap().copy_to_in(&there, &*streams[round % 2]).unwrap();
        let second = first.buffer.copy_to_in(&there, &*streams[(round + 1) % 2]).unwrap();
        drop(first);
        assert!(second.buffer.device_lease(LeaseKind::Share).is_ok());
        assert!(bytes(&second.buffer) == content);
    }
}
