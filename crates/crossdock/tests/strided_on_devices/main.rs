//! What devices do with strided elements, against the processor's own work and a naive copy: a device of OpenCL, and CUDA over a driver
//! without a GPU (over the real one where `CROSSDOCK_REQUIRE_GPU` is set). Without a device of OpenCL it is left out, unless
//! `CROSSDOCK_REQUIRE_COUNTERPARTS` is set: then that is a failure.
#![cfg(any(feature = "cuda", feature = "opencl"))]

mod arrays;
mod casts;
mod moves;
mod records;

use std::sync::Arc;

use crossdock::device::{self, Device};
use crossdock_testkit::cases;

/// The devices that do strided work here.
fn devices() -> Vec<Arc<dyn Device>> {
    [opencl(), cuda()].into_iter().flatten().collect()
}

#[cfg(feature = "opencl")]
fn opencl() -> Option<Arc<dyn Device>> {
    match device::opencl::devices() {
        Ok(devices) => Some(device::get(devices.first().unwrap().place).unwrap()),
        Err(error) => {
            crossdock_testkit::missing(&format!("a device of OpenCL ({error})"));
            None
        }
    }
}

#[cfg(not(feature = "opencl"))]
fn opencl() -> Option<Arc<dyn Device>> {
    None
}

#[cfg(feature = "cuda")]
fn cuda() -> Option<Arc<dyn Device>> {
    use crossdock::memory::{DeviceKind, Place};
    use crossdock_mock_cuda::Mock;

    static BEGUN: std::sync::Once = std::sync::Once::new();
    if std::env::var_os("CROSSDOCK_REQUIRE_GPU").is_none() {
        // SAFETY: no code of these tests reads the environment but by the standard library, which takes a lock.
        BEGUN.call_once(|| unsafe { std::env::set_var("CROSSDOCK_CUDA_DRIVER", Mock::path()) });
        assert_eq!(Mock::get().misuses(), [""; 0], "what the driver noted of the tests before");
    }
    Some(device::get(Place::new(DeviceKind::CUDA, 0)).unwrap())
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Option<Arc<dyn Device>> {
    None
}
