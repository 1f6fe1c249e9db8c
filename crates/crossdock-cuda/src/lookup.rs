//! Looks addresses up in the driver.

use std::ffi::c_void;

use crate::context::is_any_current;
use crate::core::Core;
use crate::driver::Driver;
use crate::load;
use crate::sys::{self, Address, memory_type};
use crossdock::Result;
use crossdock::memory::{DeviceKind, Place};

/// Memory that the driver knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Device {
        ordinal: i32,
    },
    /// Pinned host memory, with its host address.
    Pinned {
        ordinal: i32,
        host: Address,
    },
    Managed {
        ordinal: i32,
    },
}

/// The place of the memory at an address; `None` where the driver does not know it.
///
/// # Errors
///
/// As [`look_up_anywhere`].
pub(crate) fn place_of(address: *const u8) -> Result<Option<Place>> {
    let found = look_up_anywhere(address.expose_provenance() as Address)?;
    Ok(found.map(|found| match found {
        Found::Device { ordinal } => Place::new(DeviceKind::CUDA, ordinal),
        Found::Pinned { ordinal, .. } => Place::new(DeviceKind::CUDA_HOST, ordinal),
        Found::Managed { ordinal } => Place::new(DeviceKind::CUDA_MANAGED, ordinal),
    }))
}

/// As [`look_up`], in any context: addresses are the same in all contexts of the driver.
///
/// # Errors
///
/// As [`look_up`], and those of opening the first device where none is in use.
fn look_up_anywhere(address: Address) -> Result<Option<Found>> {
    let driver = load::loaded()?.driver();
    if is_any_current(driver)? {
        return in_current(driver, address);
    }
    let core = Core::any().map_or_else(|| Core::of(0), Ok)?;
    look_up(&core, address)
}

/// The memory at an address; `None` where the driver does not know it, as for most host memory.
///
/// # Errors
///
/// The driver's error.
pub(crate) fn look_up(core: &Core, address: Address) -> Result<Option<Found>> {
    let _current = core.enter()?;
    in_current(core.driver(), address)
}

fn in_current(driver: &Driver, address: Address) -> Result<Option<Found>> {
    use sys::pointer::{DEVICE_ORDINAL, HOST_POINTER, IS_MANAGED, MEMORY_TYPE};
    let (mut kind, mut is_managed, mut ordinal, mut host): (u32, u32, i32, Address) = (0, 0, 0, 0);
    let mut attributes = [MEMORY_TYPE, IS_MANAGED, DEVICE_ORDINAL, HOST_POINTER];
    let mut answers: [*mut c_void; 4] = [
        (&raw mut kind).cast(),
        (&raw mut is_managed).cast(),
        (&raw mut ordinal).cast(),
        (&raw mut host).cast(),
    ];
    let count = attributes.len() as u32;
    let (attributes, answers) = (attributes.as_mut_ptr(), answers.as_mut_ptr());
    // SAFETY: both arrays have `count` entries, and each answer points to a live local variable of
    // the size that its attribute has.
    unsafe { driver.pointer_get_attributes(count, attributes, answers, address) }?;
    Ok(match kind {
        // The flag is one byte or four, depending on the driver's version.
        _ if kind != 0 && is_managed & 0xFF != 0 => Some(Found::Managed { ordinal }),
        memory_type::HOST => Some(Found::Pinned { ordinal, host }),
        memory_type::DEVICE => Some(Found::Device { ordinal }),
        _ => None,
    })
}
