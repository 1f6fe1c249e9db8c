//! Memory that other parties allocated: CUDA's, by its address, and host memory, which is pinned.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::core::Core;
use crate::info::{memory_at, not_ours};
use crate::lookup::place_of;
use crate::memory::CudaMemory;
use crate::sys::{self, Address, attribute};
use crossdock::buffer::Buffer;
use crossdock::memory::{Birth, DeviceKind, LeaseKind, Place};
use crossdock::{Error, Result};

/// # Safety
///
/// The contract of [`Buffer::from_foreign`] holds for the bytes, `birth` and `release`.
pub(crate) unsafe fn import(
    address: NonNull<u8>,
    nbytes: usize,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<Buffer> {
    match check(address, nbytes) {
        // SAFETY: `# Safety` is the contract of `from_foreign`, and `check` found that the driver
        // has the bytes at this place.
        Ok(place) => unsafe { Buffer::from_foreign(address.as_ptr(), nbytes, place, birth, release) },
        Err(error) => {
            release();
            Err(error)
        }
    }
}

/// The place of memory that is within one allocation of the driver.
fn check(address: NonNull<u8>, nbytes: usize) -> Result<Place> {
    let place = place_of(address.as_ptr())?.unwrap_or(Place::CPU);
    if place == Place::CPU {
        return Err(Error::place(format!(
            "address {address:p} is unknown to the CUDA driver; adopt it as host memory, or pin it"
        )));
    }
    if place.kind() != DeviceKind::CUDA {
        return Ok(place);
    }
    let start = address.as_ptr().expose_provenance() as Address;
    let (base, extent) = range(&*Core::of(place.ordinal())?, start)?;
    let room = extent - (start - base) as usize;
    if nbytes > room {
        return Err(Error::bounds(format!(
            "{nbytes} bytes at {address:p} on {place} exceed the allocation, which ends {room} bytes from \
            there"
        )));
    }
    Ok(place)
}

/// The allocation around an address: its start and its size.
pub(crate) fn range(core: &Core, address: Address) -> Result<(Address, usize)> {
    let _current = core.enter()?;
    let (mut base, mut nbytes) = (0, 0);
    // SAFETY: the driver writes to two live local variables and checks the address; `_current`
    // keeps a context current.
    unsafe { core.driver().mem_get_address_range(&raw mut base, &raw mut nbytes, address) }?;
    if !(base..=base + nbytes as Address).contains(&address) {
        return Err(Error::device(format!(
            "cuMemGetAddressRange_v2 returned {nbytes} bytes at {base:#x}, which do not contain address \
            {address:#x}"
        )));
    }
    Ok((base, nbytes))
}

pub(crate) fn pin(buffer: &Buffer, ordinal: i32) -> Result<Buffer> {
    if buffer.place() != Place::CPU {
        let text = format!("memory on {} cannot be pinned; only host memory can", buffer.place());
        return Err(Error::place(text));
    }
    let memory = memory_at(DeviceKind::CUDA_HOST, ordinal)?;
    let memory = CudaMemory::of(&*memory).ok_or_else(|| not_ours(&*memory))?;
    let core = memory.core().clone();
    let readonly = buffer.is_readonly();
    if readonly && core.context().attribute(attribute::READ_ONLY_HOST_REGISTER_SUPPORTED)? == 0 {
        let place = core.context().place();
        return Err(Error::unsupported(format!(
            "{place} cannot pin read-only memory; copy it to pinned memory instead"
        )));
    }
    let lease = buffer.device_lease(if readonly { LeaseKind::Pin } else { LeaseKind::Share })?;
    let address = lease.address();
    // An empty buffer needs no pinning, and the driver would refuse it.
    if buffer.nbytes() > 0 {
        let flags = sys::HOST_PORTABLE_AND_MAPPED | if readonly { sys::HOST_REGISTER_READ_ONLY } else { 0 };
        let _current = core.enter()?;
        // SAFETY: the lease keeps this host memory until after the release below unregisters it;
        // `_current` keeps a context current.
        unsafe { core.driver().mem_host_register(address.cast(), buffer.nbytes(), flags) }
            .map_err(|failure| Error::from(failure).within(format!("pinning {} bytes", buffer.nbytes())))?;
    }
    let registered = Registered { core, address };
    let nbytes = buffer.nbytes();
    let release = move || {
        let outcome = if nbytes > 0 { registered.end() } else { Ok(()) };
        drop(lease);
        outcome
    };
    // SAFETY: the contract of `lend`: the lease keeps this initialised host memory until the
    // release, under Share or Pin, and `into_readonly` below makes the result of a Pin read-only.
    let pinned = unsafe { memory.lend(address.expose_provenance() as Address, nbytes, release) }?;
    Ok(if readonly { pinned.into_readonly() } else { pinned })
}

/// Pinned memory of the host, not yet unpinned.
struct Registered {
    core: Arc<Core>,
    address: *mut u8,
}

// SAFETY: the address is only passed to the driver, which accepts it from any thread, and is not
// dereferenced here.
unsafe impl Send for Registered {}

impl Registered {
    fn end(self) -> Result<()> {
        // SAFETY: `pin` registered this address before it created `self`, and only this method,
        // which consumes `self`, unregisters it.
        self.core.context().release(|driver| unsafe { driver.mem_host_unregister(self.address.cast()) })
    }
}
