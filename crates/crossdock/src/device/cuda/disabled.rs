//! A build without CUDA.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::cuda::description::Description;
use crate::device::cuda::ipc::{IpcExport, IpcHandle};
use crate::device::{Device, MemoryManager};
use crate::error::{Error, Result};
use crate::memory::{Birth, Place};

/// Says what is missing.
#[cold]
fn missing<T>() -> Result<T> {
    Err(Error::unsupported("there is no CUDA in this program: it was built without the feature `cuda`"))
}

pub(in crate::device) fn open(_: Place) -> Result<Arc<dyn Device>> {
    missing()
}

pub(super) fn devices() -> Result<Vec<Description>> {
    missing()
}

pub(super) fn driver_version() -> Result<(u32, u32)> {
    missing()
}

pub(super) fn free_nbytes(_: i32) -> Result<u64> {
    missing()
}

pub(super) fn trim(_: i32, _: usize) -> Result<()> {
    missing()
}

pub(super) fn exportable_memory(_: i32) -> Result<Arc<dyn MemoryManager>> {
    missing()
}

pub(super) fn export_ipc(_: &Buffer) -> Result<IpcExport> {
    missing()
}

pub(super) unsafe fn open_ipc(_: &IpcHandle, _: i32) -> Result<Buffer> {
    missing()
}

pub(super) fn place_of(_: *const u8) -> Result<Place> {
    missing()
}

pub(super) unsafe fn import(
    _: NonNull<u8>,
    _: usize,
    _: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<Buffer> {
    release();
    missing()
}

pub(super) fn pin(_: &Buffer, _: i32) -> Result<Buffer> {
    missing()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::buffer::Buffer;
    use crate::device::{self, cuda};
    use crate::memory::{Birth, DeviceKind, Place};

    #[test]
    fn every_call_says_that_the_program_was_built_without_cuda() {
        let buffer = Buffer::zeroed(10).unwrap();
        let address = std::ptr::NonNull::from(&Cell::new(0u8)).cast();
        let released = Arc::new(AtomicBool::new(false));
        let called = released.clone();
        // SAFETY: such a build looks at nothing.
        let imported =
            unsafe { cuda::import(address, 1, Birth::Sole, move || called.store(true, Ordering::Relaxed)) };
        let handle = cuda::IpcHandle::new([0; 64], 0, 0);
        let kinds = [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED];
        let errors = [
            imported.err(),
            cuda::devices().err(),
            cuda::driver_version().err(),
            cuda::free_nbytes(0).err(),
            cuda::trim(0, 0).err(),
            cuda::exportable_memory(0).err(),
            cuda::export_ipc(&buffer).err(),
            // SAFETY: as above.
            unsafe { cuda::open_ipc(&handle, 0) }.err(),
            cuda::place_of(buffer.as_ptr()).err(),
            cuda::pin(&buffer, 0).err(),
        ];
        let opened = kinds.map(|kind| device::get(Place::new(kind, 0)).err());
        for error in errors.into_iter().chain(opened) {
            let error = error.expect("that it is refused");
            assert!(error.is_unsupported() && error.to_string().contains("the feature `cuda`"), "{error}");
        }
        assert!(released.load(Ordering::Relaxed), "what was handed over is given back");
    }
}
