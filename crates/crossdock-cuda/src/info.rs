//! The driver's properties of devices, and memory by a device's ordinal.

use std::sync::Arc;

use crate::core::Core;
use crate::description::Description;
use crate::device::{self, name_of};
use crate::memory::CudaMemory;
use crate::{context, driver, load, sys, virtual_memory};
use crossdock::device::MemoryManager;
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Error, Result};

/// The memory of one of CUDA's places. Registers the driver if that was not done yet.
pub(crate) fn memory_at(kind: DeviceKind, ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    device::register()?;
    crossdock::device::memory(Place::new(kind, ordinal))
}

pub(crate) fn not_ours(memory: &dyn MemoryManager) -> Error {
    Error::unsupported(format!("{memory:?} is not CUDA memory"))
}

pub(crate) fn driver_version() -> Result<(u32, u32)> {
    Ok(load::loaded()?.version())
}

pub(crate) fn devices() -> Result<Vec<Description>> {
    let driver = load::loaded()?.driver();
    (0..context::count(driver)?).map(|ordinal| info(driver, ordinal)).collect()
}

fn info(driver: &driver::Driver, ordinal: i32) -> Result<Description> {
    let device = context::device(driver, ordinal)?;
    let attribute = |attribute| context::attribute_of(driver, device, attribute).map(i32::unsigned_abs);
    let mut total_nbytes = 0;
    // SAFETY: the device is a handle that this driver returned, and the size goes to a live local
    // variable.
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

pub(crate) fn free_nbytes(ordinal: i32) -> Result<u64> {
    Core::of(ordinal)?.free_nbytes()
}

pub(crate) fn trim(ordinal: i32, keep_nbytes: usize) -> Result<()> {
    let core = Core::of(ordinal)?;
    core.staging().clear();
    core.pool().map_or(Ok(()), |pool| pool.trim(keep_nbytes))
}

pub(crate) fn shareable_memory(ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    let memory = memory_at(DeviceKind::CUDA, ordinal)?;
    let memory = CudaMemory::of(&*memory).ok_or_else(|| not_ours(&*memory))?;
    memory.core().enter()?;
    virtual_memory::supported(memory.core())?;
    Ok(memory.shareable().clone())
}

pub(crate) fn exportable_memory(ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    let memory = memory_at(DeviceKind::CUDA, ordinal)?;
    let memory = CudaMemory::of(&*memory).ok_or_else(|| not_ours(&*memory))?;
    memory.core().enter()?;
    Ok(memory.exportable().clone())
}
