//! Memory of the virtual memory calls: each allocation is mapped at addresses of its own, with an
//! access, and leaves the process as a file descriptor.
//!
//! Reasons: `DESIGN.md`, "CUDA memory leaves a process as a descriptor".

use std::collections::BTreeMap;
#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::Core;
use crate::driver::Failure;
use crate::sys::{self, Address, Physical, attribute};
use crate::virtual_calls::VirtualCalls;
use crossdock::device::driver::report_release_error;
use crossdock::{Error, Result};

/// Memory that is mapped at addresses of its own, or is on the way there. Its drop gives everything
/// back, however far that came.
///
/// # Invariants
///
/// 1. `physical` is a handle that `calls` returned, and this value alone releases it.
/// 2. `range` are addresses that `calls` reserved, and this value alone frees them.
/// 3. If `is_mapped`, the whole range is one mapping of `physical`.
pub(crate) struct Mapping {
    core: Arc<Core>,
    calls: &'static VirtualCalls,
    physical: Option<Physical>,
    range: Option<(Address, usize)>,
    is_mapped: bool,
}

/// The part of a mapping that exports and copies need.
#[derive(Clone, Debug)]
struct Mapped {
    origin: Origin,
    extent: usize,
    /// The devices that access it.
    devices: Vec<sys::Device>,
}

/// Where the memory of a mapping comes from, and so what it is exported by.
#[derive(Clone, Debug)]
enum Origin {
    /// Allocated here: the driver opens descriptors of it.
    Allocated(Physical),
    /// From another process. The driver opens no descriptors of what it imported, so that the one
    /// which was received is kept.
    #[cfg(unix)]
    Imported(Arc<OwnedFd>),
}

impl Origin {
    /// Whether devices may only read the memory.
    fn is_readonly(&self) -> bool {
        !matches!(self, Self::Allocated(_))
    }
}

/// The mappings of the process that buffers have, by their addresses.
static MAPPINGS: Mutex<BTreeMap<Address, Mapped>> = Mutex::new(BTreeMap::new());

/// Never called in a forked child, which takes no lock that its parent may have held.
fn mappings() -> MutexGuard<'static, BTreeMap<Address, Mapped>> {
    MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calls, if the driver and the device have them.
///
/// # Errors
///
/// `is_unsupported`; the driver's error.
pub(crate) fn supported(core: &Core) -> Result<&'static VirtualCalls> {
    const INSTEAD: &str = "pass the memory by a legacy IPC handle instead (exportable_memory and export_ipc)";
    // First, since a forked child calls nothing.
    let _current = core.enter()?;
    let place = core.context().place();
    let calls = core.context().virtual_calls().map_err(|error| {
        error.within(format!("memory on {place} cannot be exported as a descriptor; {INSTEAD}"))
    })?;
    for needed in [attribute::VIRTUAL_MEMORY_SUPPORTED, attribute::POSIX_DESCRIPTOR_SUPPORTED] {
        if core.context().attribute(needed)? == 0 {
            return Err(Error::unsupported(format!(
                "memory on {place} cannot be exported as a descriptor (attribute {needed} is 0); {INSTEAD}"
            )));
        }
    }
    Ok(calls)
}

impl Mapping {
    fn new(core: &Arc<Core>, calls: &'static VirtualCalls) -> Self {
        Self { core: core.clone(), calls, physical: None, range: None, is_mapped: false }
    }

    /// New memory, which the device reads and writes.
    ///
    /// # Errors
    ///
    /// As [`supported`]; `is_out_of_memory`.
    pub(crate) fn allocate(core: &Arc<Core>, nbytes: usize) -> Result<Self> {
        let mut mapping = Self::new(core, supported(core)?);
        let _current = core.enter()?;
        let properties = sys::MemoryProperties::exportable_on(core.context().device());
        let unit = mapping.unit(&properties)?;
        let extent = nbytes.checked_next_multiple_of(unit).ok_or_else(|| {
            Error::no_memory(format!(
                "out of memory: {nbytes} bytes, in units of {unit}, exceed all addresses"
            ))
        })?;
        let mut physical = Physical::NULL;
        // SAFETY: the handle and the properties are live local variables, the size is a multiple of
        // the granularity, and 0 is the only valid value of the flags.
        unsafe { mapping.calls.create(&raw mut physical, extent, &raw const properties, 0) }?;
        mapping.physical = Some(physical);
        mapping.map(physical, extent, Origin::Allocated(physical))?;
        Ok(mapping)
    }

