//! Holds streams back.

use std::any::Any;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crossdock::buffer::Buffer;
use crossdock::device::Stream;
use crossdock::memory::DeviceKind;
use libloading::Library;

use crate::setting::{memory, mock};

/// Holds the work of a stream back until the result is dropped.
pub(crate) fn pause(stream: &Arc<dyn Stream>) -> Box<dyn Any> {
    match mock() {
        Some(mock) => Box::new(mock.pause(stream.raw().addr())),
        None => Box::new(Gate::close(stream)),
    }
}

/// A word of pinned memory that a stream of a GPU waits for.
struct Gate(Buffer);

impl Gate {
    fn close(stream: &Arc<dyn Stream>) -> Self {
        type Wait = unsafe extern "C" fn(*mut c_void, u64, u32, c_uint) -> c_int;
        const EQUAL: c_uint = 1;
        let word = Buffer::on(&memory(DeviceKind::CUDA_HOST, 0), 4).unwrap();
        // SAFETY: the devices loaded this driver before, so its initialisers have already run.
        let driver = unsafe { Library::new("libcuda.so.1") }.unwrap();
        // SAFETY: the driver's function of this name has the type `Wait` in the driver's reference.
        let wait = unsafe { driver.get::<Wait>("cuStreamWaitValue32_v2") }.unwrap();
        // SAFETY: the stream is alive, and the word is aligned pinned memory that `Gate` keeps
        // until it has opened the gate.
        let outcome = unsafe { wait(stream.raw(), word.as_ptr().expose_provenance() as u64, 1, EQUAL) };
        assert_eq!(outcome, 0);
        Self(word)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // SAFETY: the word is pinned memory with the driver's alignment, accessed only by this
        // atomic store and by the driver.
        let word = unsafe { AtomicU32::from_ptr(self.0.as_ptr().cast_mut().cast()) };
        word.store(1, Ordering::Release);
    }
}
