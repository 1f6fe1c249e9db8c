//! A device of CUDA, as the registry opens it.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::Arc;

use crate::device::cuda::enabled::block::Source;
use crate::device::cuda::enabled::core::Core;
use crate::device::cuda::enabled::driver::Driver;
use crate::device::cuda::enabled::event::Wrapped;
use crate::device::cuda::enabled::memory::CudaMemory;
use crate::device::cuda::enabled::stream::CudaStream;
use crate::device::cuda::enabled::sys;
use crate::device::{Device, Event, MemoryManager, Stream};
use crate::error::{Error, Result};
use crate::memory::Place;

/// Opens a device.
pub(in crate::device) fn open(place: Place) -> Result<Arc<dyn Device>> {
    let source =
        Source::of(place.kind()).ok_or_else(|| Error::unsupported(format!("{place} is no place of CUDA")))?;
    let core = Core::of(place.ordinal())?;
    let name = name(&core)?;
    Ok(Arc::new(CudaDevice { memory: CudaMemory::new(core, source), name }))
}

fn name(core: &Core) -> Result<String> {
    name_of(core.driver(), core.context().device())
}

pub(super) fn name_of(driver: &Driver, device: sys::Device) -> Result<String> {
    let mut text = [0u8; 256];
    // SAFETY: the name goes, with a zero behind it, into as many bytes as are told.
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
        // SAFETY: the caller's word.
        let stream = unsafe { CudaStream::wrap(self.memory.core().clone(), sys::Stream(raw)) }?;
        Ok(Some(Arc::new(stream)))
    }

    unsafe fn wrap_event(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Event>>> {
        // SAFETY: the caller's word.
        Ok(Some(Arc::new(unsafe { Wrapped::new(self.memory.core().clone(), sys::Event(raw)) })))
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaDevice({}, {})", self.place(), self.name)
    }
}
