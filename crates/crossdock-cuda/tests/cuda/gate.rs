//! Streams that are held back.

use std::any::Any;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crossdock::buffer::Buffer;
use crossdock::device::Stream;
use crossdock::memory::DeviceKind;
use libloading::Library;

use crate::setting::{memory, mock};

/// Holds the work of a stream back until what this gives is dropped.
pub(crate) fn pause(stream: &Arc<dyn Stream>) -> Box<dyn Any> {
    match mock() {
        Some(mock) => Box::new(mock.pause(stream.raw().addr())),
        None => Box::new(Gate::close(stream)),
    }
}

/// A word of pinned memory for which a stream of a GPU waits.
struct Gate(Buffer);

impl Gate {
    fn close(stream: &Arc<dyn Stream>) -> Self {
        type Wait = unsafe extern "C" fn(*mut c_void, u64, u32, c_uint) -> c_int;
        const EQUAL: c_uint = 1;
        let word = Buffer::on(&memory(DeviceKind::CUDA_HOST, 0), 4).unwrap();
        // SAFETY: the driver is loaded already.
        let driver = unsafe { Library::new("libcuda.so.1") }.unwrap();
        // SAFETY: the function has this type.
        let wait = unsafe { driver.get::<Wait>("cuStreamWaitValue32_v2") }.unwrap();
        // SAFETY: a stream and a word that are alive; the word is until the gate has been opened.
        let outcome = unsafe { wait(stream.raw(), word.as_ptr().expose_provenance() as u64, 1, EQUAL) };
        assert_eq!(outcome, 0);
        Self(word)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // SAFETY: a word of pinned memory, aligned as the driver aligns it, which the host and the device reach.
        let word = unsafe { AtomicU32::from_ptr(self.0.as_ptr().cast_mut().cast()) };
        word.store(1, Ordering::Release);
    }
}
