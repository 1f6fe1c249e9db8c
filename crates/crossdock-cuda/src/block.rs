//! One block of memory: which function of the driver allocates it, and which one frees it.

use std::sync::Arc;

use crate::core::Core;
use crate::pool::Allocated;
use crate::sys::{self, Address, attribute};
use crate::virtual_memory::Mapping;
use crossdock::device::Event;
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Error, Result};

/// The kinds of memory that a manager allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Device memory of the stream-ordered pool, or of the driver where the device has no pools.
    Pool,
    /// Device memory of the driver, which other processes can open.
    Driver,
    /// Device memory of the virtual memory calls, which other processes import by a descriptor.
    Shareable,
    /// Host memory, pinned for all contexts and mapped to the devices.
    Pinned,
    /// Managed memory, which migrates to where it is used.
    Managed,
}

impl Source {
    pub(crate) fn device_kind(self) -> DeviceKind {
        match self {
            Self::Pool | Self::Driver | Self::Shareable => DeviceKind::CUDA,
            Self::Pinned => DeviceKind::CUDA_HOST,
            Self::Managed => DeviceKind::CUDA_MANAGED,
        }
    }

    /// The default source of a kind of place.
    pub(crate) fn of(kind: DeviceKind) -> Option<Self> {
        [Self::Pool, Self::Pinned, Self::Managed].into_iter().find(|source| source.device_kind() == kind)
    }
}

/// A block of the driver's memory, which [`Block::free`] frees once.
pub(crate) struct Block {
    core: Arc<Core>,
    source: Source,
    address: Address,
    /// The number of the allocation in the pool, for memory of a pool.
    number: Option<u64>,
    /// For [`Source::Shareable`].
    mapping: Option<Mapping>,
}

impl Block {
    /// # Errors
    ///
    /// `is_out_of_memory`; the driver's error.
    pub(crate) fn allocate(core: &Arc<Core>, source: Source, nbytes: usize) -> Result<Self> {
        let block = |address| Self { core: core.clone(), source, address, number: None, mapping: None };
        // Checked here, because a pool searches for memory that the device can never have.
        let is_on_device = source != Source::Pinned;
        if is_on_device && nbytes as u64 > core.total_nbytes() {
            return Err(too_much(core, source, nbytes, core.total_nbytes()));
        }
        match (source, core.pool()) {
            (Source::Pool, Some(pool)) => {
                let _current = core.enter()?;
                // SAFETY: `_current` keeps the context of this core current, as the contract of
                // `StreamPool::allocate` requires.
                let taken = unsafe { pool.allocate(core.driver(), nbytes) };
                let (address, number) =
                    taken.map_err(|failure| Error::from(failure).within(asked(core, source, nbytes)))?;
                Ok(Self { number: Some(number), ..block(address) })
            }
            (Source::Pool | Source::Driver, _) => Ok(block(or_trimmed(core, source, nbytes, on_device)?)),
            (Source::Shareable, _) => {
                let mapping = or_trimmed(core, source, nbytes, Mapping::allocate)?;
                let address = mapping.address();
                Ok(Self { mapping: Some(mapping), ..block(address) })
            }
            (Source::Pinned, _) => {
                let block = block(or_trimmed(core, source, nbytes, on_host)?);
                // SAFETY: `on_host` allocated `nbytes` bytes of host memory at this exposed
                // address, which has not left this function, so no other code reaches them.
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
                        // The first error is the one to report.
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

    /// The event after which the memory can be used; `None` where it can be used immediately.
    pub(crate) fn event(&self) -> Option<Arc<dyn Event>> {
        Some(Arc::new(Allocated::new(self.core.clone(), self.number?)))
    }

    /// On the device, where the memory is most likely used first.
    fn fill_with_zeros(&self, nbytes: usize) -> Result<()> {
        let driver = self.core.driver();
        // SAFETY: `allocate` obtained `nbytes` bytes at `address` and has not returned the block
        // yet, so no other work touches them. `now` makes the context current and waits for the
        // work.
        self.core.now(|stream| Ok(unsafe { driver.memset_d8_async(self.address, 0, nbytes, stream) }?))
    }

    /// # Errors
    ///
    /// The driver's error. The block is lost to this program in any case.
    pub(crate) fn free(self) -> Result<()> {
        let Self { core, source, address, mapping, .. } = self;
        if let Some(mapping) = mapping {
            return mapping.end();
        }
        core.context().release(|driver| match (source, core.pool()) {
            // SAFETY: the pool allocated the address in `allocate`, only this method frees it, by
            // value, and `release` makes the context current.
            (Source::Pool, Some(pool)) => unsafe { pool.free(driver, address) },
            (Source::Pinned, _) => {
                let host = std::ptr::with_exposed_provenance_mut(address as usize);
                // SAFETY: `on_host` allocated the address as pinned memory, and only this method,
                // which consumes the block, frees it.
                unsafe { driver.mem_free_host(host) }
            }
            // SAFETY: `on_device` or `managed` allocated the address, and only this method, which
            // consumes the block, frees it.
            _ => unsafe { driver.mem_free(address) },
        })
    }
}

/// A function that allocates by the driver, in the current context.
type Allocate<T> = fn(&Arc<Core>, usize) -> Result<T>;

fn on_device(core: &Arc<Core>, nbytes: usize) -> Result<Address> {
    let mut address = 0;
    // SAFETY: the driver writes the address to a live local variable, and checks the number of
    // bytes.
    unsafe { core.driver().mem_alloc(&raw mut address, nbytes) }?;
    Ok(address)
}

fn on_host(core: &Arc<Core>, nbytes: usize) -> Result<Address> {
    let mut address = std::ptr::null_mut();
    // SAFETY: the driver writes the address to a live local variable, and checks the number of
    // bytes and the flags.
    unsafe { core.driver().mem_host_alloc(&raw mut address, nbytes, sys::HOST_PORTABLE_AND_MAPPED) }?;
    Ok(address.expose_provenance() as Address)
}

fn managed(core: &Arc<Core>, nbytes: usize) -> Result<Address> {
    let mut address = 0;
    // SAFETY: the driver writes the address to a live local variable, and checks the number of
    // bytes and the flags.
    unsafe { core.driver().mem_alloc_managed(&raw mut address, nbytes, sys::ATTACH_GLOBAL) }?;
    Ok(address)
}

/// Allocates; where memory is exhausted, trims the pool and tries once more.
fn or_trimmed<T>(core: &Arc<Core>, source: Source, nbytes: usize, allocate: Allocate<T>) -> Result<T> {
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
    Error::no_memory(format!("out of memory: {asked} were requested, but the device has {there_are}"))
}

/// Refuses managed memory that exceeds the device's free memory, because it would migrate back and
/// forth during use. Also requires concurrent access, because otherwise the CPU must not access
/// managed memory while the device works.
fn check_managed(core: &Core, nbytes: usize) -> Result<()> {
    for needed in [attribute::MANAGED_MEMORY, attribute::CONCURRENT_MANAGED_ACCESS] {
        if core.context().attribute(needed)? == 0 {
            return Err(Error::unsupported(format!(
                "{} has no managed memory that the CPU may access at any time (attribute {needed} is 0)",
                core.context().place()
            )));
        }
    }
    let free = core.free_nbytes()?;
    if nbytes as u64 > free {
        let asked = asked(core, Source::Managed, nbytes);
        let text = format!("out of memory: {asked} were requested, but the device has {free} free");
        return Err(Error::no_memory(text));
    }
    Ok(())
}
