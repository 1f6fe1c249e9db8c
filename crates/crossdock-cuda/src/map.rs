//! Maps the same bytes to another place: pinned and managed memory, which the host and the devices
//! can access.
//!
//! Pageable host memory is not mapped: it would have to be pinned first, which is slow and can fail
//! because of other data in the same page. A caller that needs it calls [`pin`](crate::pin).

use std::sync::Arc;

use crate::block::Source;
use crate::core::Core;
use crate::lookup::{Found, look_up};
use crate::memory::CudaMemory;
use crate::sys::Address;
use crossdock::Result;
use crossdock::buffer::Buffer;
use crossdock::device::MemoryManager;
use crossdock::memory::{Backing, Birth, DeviceKind, LeaseKind, Place};

/// The destination of a mapping.
enum Target<'a> {
    /// Default host memory.
    Host,
    Cuda(&'a CudaMemory),
}

pub(crate) fn map(own: &CudaMemory, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
    let target = match CudaMemory::of(to) {
        Some(memory) => Target::Cuda(memory),
        None if to.place() == Place::CPU && to.backing() == Backing::Heap => Target::Host,
        None => return Ok(None),
    };
    let Some(address) = address_there(own, buffer, &target)? else { return Ok(None) };
    // The lease must exclude constancy, because the mapping accesses the same bytes as another
    // allocation.
    let lease = buffer.device_lease(if buffer.is_readonly() { LeaseKind::Pin } else { LeaseKind::Share })?;
    let mapped = match target {
        Target::Host => {
            let address = std::ptr::with_exposed_provenance_mut(address as usize);
            // SAFETY: the address is initialised host memory, which the lease keeps under Share or
            // Pin until the release; `into_readonly` below makes the result of a Pin read-only.
            unsafe {
                Buffer::from_foreign(address, buffer.nbytes(), Place::CPU, Birth::Aliased, move || {
                    drop(lease)
                })
            }?
        }
        Target::Cuda(memory) => {
            let release = move || {
                drop(lease);
                Ok(())
            };
            // SAFETY: the target reaches the memory by this address, and the lease keeps it under
            // Share or Pin until the release; `into_readonly` below makes the result of a Pin
            // read-only.
            unsafe { memory.lend(address, buffer.nbytes(), release) }?
        }
    };
    Ok(Some(if buffer.is_readonly() { mapped.into_readonly() } else { mapped }))
}

/// The address of a buffer at the target, if it is accessible there.
fn address_there(own: &CudaMemory, buffer: &Buffer, target: &Target<'_>) -> Result<Option<Address>> {
    let here = buffer.as_ptr().expose_provenance() as Address;
    if buffer.nbytes() == 0 {
        return Ok(None);
    }
    let to = match target {
        Target::Host => None,
        Target::Cuda(memory) => Some((memory.source(), memory.core())),
    };
    match (buffer.place().kind(), to) {
        (DeviceKind::CUDA_HOST | DeviceKind::CUDA_MANAGED, None)
        | (DeviceKind::CUDA_HOST, Some((Source::Pinned, _)))
        | (DeviceKind::CUDA_MANAGED, Some((Source::Managed | Source::Pool, _))) => Ok(Some(here)),
        (DeviceKind::CUDA_HOST, Some((Source::Pool, core))) => device_address(core, here).map(Some),
        (DeviceKind::CUDA, to) => Ok(match (look_up(own.core(), here)?, to) {
            (Some(Found::Pinned { host, .. }), None | Some((Source::Pinned, _))) => Some(host),
            (Some(Found::Managed { .. }), None | Some((Source::Managed, _))) => Some(here),
            _ => None,
        }),
        _ => Ok(None),
    }
}

/// The address of pinned memory on a device.
fn device_address(core: &Arc<Core>, host: Address) -> Result<Address> {
    let _current = core.enter()?;
    let mut device = 0;
    let host = std::ptr::with_exposed_provenance_mut(host as usize);
    // SAFETY: the place says that the address is pinned memory; the driver checks it and writes to
    // a live local variable.
    unsafe { core.driver().mem_host_get_device_pointer(&raw mut device, host, 0) }?;
    Ok(device)
}
