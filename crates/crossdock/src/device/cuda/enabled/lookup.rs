//! What the driver knows of an address.

use std::ffi::c_void;

use crate::device::cuda::enabled::context::is_any_current;
use crate::device::cuda::enabled::core::Core;
use crate::device::cuda::enabled::driver::Driver;
use crate::device::cuda::enabled::load;
use crate::device::cuda::enabled::sys::{self, Address, memory_type};
use crate::error::Result;

/// Memory that the driver knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Device {
        ordinal: i32,
    },
    /// Pinned memory of the host, by the address that the host has for it.
    Pinned {
        ordinal: i32,
        host: Address,
    },
    Managed {
        ordinal: i32,
    },
}

/// As [`look_up`], in whichever context: the driver has the same addresses for all of them.
///
/// # Errors
///
/// As [`look_up`], and of opening the first device where none was in use.
pub(super) fn look_up_anywhere(address: Address) -> Result<Option<Found>> {
    let driver = load::loaded()?.driver();
    if is_any_current(driver)? {
        return in_current(driver, address);
    }
    let core = Core::any().map_or_else(|| Core::of(0), Ok)?;
    look_up(&core, address)
}

/// What is at an address; `None` for memory of which the driver knows nothing, as it is for most of the host's.
///
/// # Errors
///
/// What the driver says.
pub(super) fn look_up(core: &Core, address: Address) -> Result<Option<Found>> {
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
    // SAFETY: as many attributes as answers, which go to variables of ours, each of the size that its attribute has.
    unsafe { driver.pointer_get_attributes(count, attributes, answers, address) }?;
    Ok(match kind {
        // The flag is of one byte or of four, by the driver's version.
        _ if kind != 0 && is_managed & 0xFF != 0 => Some(Found::Managed { ordinal }),
        memory_type::HOST => Some(Found::Pinned { ordinal, host }),
        memory_type::DEVICE => Some(Found::Device { ordinal }),
        _ => None,
    })
}
