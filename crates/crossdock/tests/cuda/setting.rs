//! Which driver the tests run over.

use std::sync::{Arc, Once};

use crossdock::memory::device::{self, MemoryManager};
use crossdock::memory::{DeviceKind, Place};
use crossdock_mock_cuda::Mock;

/// The driver without a GPU, unless the tests are to run over the real one.
pub(crate) fn mock() -> Option<&'static Mock> {
    std::env::var_os("CROSSDOCK_REQUIRE_GPU").is_none().then(Mock::get)
}

/// Before CUDA is asked for anything.
pub(crate) fn begin() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        if let Some(mock) = mock() {
            // As the real one does: what the library copies in a stream may not wait.
            mock.set("pageable_waits", 1);
            // SAFETY: no code of these tests reads the environment but by the standard library, which takes a lock.
            unsafe { std::env::set_var("CROSSDOCK_CUDA_DRIVER", Mock::path()) };
        }
    });
}

pub(crate) fn place(kind: DeviceKind, ordinal: i32) -> Place {
    Place::new(kind, ordinal)
}

pub(crate) fn memory(kind: DeviceKind, ordinal: i32) -> Arc<dyn MemoryManager> {
    begin();
    device::memory(place(kind, ordinal)).unwrap()
}
