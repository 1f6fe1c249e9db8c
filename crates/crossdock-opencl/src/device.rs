//! A device of OpenCL, as the registry opens it.

use std::ffi::c_void;
use std::sync::Arc;

use crate::context::Context;
use crate::driver::Driver as Functions;
use crate::event::ClEvent;
use crate::import::import;
use crate::platforms;
use crate::queue::ClStream;
use crossdock::Result;
use crossdock::buffer::Buffer;
use crossdock::device::driver::ForkLock;
use crossdock::device::{self, Device, Driver, Event, MemoryManager, Stream};
use crossdock::memory::{Birth, DeviceKind, Place};

/// A device of OpenCL, with its own context.
#[derive(Debug)]
struct ClDevice {
    context: Arc<Context>,
}

/// The driver of OpenCL, as the registry knows it.
struct ClDriver;

impl Driver for ClDriver {
    fn kinds(&self) -> &[DeviceKind] {
        &[DeviceKind::OPENCL]
    }

    fn open(&self, place: Place) -> Result<Arc<dyn Device>> {
        open(place)
    }
}

/// Registers the driver, the same object each time.
pub(crate) fn register() -> Result<()> {
    static DRIVER: ForkLock<Option<Arc<ClDriver>>> = ForkLock::new(None);
    let driver = DRIVER.lock().get_or_insert_with(|| Arc::new(ClDriver)).clone();
    device::register(driver)
}

fn open(place: Place) -> Result<Arc<dyn Device>> {
    let driver = Functions::get()?;
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
        // SAFETY: `# Safety` of `Device::wrap_stream`: null or a queue of this driver that outlives
        // the call, which is the contract of `ClStream::borrowed`.
        Ok(Some(Arc::new(unsafe { ClStream::borrowed(raw, &self.context) }?)))
    }

    unsafe fn wrap_event(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Event>>> {
        // SAFETY: `# Safety` of `Device::wrap_event`: null or an event of this driver that outlives
        // the call, which is the contract of `ClEvent::borrowed`.
        Ok(Some(Arc::new(unsafe { ClEvent::borrowed(raw, &self.context) }?)))
    }

    unsafe fn wrap_object(&self, raw: *mut c_void, birth: Birth) -> Result<Option<Buffer>> {
        // SAFETY: `# Safety` of `Device::wrap_object` is the contract of `import`: an object that
        // is alive, and accesses as `birth` says.
        unsafe { import(raw, &self.context, birth) }.map(Some)
    }
}
