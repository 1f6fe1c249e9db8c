//! A device of CUDA, as the registry opens it.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::Arc;

use crate::block::Source;
use crate::core::Core;
use crate::driver::Driver as Functions;
use crate::event::Wrapped;
use crate::lookup::place_of;
use crate::memory::CudaMemory;
use crate::stream::CudaStream;
use crate::sys;
use crossdock::device::driver::ForkLock;
use crossdock::device::{self, Device, Driver, Event, MemoryManager, Stream};
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Error, Result};

/// The driver of CUDA, as the registry knows it.
struct CudaDriver;

impl Driver for CudaDriver {
    fn kinds(&self) -> &[DeviceKind] {
        &[DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED]
    }

    fn open(&self, place: Place) -> Result<Arc<dyn Device>> {
        open(place)
    }

    fn place_of(&self, address: *const u8) -> Result<Option<Place>> {
        place_of(address)
    }
}

/// Registers the driver, the same object each time.
pub(crate) fn register() -> Result<()> {
    static DRIVER: ForkLock<Option<Arc<CudaDriver>>> = ForkLock::new(None);
    let driver = DRIVER.lock().get_or_insert_with(|| Arc::new(CudaDriver)).clone();
    device::register(driver)
}

fn open(place: Place) -> Result<Arc<dyn Device>> {
    let source = Source::of(place.kind())
        .ok_or_else(|| Error::unsupported(format!("{place} is not a CUDA device")))?;
    let core = Core::of(place.ordinal())?;
    let name = name(&core)?;
    Ok(Arc::new(CudaDevice { memory: CudaMemory::new(core, source), name }))
}

fn name(core: &Core) -> Result<String> {
    name_of(core.driver(), core.context().device())
}

pub(crate) fn name_of(driver: &Functions, device: sys::Device) -> Result<String> {
    let mut text = [0u8; 256];
    // SAFETY: the driver writes the name and a terminating zero into `text`, at most the
    // `text.len()` bytes that it is passed.
    unsafe { driver.device_get_name(text.as_mut_ptr().cast(), text.len() as i32, device) }?;
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}

/// A device of CUDA, by one of its three places.
struct CudaDevice {
    memory: Arc<CudaMemory>,
    name: String,
}

impl Device for CudaDevice {
    fn place(&self) -> Place {
        self.memory.place()
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn memory(&self) -> Arc<dyn MemoryManager> {
        self.memory.clone()
    }

    fn stream(&self) -> Result<Option<Arc<dyn Stream>>> {
        Ok(Some(Arc::new(CudaStream::new(self.memory.core().clone())?)))
    }

    unsafe fn wrap_stream(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Stream>>> {
        // SAFETY: `# Safety` of `Device::wrap_stream`: the stream belongs to this driver and
        // outlives the result, which is the contract of `CudaStream::wrap`.
        let stream = unsafe { CudaStream::wrap(self.memory.core().clone(), sys::Stream(raw)) }?;
        Ok(Some(Arc::new(stream)))
    }

    unsafe fn wrap_event(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Event>>> {
        // SAFETY: `# Safety` of `Device::wrap_event`: the event belongs to this driver and outlives
        // the result, which is the contract of `Wrapped::new`.
        Ok(Some(Arc::new(unsafe { Wrapped::new(self.memory.core().clone(), sys::Event(raw)) })))
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaDevice({}, {})", self.place(), self.name)
    }
}
