//! Which devices there are, by kind.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use crate::device::host::{HostDevice, HostMemory, SharedMemory};
use crate::device::{Device, MemoryManager, Usage, cuda, opencl};
use crate::error::{Error, Kind, Result};
use crate::memory::fork::ForkLock;
use crate::memory::{Backing, DeviceKind, Place};

/// What opens the device of one kind with a number.
type Factory = Arc<dyn Fn(i32) -> Result<Arc<dyn Device>> + Send + Sync>;

/// Who opens a device.
enum Opener {
    BuiltIn(Open),
    Registered(Factory),
}

impl Opener {
    fn of(kind: DeviceKind, registry: &Registry) -> Option<Self> {
        let built_in = BUILT_IN.iter().find(|&&(of, _)| of == kind).map(|&(_, open)| Self::BuiltIn(open));
        built_in.or_else(|| registry.factories.get(&kind).cloned().map(Self::Registered))
    }

    fn open(&self, place: Place) -> Result<Arc<dyn Device>> {
        let opened = match self {
            Self::BuiltIn(open) => open(place),
            Self::Registered(factory) => factory(place.ordinal()),
        };
        opened.map_err(|error| error.within(format_args!("{place} cannot be opened")))
    }

    /// Whether it was not taken out meanwhile.
    fn is_still(&self, kind: DeviceKind, registry: &Registry) -> bool {
        match self {
            Self::BuiltIn(_) => true,
            Self::Registered(factory) => {
                registry.factories.get(&kind).is_some_and(|now| Arc::ptr_eq(now, factory))
            }
        }
    }
}

/// What opens the devices of a kind that is built in.
type Open = fn(Place) -> Result<Arc<dyn Device>>;

/// The kinds that nobody has to register, and what opens them.
const BUILT_IN: &[(DeviceKind, Open)] = &[
    (DeviceKind::CUDA, cuda::open),
    (DeviceKind::CUDA_HOST, cuda::open),
    (DeviceKind::CUDA_MANAGED, cuda::open),
    (DeviceKind::OPENCL, opencl::open),
];

fn is_built_in(kind: DeviceKind) -> bool {
    kind == DeviceKind::CPU || BUILT_IN.iter().any(|&(built_in, _)| built_in == kind)
}

/// Nothing of a device or a factory is called or dropped under the lock.
struct Registry {
    host: Option<Host>,
    factories: BTreeMap<DeviceKind, Factory>,
    opened: BTreeMap<Place, Arc<dyn Device>>,
}

/// What is always there.
#[derive(Clone)]
struct Host {
    device: Arc<HostDevice>,
    memory: Arc<dyn MemoryManager>,
    shared: Arc<dyn MemoryManager>,
}

static REGISTRY: ForkLock<Registry> =
    ForkLock::new(Registry { host: None, factories: BTreeMap::new(), opened: BTreeMap::new() });

fn registry() -> MutexGuard<'static, Registry> {
    // SAFETY: a static stays where it is.
    unsafe { REGISTRY.lock() }
}

fn the_host() -> Host {
    let make = || {
        let memory = Arc::new(HostMemory::new(None));
        let device = Arc::new(HostDevice::new(memory.clone()));
        Host { device, memory, shared: Arc::new(SharedMemory::new()) }
    };
    registry().host.get_or_insert_with(make).clone()
}

