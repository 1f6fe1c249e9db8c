//! A build with CUDA.

mod block;
pub(crate) mod context;
mod copy;
pub(crate) mod core;
pub(crate) mod driver;
mod event;
mod handle;
mod import;
mod ipc;
mod load;
mod lookup;
mod map;
pub(crate) mod memory;
pub(crate) mod modules;
mod peers;
mod pool;
mod staging;
pub(crate) mod stream;
pub(crate) mod sys;

use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::Arc;

use crate::device::cuda::Description;
use crate::device::cuda::enabled::block::Source;
use crate::device::cuda::enabled::core::Core;
use crate::device::cuda::enabled::event::Wrapped;
use crate::device::cuda::enabled::memory::CudaMemory;
use crate::device::cuda::enabled::stream::CudaStream;
use crate::device::{Device, Event, MemoryManager, Stream, registry};
use crate::error::{Error, Result};
use crate::memory::{DeviceKind, Place};

pub(super) use import::{import, pin, place_of};
pub(super) use ipc::{export_ipc, open_ipc};

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

fn name_of(driver: &driver::Driver, device: sys::Device) -> Result<String> {
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

/// The memory of one of CUDA's places, as it is registered.
fn memory_at(kind: DeviceKind, ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    registry::memory(Place::new(kind, ordinal))
}

fn not_ours(memory: &dyn MemoryManager) -> Error {
    Error::unsupported(format!("{memory:?} is no memory of CUDA"))
}

pub(super) fn driver_version() -> Result<(u32, u32)> {
    Ok(load::loaded()?.version())
}

pub(super) fn devices() -> Result<Vec<Description>> {
    let driver = load::loaded()?.driver();
    (0..context::count(driver)?).map(|ordinal| info(driver, ordinal)).collect()
}

fn info(driver: &driver::Driver, ordinal: i32) -> Result<Description> {
    let device = context::device(driver, ordinal)?;
    let attribute = |attribute| context::attribute_of(driver, device, attribute).map(i32::unsigned_abs);
    let mut total_nbytes = 0;
    // SAFETY: a device of the driver's; the answer goes to a variable of ours.
    unsafe { driver.device_total_mem(&raw mut total_nbytes, device) }?;
    Ok(Description {
        place: Place::new(DeviceKind::CUDA, ordinal),
        name: name_of(driver, device)?,
        compute_capability: (
            attribute(sys::attribute::COMPUTE_CAPABILITY_MAJOR)?,
            attribute(sys::attribute::COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(sys::attribute::MULTIPROCESSOR_COUNT)?,
        total_nbytes: total_nbytes as u64,
    })
}

pub(super) fn free_nbytes(ordinal: i32) -> Result<u64> {
    Core::of(ordinal)?.free_nbytes()
}

pub(super) fn trim(ordinal: i32, keep_nbytes: usize) -> Result<()> {
    let core = Core::of(ordinal)?;
    core.slots().clear();
    core.pool().map_or(Ok(()), |pool| pool.trim(keep_nbytes))
}

pub(super) fn exportable_memory(ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    let memory = memory_at(DeviceKind::CUDA, ordinal)?;
    let memory = CudaMemory::of(&*memory).ok_or_else(|| not_ours(&*memory))?;
    memory.core().enter()?;
    Ok(memory.exportable().clone())
}
