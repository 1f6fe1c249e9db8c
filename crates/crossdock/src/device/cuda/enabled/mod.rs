//! A build with CUDA.

mod block;
pub(crate) mod context;
mod copy;
pub(crate) mod core;
mod device;
pub(crate) mod driver;
mod engine;
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

use std::sync::Arc;

use crate::device::cuda::description::Description;
use crate::device::cuda::enabled::core::Core;
use crate::device::cuda::enabled::device::name_of;
use crate::device::cuda::enabled::memory::CudaMemory;
use crate::device::{MemoryManager, registry};
use crate::error::{Error, Result};
use crate::memory::{DeviceKind, Place};

pub(in crate::device) use device::open;
pub(super) use import::{import, pin, place_of};
pub(super) use ipc::{export_ipc, open_ipc};

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
