//! One block of memory: which function of the driver allocates it, and which one frees it.

use std::sync::Arc;

use crate::core::Core;
use crate::pool::Allocated;
use crate::sys::{self, Address, attribute};
use crossdock::device::Event;
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Error, Result};

/// What kind of memory a manager gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The device's, of the stream-ordered pool; of the driver where there is none.
    Pool,
    /// The device's, of the driver: other processes can open it.
    Driver,
    /// The host's, pinned for all contexts and mapped to the devices.
    Pinned,
    /// Memory that goes where it is used.
    Managed,
}

impl Source {
    pub(crate) fn device_kind(self) -> DeviceKind {
        match self {
            Self::Pool | Self::Driver => DeviceKind::CUDA,
            Self::Pinned => DeviceKind::CUDA_HOST,
            Self::Managed => DeviceKind::CUDA_MANAGED,
        }
    }

    /// The one that a place of CUDA has first.
    pub(crate) fn of(kind: DeviceKind) -> Option<Self> {
        [Self::Pool, Self::Pinned, Self::Managed].into_iter().find(|source| source.device_kind() == kind)
    }
}

/// Memory of the driver's, which is freed once, by [`Block::free`].
#[derive(Debug)]
pub(crate) struct Block {
    core: Arc<Core>,
    source: Source,
    address: Address,
    /// Where the memory is a pool's: its number there.
    number: Option<u64>,
}

impl Block {
    /// # Errors
    ///
    /// `is_out_of_memory`; what the driver says.
    pub(crate) fn allocate(core: &Arc<Core>, source: Source, nbytes: usize) -> Result<Self> {
        let block = |address| Self { core: core.clone(), source, address, number: None };
        // What the device can never have is not asked for: a pool would look for it first.
        let is_on_device = source != Source::Pinned;
        if is_on_device && nbytes as u64 > core.total_nbytes() {
            return Err(too_much(core, source, nbytes, core.total_nbytes()));
        }
        match (source, core.pool()) {
            (Source::Pool, Some(pool)) => {
                let _current = core.enter()?;
                // SAFETY: the context is current.
                let taken = unsafe { pool.allocate(core.driver(), nbytes) };
                let (address, number) =
                    taken.map_err(|failure| Error::from(failure).within(asked(core, source, nbytes)))?;
                Ok(Self { number: Some(number), ..block(address) })
            }
            (Source::Pool | Source::Driver, _) => Ok(block(or_trimmed(core, source, nbytes, on_device)?)),
            (Source::Pinned, _) => {
                let block = block(or_trimmed(core, source, nbytes, on_host)?);
                // SAFETY: the driver allocated `nbytes` bytes of host memory above, and their
                // address has not left this function.
                unsafe {
                    std::ptr::with_exposed_provenance_mut::<u8>(block.address as usize).write_bytes(0, nbytes)
                };
                Ok(block)
            }
            (Source::Managed, _) => {
                check_managed(core, nbytes)?;
                let block = block(or_trimmed(core, source, nbytes, managed)?);
                match block.fill_with_zeros(nbytes) {
                    Ok(()) => Ok(block),
                    Err(error) => {
                        // The first error is the one to tell.
                        let _also = block.free();
                        Err(error)
                    }
                }
            }
        }
    }

    pub(crate) fn address(&self) -> Address {
        self.address
    }

    /// The event from which on the memory can be used; `None` where it can be at once.
    pub(crate) fn event(&self) -> Option<Arc<dyn Event>> {
        Some(Arc::new(Allocated::new(self.core.clone(), self.number?)))
    }

    /// On the device, where it is most likely used first.
    fn fill_with_zeros(&self, nbytes: usize) -> Result<()> {
        let driver = self.core.driver();
        // SAFETY: `allocate` obtained `nbytes` bytes at `address` and has not returned the block
        // yet, so no other work touches them. `now` makes the context current and returns after the
        // work is over.
        self.core.now(|stream| Ok(unsafe { driver.memset_d8_async(self.address, 0, nbytes, stream) }?))
    }

