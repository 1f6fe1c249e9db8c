//! A device of OpenCL, as the registry opens it.

use std::ffi::c_void;
use std::sync::Arc;

use crate::device::opencl::enabled::context::Context;
use crate::device::opencl::enabled::driver::Driver;
use crate::device::opencl::enabled::event::ClEvent;
use crate::device::opencl::enabled::platforms;
use crate::device::opencl::enabled::queue::ClStream;
use crate::device::{Device, Event, MemoryManager, Stream};
use crate::error::Result;
use crate::memory::Place;

/// A device of OpenCL, with a context of its own.
#[derive(Debug)]
struct ClDevice {
    context: Arc<Context>,
}

/// Opens a device.
pub(in crate::device) fn open(place: Place) -> Result<Arc<dyn Device>> {
    let driver = Driver::get()?;
    let identity = platforms::find(driver, place)?;
    Ok(Arc::new(ClDevice { context: Context::new(driver, identity, place)? }))
}

impl Device for ClDevice {
    fn place(&self) -> Place {
        self.context.place()
    }

    fn name(&self) -> String {
        self.context.description().name.clone()
    }

    fn memory(&self) -> Arc<dyn MemoryManager> {
        self.context.clone()
    }

    fn stream(&self) -> Result<Option<Arc<dyn Stream>>> {
        Ok(Some(Arc::new(ClStream::new(&self.context)?)))
    }

    unsafe fn wrap_stream(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Stream>>> {
        // SAFETY: the caller's word.
        Ok(Some(Arc::new(unsafe { ClStream::borrowed(raw, &self.context) }?)))
    }

    unsafe fn wrap_event(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Event>>> {
        // SAFETY: the caller's word.
        Ok(Some(Arc::new(unsafe { ClEvent::borrowed(raw, &self.context) }?)))
    }
}