    /// Memory of another process, of `extent` bytes, which the device only reads.
    ///
    /// # Errors
    ///
    /// As [`supported`]; `is_device` where the descriptor is not of such memory, or of less, or
    /// cannot be duplicated.
    #[cfg(unix)]
    pub(crate) fn import(hint: &Arc<Core>, descriptor: BorrowedFd<'_>, extent: usize) -> Result<Self> {
        let mut mapping = Self::new(hint, supported(hint)?);
        let kept = duplicate(descriptor)?;
        let current = hint.enter()?;
        let number = std::ptr::without_provenance_mut(descriptor.as_raw_fd() as usize);
        let mut physical = Physical::NULL;
        // SAFETY: the descriptor is open, which the driver checks and leaves to the caller; the
        // handle goes to a live local variable.
        unsafe { mapping.calls.import(&raw mut physical, number, sys::POSIX_DESCRIPTOR) }
            .map_err(|failure| Error::from(failure).within("importing memory of another process"))?;
        mapping.physical = Some(physical);
        let mut properties = sys::MemoryProperties::exportable_on(0);
        // SAFETY: the handle was imported above, and the properties go to a live local variable.
        unsafe { mapping.calls.properties(&raw mut properties, physical) }?;
        drop(current);
        let ordinal = properties.device().ok_or_else(|| {
            Error::unsupported("the memory of another process is not a CUDA device's, and cannot be imported")
        })?;
        mapping.core = Core::of(ordinal)?;
        let core = mapping.core.clone();
        let _current = core.enter()?;
        let unit = mapping.unit(&sys::MemoryProperties::exportable_on(core.context().device()))?;
        if extent == 0 || !extent.is_multiple_of(unit) {
            return Err(Error::malformed(format!(
                "an allocation of {extent} bytes was described, which is no multiple of {unit}"
            )));
        }
        mapping
            .map(physical, extent, Origin::Imported(Arc::new(kept)))
            .map_err(|error| error.within(format!("mapping {extent} bytes of another process")))?;
        Ok(mapping)
    }

    /// The unit of sizes and addresses.
    fn unit(&self, properties: &sys::MemoryProperties) -> Result<usize> {
        let mut unit = 0;
        // SAFETY: the driver reads the properties and writes the size to a live local variable.
        unsafe { self.calls.granularity(&raw mut unit, properties, sys::MINIMUM_GRANULARITY) }?;
        if unit == 0 {
            return Err(Error::device("cuMemGetAllocationGranularity returned 0"));
        }
        Ok(unit)
    }

