//! A build with OpenCL.

pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod driver;
pub(crate) mod error;
pub(crate) mod event;
mod import;
mod map;
mod memory;
pub(crate) mod object;
pub(crate) mod platforms;
pub(crate) mod query;
pub(crate) mod queue;

use std::ffi::c_void;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::opencl::Description;
use crate::device::opencl::enabled::context::Context;
use crate::device::opencl::enabled::driver::Driver;
use crate::device::opencl::enabled::event::{Borrowed, ClEvent};
use crate::device::opencl::enabled::queue::ClStream;
use crate::device::{Device, Event, MemoryManager, Stream, registry};
use crate::error::{Error, Kind, Result};
use crate::memory::{Birth, DeviceKind, LeaseKind, Place};

pub use import::SubBuffer;

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

pub(super) fn devices() -> Result<Vec<Description>> {
    platforms::describe(Driver::get()?)
}

/// # Safety
///
/// As for what is documented outside.
pub(super) unsafe fn import(object: *mut c_void, place: Place, birth: Birth) -> Result<Buffer> {
    if place.kind() != DeviceKind::OPENCL {
        return Err(Error::new(Kind::Place, format!("memory of OpenCL is not on {place}")));
    }
    let Some(context) = Context::of(registry::memory(place)?) else {
        return Err(Error::device(format!("{place} is a device of somebody else's")));
    };
    // SAFETY: the caller's word.
    unsafe { import::import(object, &context, birth) }
}

pub(super) fn sub_buffer(buffer: &Buffer, kind: LeaseKind) -> Result<SubBuffer> {
    import::sub_buffer(buffer, kind)
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
        Ok(Some(Arc::new(Borrowed(unsafe { ClEvent::borrowed(raw, &self.context) }?))))
    }
}