    /// # Errors
    ///
    /// What the driver says. The memory is gone for this program, whatever the driver made of it.
    pub(crate) fn free(self) -> Result<()> {
        let Self { core, source, address, .. } = self;
        core.context().release(|driver| match (source, core.pool()) {
            // SAFETY: allocated by the pool in `allocate`, and freed here alone; the context is
            // current.
            (Source::Pool, Some(pool)) => unsafe { pool.free(driver, address) },
            (Source::Pinned, _) => {
                let host = std::ptr::with_exposed_provenance_mut(address as usize);
                // SAFETY: allocated as pinned memory in `allocate`, and freed here alone.
                unsafe { driver.mem_free_host(host) }
            }
            // SAFETY: allocated by the driver in `allocate`, and freed here alone.
            _ => unsafe { driver.mem_free(address) },
        })
    }
}

/// What calls the driver, in the current context.
type Allocate = fn(&Core, usize) -> Result<Address>;

fn on_device(core: &Core, nbytes: usize) -> Result<Address> {
    let mut address = 0;
    // SAFETY: the driver writes the address to a live local variable.
    unsafe { core.driver().mem_alloc(&raw mut address, nbytes) }?;
    Ok(address)
}

fn on_host(core: &Core, nbytes: usize) -> Result<Address> {
    let mut address = std::ptr::null_mut();
    // SAFETY: the driver writes the address to a live local variable.
    unsafe { core.driver().mem_host_alloc(&raw mut address, nbytes, sys::HOST_PORTABLE_AND_MAPPED) }?;
    Ok(address.expose_provenance() as Address)
}

fn managed(core: &Core, nbytes: usize) -> Result<Address> {
    let mut address = 0;
    // SAFETY: the driver writes the address to a live local variable.
    unsafe { core.driver().mem_alloc_managed(&raw mut address, nbytes, sys::ATTACH_GLOBAL) }?;
    Ok(address)
}

/// Once more without what the pool keeps, where there is no memory at first.
fn or_trimmed(core: &Core, source: Source, nbytes: usize, allocate: Allocate) -> Result<Address> {
    let _current = core.enter()?;
    let outcome = match (allocate(core, nbytes), core.pool()) {
        (Err(error), Some(pool)) if error.is_out_of_memory() => {
            pool.trim(0)?;
            allocate(core, nbytes)
        }
        (outcome, _) => outcome,
    };
    outcome.map_err(|error| error.within(asked(core, source, nbytes)))
}

fn asked(core: &Core, source: Source, nbytes: usize) -> String {
    format!("{nbytes} bytes on {}", Place::new(source.device_kind(), core.context().ordinal()))
}

fn too_much(core: &Core, source: Source, nbytes: usize, there_are: u64) -> Error {
    let asked = asked(core, source, nbytes);
    Error::no_memory(format!("out of memory: {asked} were asked for, of a device with {there_are}"))
}

/// Managed memory that the device has no room for would go to and fro as long as it is used: it is
/// refused. And while the device works, the processor may touch managed memory only where both can
/// at a time.
fn check_managed(core: &Core, nbytes: usize) -> Result<()> {
    for needed in [attribute::MANAGED_MEMORY, attribute::CONCURRENT_MANAGED_ACCESS] {
        if core.context().attribute(needed)? == 0 {
            return Err(Error::unsupported(format!(
                "{} has no managed memory that the host may touch at any time (attribute {needed} is 0)",
                core.context().place()
            )));
        }
    }
    let free = core.free_nbytes()?;
    if nbytes as u64 > free {
        let asked = asked(core, Source::Managed, nbytes);
        let text = format!("out of memory: {asked} were asked for, of a device with {free} free");
        return Err(Error::no_memory(text));
    }
    Ok(())
}
