//! The registry of drivers by kind, and of opened devices.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use crate::device::host::{HostDevice, HostMemory, SharedMemory};
use crate::device::{Device, Driver, MemoryManager, Usage};
use crate::error::{Advice, Error, Kind, Result};
use crate::memory::fork::ForkLock;
use crate::memory::{Backing, DeviceKind, Place};

/// No method of a device or a driver is called, and none is dropped, under the lock.
struct Registry {
    host: Option<Host>,
    drivers: BTreeMap<DeviceKind, Arc<dyn Driver>>,
    opened: BTreeMap<Place, Arc<dyn Device>>,
}

/// The host, which is always available.
#[derive(Clone)]
struct Host {
    device: Arc<HostDevice>,
    memory: Arc<dyn MemoryManager>,
    shared: Arc<dyn MemoryManager>,
}

static REGISTRY: ForkLock<Registry> =
    ForkLock::new(Registry { host: None, drivers: BTreeMap::new(), opened: BTreeMap::new() });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock()
}

fn the_host() -> Host {
    let make = || {
        let memory = Arc::new(HostMemory::new(None));
        let device = Arc::new(HostDevice::new(memory.clone()));
        Host { device, memory, shared: Arc::new(SharedMemory::new()) }
    };
    registry().host.get_or_insert_with(make).clone()
}