    /// Maps memory at new addresses for its device, which only reads what was imported. The context
    /// is current.
    fn map(&mut self, physical: Physical, extent: usize, origin: Origin) -> Result<()> {
        let mut address = 0;
        // SAFETY: the driver checks the size, chooses the address, and writes it to a live local
        // variable.
        unsafe { self.calls.reserve(&raw mut address, extent, 0, 0, 0) }?;
        self.range = Some((address, extent));
        // SAFETY: the addresses were reserved above, and nothing is mapped there yet; the handle is
        // alive (Mapping 1), and the driver checks that the memory has that many bytes.
        unsafe { self.calls.map(address, extent, 0, physical, 0) }?;
        self.is_mapped = true;
        let device = self.core.context().device();
        let access = access(device, origin.is_readonly());
        // SAFETY: the range was mapped above as a whole, and the driver copies the one description.
        unsafe { self.calls.set_access(address, extent, &raw const access, 1) }?;
        mappings().insert(address, Mapped { origin, extent, devices: vec![device] });
        Ok(())
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The first address; null before the memory is mapped.
    pub(crate) fn address(&self) -> Address {
        self.range.map_or(0, |(address, _)| address)
    }

    /// Gives everything back.
    ///
    /// # Errors
    ///
    /// The driver's first error; the rest is given back all the same.
    pub(crate) fn end(mut self) -> Result<()> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<()> {
        let (range, physical) = (self.range.take(), self.physical.take());
        let is_mapped = std::mem::take(&mut self.is_mapped);
        let context = self.core.context();
        if context.is_inherited() {
            return Ok(());
        }
        let calls = self.calls;
        let mut outcome = Ok(());
        let mut and = |free: &dyn Fn() -> Result<(), Failure>| {
            let freed = context.release(|_| free());
            if outcome.is_ok() {
                outcome = freed;
            }
        };
        if let (Some((address, extent)), true) = (range, is_mapped) {
            mappings().remove(&address);
            // SAFETY: the range is one mapping (Mapping 3), and no buffer with its addresses, nor
            // work with a lease of one, is left.
            and(&|| unsafe { calls.unmap(address, extent) });
        }
        if let Some(handle) = physical {
            // SAFETY: this value alone releases the handle (Mapping 1), and it does that once.
            and(&|| unsafe { calls.release(handle) });
        }
        if let Some((address, extent)) = range {
            // SAFETY: this value alone frees the addresses (Mapping 2), once, and nothing is mapped
            // there any more.
            and(&|| unsafe { calls.free_addresses(address, extent) });
        }
        outcome
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Err(error) = self.give_back() {
            report_release_error(self.core.context().place(), error);
        }
    }
}

/// Whether a mapping is around an address. Not for a forked child.
pub(crate) fn is_mapped(address: Address) -> bool {
    around(address).is_some()
}

/// The mapping around an address, and its first address.
fn around(address: Address) -> Option<(Address, Mapped)> {
    let mappings = mappings();
    let (&base, mapped) = mappings.range(..=address).next_back()?;
    (address - base < mapped.extent as u64).then(|| (base, mapped.clone()))
}

fn access(device: sys::Device, readonly: bool) -> sys::Access {
    if readonly { sys::Access::for_reading(device) } else { sys::Access::of(device) }
}

/// Lets another device access the mapping around an address, if there is one: access between
/// contexts does not comprise it. A lease keeps the memory during the call.
///
/// # Errors
///
/// The driver's error.
pub(crate) fn allow(by: &Core, address: Address) -> Result<()> {
    let device = by.context().device();
    let Some((base, mapped)) = around(address).filter(|(_, mapped)| !mapped.devices.contains(&device)) else {
        return Ok(());
    };
    let (calls, _current) = (by.context().virtual_calls()?, by.enter()?);
    let access = access(device, mapped.origin.is_readonly());
    // SAFETY: the caller's lease keeps the mapping, which is this whole range (Mapping 3); the
    // driver copies the one description.
    unsafe { calls.set_access(base, mapped.extent, &raw const access, 1) }?;
    if let Some(mapped) = mappings().get_mut(&base) {
        mapped.devices.push(device);
    }
    Ok(())
}

/// A descriptor of the allocation around an address, the offset of the address in it, and its
/// size; `None` for other memory. A lease keeps the memory during the call.
///
/// # Errors
///
/// The driver's error; `is_device` where the descriptor cannot be duplicated.
#[cfg(unix)]
pub(crate) fn export(core: &Core, address: Address) -> Result<Option<(OwnedFd, u64, usize)>> {
    let Some((base, Mapped { origin, extent, .. })) = around(address) else { return Ok(None) };
    let descriptor = match origin {
        Origin::Allocated(physical) => open(core, physical)?,
        Origin::Imported(received) => duplicate(received.as_fd())?,
    };
    Ok(Some((descriptor, address - base, extent)))
}

/// A new descriptor of memory that was allocated here. The caller has a lease that keeps its
/// mapping.
#[cfg(unix)]
fn open(core: &Core, physical: Physical) -> Result<OwnedFd> {
    let calls = supported(core)?;
    let _current = core.enter()?;
    let mut descriptor: RawFd = -1;
    let to = (&raw mut descriptor).cast();
    // SAFETY: the caller's lease keeps the mapping, and so its handle (Mapping 1); the driver
    // writes a descriptor to a live local variable, which has its type.
    unsafe { calls.export(to, physical, sys::POSIX_DESCRIPTOR, 0) }?;
    if descriptor < 0 {
        return Err(Error::device(format!(
            "cuMemExportToShareableHandle returned the descriptor {descriptor}"
        )));
    }
    // SAFETY: the driver opened the descriptor in the call above for this caller alone.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // A duplicate, since the driver does not promise that executed programs lack its own.
    duplicate(descriptor.as_fd())
}

/// The same descriptor once more, which programs that this one executes do not inherit.
#[cfg(unix)]
fn duplicate(descriptor: BorrowedFd<'_>) -> Result<OwnedFd> {
    descriptor.try_clone_to_owned().map_err(|error| {
        Error::device(format!("the descriptor of the memory could not be duplicated: {error}"))
    })
}
