//! Devices of CUDA: they conform to the device tests, access each other's memory, and share memory
//! with other processes.
//!
//! The tests use the mock driver, or the real one if `CROSSDOCK_REQUIRE_GPU` is set.

mod descriptors;
mod gate;
mod importing;
mod mapping;
mod memory;
mod peers;
mod places;
mod processes;
mod raw;
mod setting;
mod streams;
mod theirs;

use crossdock::memory::DeviceKind;
use crossdock_conformance::{self as conformance, Subject, conforms};
use setting::{mock, place};

/// One kind of memory, and the function of the driver that frees it.
fn subject(kind: DeviceKind, frees: &'static str) -> Subject {
    let memory = setting::memory(kind, 0);
    of(memory, frees, kind != DeviceKind::CUDA)
}

fn exportable() -> Subject {
    setting::begin();
    of(crossdock_cuda::exportable_memory(0).unwrap(), "cuMemFree_v2", false)
}

/// Where the device has no such memory, the other memory of the driver.
fn shareable() -> Subject {
    setting::shareable().map_or_else(exportable, |memory| of(memory, "cuMemUnmap", false))
}

fn of(
    memory: std::sync::Arc<dyn crossdock::device::MemoryManager>,
    frees: &'static str,
    is_mappable: bool,
) -> Subject {
    let device = crossdock::device::get(place(DeviceKind::CUDA, 0)).unwrap();
    let stream = device.stream().unwrap().unwrap();
    let paused = stream.clone();
    Subject {
        manager: memory.clone(),
        memory,
        stream: Some(stream),
        pause: Some(Box::new(move || gate::pause(&paused))),
        new_stream: Some(Box::new(move || device.stream().unwrap().unwrap())),
        second: mock().map(|_| setting::memory(DeviceKind::CUDA, 1)),
        missing: Some(place(DeviceKind::CUDA, 9999)),
        is_mappable,
        fail_release: mock().map(|mock| -> Box<dyn Fn()> {
            Box::new(move || mock.fail(frees, 1, crossdock_mock_cuda::Status::INVALID_VALUE))
        }),
        is_exact: true,
        strided: None,
    }
}

/// The device's default memory, in which its kernels work.
fn usual() -> Subject {
    let subject = subject(DeviceKind::CUDA, "cuMemFreeAsync");
    Subject { strided: Some(crossdock::device::get(place(DeviceKind::CUDA, 0)).unwrap()), ..subject }
}

conforms!(device, usual());
conforms!(pinned, subject(DeviceKind::CUDA_HOST, "cuMemFreeHost"));
conforms!(managed, subject(DeviceKind::CUDA_MANAGED, "cuMemFree_v2"));
conforms!(of_the_driver, exportable());
conforms!(with_descriptors, shareable());