/// Registers a driver for all of its kinds. All devices except the host are registered this way.
/// Registering the same driver again has no effect.
///
/// ```
/// use std::sync::Arc;
/// use crossdock::device::fenced::FencedDevice;
/// use crossdock::device::{self, Device};
/// use crossdock::memory::{DeviceKind, Place};
///
/// let open = |place: Place| Ok(FencedDevice::new(place.ordinal()) as Arc<dyn Device>);
/// device::register(Arc::new((DeviceKind::EXT_DEV, open)))?;
/// let device = device::get(Place::new(DeviceKind::EXT_DEV, 3))?;
/// assert_eq!(device.place().to_string(), "ext_dev:3");
/// assert!(device::get(Place::new(DeviceKind::METAL, 0)).unwrap_err().is_unsupported());
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_conflict` if another driver has one of the kinds; the host's kind is reserved.
pub fn register(driver: Arc<dyn Driver>) -> Result<()> {
    // Called without the lock, because it is foreign code.
    let kinds = driver.kinds().to_vec();
    let mut registry = registry();
    let is_taken = |kind: &DeviceKind| {
        *kind == DeviceKind::CPU
            || registry.drivers.get(kind).is_some_and(|registered| !Arc::ptr_eq(registered, &driver))
    };
    if let Some(&kind) = kinds.iter().find(|kind| is_taken(kind)) {
        drop(registry);
        return Err(Error::new(
            Kind::Conflict,
            format!("a driver for devices of kind {kind} is already registered"),
        ));
    }
    for kind in kinds {
        registry.drivers.entry(kind).or_insert_with(|| driver.clone());
    }
    Ok(())
}

/// Removes a kind and its opened devices. Their memory stays valid, because it keeps its manager.
///
/// # Errors
///
/// `is_unsupported` if the kind is not registered, or is the host's.
pub fn unregister(kind: DeviceKind) -> Result<()> {
    let mut registry = registry();
    let Some(driver) = registry.drivers.remove(&kind) else {
        drop(registry);
        return Err(unknown(kind));
    };
    let mut closed = Vec::new();
    while let Some(place) = registry.opened.keys().find(|place| place.kind() == kind).copied() {
        closed.extend(registry.opened.remove(&place));
    }
    drop(registry);
    drop((driver, closed));
    Ok(())
}

/// The device at a place, opened on first use; the same at each call.
///
/// # Errors
///
/// `is_unsupported` if the kind is not registered, `is_bounds` for the host with a number other
/// than 0, and the errors of opening it.
pub fn get(place: Place) -> Result<Arc<dyn Device>> {
    if place.kind() == DeviceKind::CPU {
        return if place == Place::CPU { Ok(the_host().device) } else { Err(no_such(place)) };
    }
    let driver = {
        let registry = registry();
        if let Some(device) = registry.opened.get(&place) {
            return Ok(device.clone());
        }
        registry.drivers.get(&place.kind()).cloned()
    };
    let driver = driver.ok_or_else(|| unknown(place.kind()))?;
    let device =
        driver.open(place).map_err(|error| error.within(format_args!("{place} cannot be opened")))?;
    if device.place() != place {
        return Err(Error::device(format!("the driver of {place} opened {} instead", device.place())));
    }
    let mut registry = registry();
    // A driver that was unregistered meanwhile does not register its device.
    if !registry.drivers.get(&place.kind()).is_some_and(|now| Arc::ptr_eq(now, &driver)) {
        drop(registry);
        return Ok(device);
    }
    let kept = registry.opened.entry(place).or_insert_with(|| device.clone()).clone();
    drop(registry);
    Ok(kept)
}

/// The usual memory at a place: [`get`], then [`Device::memory`].
///
/// # Errors
///
/// As [`get`].
pub fn memory(place: Place) -> Result<Arc<dyn MemoryManager>> {
    Ok(get(place)?.memory())
}

/// Memory of this process that other processes can map
/// ([`Buffer::shared`](crate::buffer::Buffer::shared)). Its place is `cpu`, like that of the usual
/// memory.
pub fn shared_memory() -> Arc<dyn MemoryManager> {
    the_host().shared
}

pub(super) fn host() -> Arc<dyn MemoryManager> {
    the_host().memory
}

/// The manager for memory that no device's manager allocated; `None` if its kind is not registered.
pub(super) fn manager_of(place: Place, backing: Backing) -> Result<Option<Arc<dyn MemoryManager>>> {
    let is_known = || registry().drivers.contains_key(&place.kind());
    match (place.is_host(), backing) {
        (true, Backing::Shared) => Ok(Some(shared_memory())),
        (true, _) => Ok(Some(host())),
        (false, _) if is_known() => memory(place).map(Some),
        (false, _) => Ok(None),
    }
}

/// The host's kind, and the registered kinds.
pub fn kinds() -> Vec<DeviceKind> {
    let mut kinds = vec![DeviceKind::CPU];
    kinds.extend(registry().drivers.keys());
    kinds
}

/// The opened devices, the host first.
pub fn opened() -> Vec<Arc<dyn Device>> {
    let mut devices: Vec<Arc<dyn Device>> = vec![the_host().device];
    devices.extend(registry().opened.values().cloned());
    devices
}

/// The memory in use of each opened device, the host's first; its shared memory has a separate row.
pub fn usage() -> Vec<(String, Place, Usage)> {
    let mut rows: Vec<_> =
        opened().into_iter().map(|device| (device.name(), device.place(), device.memory().usage())).collect();
    rows.insert(1, ("shared memory".to_owned(), Place::CPU, the_host().shared.usage()));
    rows
}

/// The place of the memory at an address, as the driver of a kind looks it up; `None` if the driver
/// does not know it, or has no lookup.
///
/// # Errors
///
/// `is_unsupported` if the kind is not registered; the driver's errors.
pub(crate) fn place_of(kind: DeviceKind, address: *const u8) -> Result<Option<Place>> {
    let driver = registry().drivers.get(&kind).cloned();
    driver.ok_or_else(|| unknown(kind))?.place_of(address)
}

#[cold]
fn unknown(kind: DeviceKind) -> Error {
    let advice = match kind {
        DeviceKind::CUDA | DeviceKind::CUDA_HOST | DeviceKind::CUDA_MANAGED => Some(Advice::RegisterCuda),
        DeviceKind::OPENCL => Some(Advice::RegisterOpenCl),
        _ => None,
    };
    Error::new(Kind::Unsupported, format!("no driver for devices of kind {kind} is registered"))
        .advising(advice)
}

fn no_such(place: Place) -> Error {
    Error::new(Kind::Bounds, format!("there is no {place}; the host is device 0"))
}