/// Registers what opens the devices of a kind. It is called once for each number, when that device is first asked for, and again
/// if it failed.
///
/// ```
/// use crossdock::device;
/// use crossdock::device::fenced::FencedDevice;
/// use crossdock::memory::{DeviceKind, Place};
///
/// device::register(DeviceKind::EXT_DEV, |ordinal| Ok(FencedDevice::new(ordinal)))?;
/// let device = device::get(Place::new(DeviceKind::EXT_DEV, 3))?;
/// assert_eq!(device.place().to_string(), "ext_dev:3");
/// assert!(device::get(Place::new(DeviceKind::METAL, 0)).unwrap_err().is_unsupported());
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_conflict` where there is one for the kind already; those of the processor, of CUDA and of OpenCL are always there.
pub fn register(
    kind: DeviceKind,
    factory: impl Fn(i32) -> Result<Arc<dyn Device>> + Send + Sync + 'static,
) -> Result<()> {
    let factory: Factory = Arc::new(factory);
    let mut registry = registry();
    if is_built_in(kind) || registry.factories.contains_key(&kind) {
        drop(registry);
        return Err(Error::new(Kind::Conflict, format!("devices of the kind {kind} are registered already")));
    }
    registry.factories.insert(kind, factory);
    Ok(())
}

/// Takes a kind out, with the devices of it that were opened. Their memory stays good: it keeps its manager.
///
/// # Errors
///
/// `is_unsupported` where the kind is not registered, or is the processor's.
pub fn unregister(kind: DeviceKind) -> Result<()> {
    let mut registry = registry();
    let Some(factory) = registry.factories.remove(&kind) else {
        drop(registry);
        return Err(unknown(kind));
    };
    let mut closed = Vec::new();
    while let Some(place) = registry.opened.keys().find(|place| place.kind() == kind).copied() {
        closed.extend(registry.opened.remove(&place));
    }
    drop(registry);
    drop((factory, closed));
    Ok(())
}

/// The device at a place, opened if it was not yet; the same one each time.
///
/// # Errors
///
/// `is_unsupported` where the kind is not registered, `is_bounds` where the processor is asked for by another number than 0, and
/// whatever opening it says.
pub fn get(place: Place) -> Result<Arc<dyn Device>> {
    if place.kind() == DeviceKind::CPU {
        return if place == Place::CPU { Ok(the_host().device) } else { Err(no_such(place)) };
    }
    let opener = {
        let registry = registry();
        if let Some(device) = registry.opened.get(&place) {
            return Ok(device.clone());
        }
        Opener::of(place.kind(), &registry)
    };
    let opener = opener.ok_or_else(|| unknown(place.kind()))?;
    let device = opener.open(place)?;
    if device.place() != place {
        return Err(Error::device(format!("{place} was to be opened, and {} came", device.place())));
    }
    let mut registry = registry();
    // Taken out meanwhile, it is not put back.
    if !opener.is_still(place.kind(), &registry) {
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

/// Memory of this process that other processes can map ([`Buffer::shared`](crate::buffer::Buffer::shared)): at the place `cpu`, and so
/// beside the usual memory there.
pub fn shared_memory() -> Arc<dyn MemoryManager> {
    the_host().shared
}

pub(super) fn host() -> Arc<dyn MemoryManager> {
    the_host().memory
}

/// Who answers for memory that no device's manager allocated; `None` where its kind is not registered.
pub(super) fn manager_of(place: Place, backing: Backing) -> Result<Option<Arc<dyn MemoryManager>>> {
    let is_known = || Opener::of(place.kind(), &registry()).is_some();
    match (place.is_host(), backing) {
        (true, Backing::Shared) => Ok(Some(shared_memory())),
        (true, _) => Ok(Some(host())),
        (false, _) if is_known() => memory(place).map(Some),
        (false, _) => Ok(None),
    }
}

/// The kinds that are built in, the processor's first, and those that are registered.
pub fn kinds() -> Vec<DeviceKind> {
    let mut kinds = vec![DeviceKind::CPU];
    kinds.extend(BUILT_IN.iter().map(|&(kind, _)| kind));
    kinds.extend(registry().factories.keys());
    kinds
}

/// The devices that were opened, the processor first.
pub fn opened() -> Vec<Arc<dyn Device>> {
    let mut devices: Vec<Arc<dyn Device>> = vec![the_host().device];
    devices.extend(registry().opened.values().cloned());
    devices
}

/// What is in use of the memory of each device that was opened, the processor's first; its shared memory has a row of its own.
pub fn usage() -> Vec<(String, Place, Usage)> {
    let mut rows: Vec<_> =
        opened().into_iter().map(|device| (device.name(), device.place(), device.memory().usage())).collect();
    rows.insert(1, ("shared memory".to_owned(), Place::CPU, the_host().shared.usage()));
    rows
}

fn unknown(kind: DeviceKind) -> Error {
    Error::new(Kind::Unsupported, format!("no devices of the kind {kind} are registered"))
}

fn no_such(place: Place) -> Error {
    Error::new(Kind::Bounds, format!("there is no {place}: the host has the number 0"))
}
