//! The driver that the tests use.

use std::sync::{Arc, Once, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use crossdock::device::{self, MemoryManager};
use crossdock::memory::{DeviceKind, Place};
use crossdock_mock_cuda::Mock;

use crate::conformance;

/// Devices of the mock driver that lack a feature.
pub(crate) const WITHOUT_POOLS: i32 = 2;
pub(crate) const WITHOUT_MANAGED: i32 = 3;

/// The mock driver, unless the tests run on the real one.
pub(crate) fn mock() -> Option<&'static Mock> {
    std::env::var_os("CROSSDOCK_REQUIRE_GPU").is_none().then(Mock::get)
}

/// The mock driver, for tests of features that only it has. On the real driver, reports that the
/// test was not run.
pub(crate) fn only_mock() -> Option<&'static Mock> {
    let mock = mock();
    if mock.is_none() {
        crossdock_testkit::not_run("a test of the driver without a GPU: the tests run over the real one");
    }
    mock
}

/// Configures the mock driver for these tests.
pub(crate) fn set(mock: &Mock) {
    // As on the real driver, copies of pageable memory in a stream may wait.
    mock.set("pageable_waits", 1);
    mock.set("device_count", 4);
    mock.set_attribute(WITHOUT_POOLS, 115, 0);
    mock.set_attribute(WITHOUT_MANAGED, 89, 0);
}

/// Must be called before any use of CUDA.
pub(crate) fn begin() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        if let Some(mock) = mock() {
            set(mock);
            // SAFETY: these tests read the environment through the standard library only, which
            // takes a lock.
            unsafe { std::env::set_var("CROSSDOCK_CUDA_DRIVER", Mock::path()) };
        }
        crossdock_cuda::register().unwrap();
    });
}

pub(crate) fn place(kind: DeviceKind, ordinal: i32) -> Place {
    Place::new(kind, ordinal)
}

pub(crate) fn memory(kind: DeviceKind, ordinal: i32) -> Arc<dyn MemoryManager> {
    begin();
    device::memory(place(kind, ordinal)).unwrap()
}

/// Memory that has descriptors, unless the tests run on a device without, which is reported.
pub(crate) fn shareable() -> Option<Arc<dyn MemoryManager>> {
    begin();
    match crossdock_cuda::shareable_memory(0) {
        Err(error) if mock().is_none() && error.is_unsupported() => {
            crossdock_testkit::not_run(&format!("a test of memory with descriptors: {error}"));
            None
        }
        memory => Some(memory.unwrap()),
    }
}

/// A running test. At its end, checks that the driver has seen no misuse so far.
pub(crate) struct Test<G> {
    _others: G,
}

impl<G> Drop for Test<G> {
    fn drop(&mut self) {
        if let (Some(mock), false) = (mock(), std::thread::panicking()) {
            assert_eq!(mock.misuses(), [""; 0]);
        }
    }
}

/// As [`conformance::beside`].
pub(crate) fn beside() -> Test<RwLockReadGuard<'static, ()>> {
    Test { _others: conformance::beside() }
}

/// As [`conformance::alone`], but waits until other tests have released their memory, including
/// in-flight work that they did not wait for.
pub(crate) fn alone() -> Test<RwLockWriteGuard<'static, ()>> {
    begin();
    let test = Test { _others: conformance::alone() };
    let is_cuda = |place: Place| {
        matches!(place.kind(), DeviceKind::CUDA | DeviceKind::CUDA_HOST | DeviceKind::CUDA_MANAGED)
    };
    let left =
        || device::usage().into_iter().find(|(_, place, usage)| is_cuda(*place) && usage.live_count > 0);
    let hangs = Instant::now() + Duration::from_secs(30);
    while let Some(left) = left() {
        assert!(Instant::now() < hangs, "{left:?} has a holder");
        std::thread::yield_now();
    }
    test
}
