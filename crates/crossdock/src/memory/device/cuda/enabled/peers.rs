//! Devices that reach each other's memory without a way over the host.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::memory::device::cuda::enabled::core::Core;
use crate::memory::device::cuda::enabled::sys::{self, code};

/// Those whose memory a device was told that it may reach, or that it cannot.
pub(super) struct Peers(Mutex<BTreeSet<i32>>);

impl Peers {
    pub(super) fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }

    /// Lets `core`, whose peers these are, reach the memory of another device, if it can at all; where it cannot, the driver copies over
    /// the host by itself. Asked for once for each device: everybody in the process shares the answer.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub(super) fn allow(&self, core: &Core, other: &Core) -> Result<()> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ordinal = other.context().ordinal();
        if ordinal == core.context().ordinal() || known().contains(&ordinal) {
            return Ok(());
        }
        let (driver, device) = (core.driver(), core.context().device());
        let mut can = 0;
        // SAFETY: both are devices of the driver's; the answer goes to a variable of ours.
        unsafe { driver.device_can_access_peer(&raw mut can, device, other.context().device()) }?;
        if can != 0 {
            let _current = core.enter()?;
            // SAFETY: a context of another device, retained while the other lives; 0 is the only value of the flags.
            match unsafe { driver.context_enable_peer_access(other.context().raw(), 0) } {
                Err(failure) if failure.code != code::PEER_ACCESS_ALREADY_ENABLED => {
                    return Err(failure.into());
                }
                _ => {}
            }
            if let Some(pool) = other.pool() {
                let access = sys::Access::of(device);
                // SAFETY: the other's pool, alive as it is; one description, which the driver copies.
                unsafe { driver.mem_pool_set_access(pool.raw(), &raw const access, 1) }?;
            }
        }
        known().insert(ordinal);
        Ok(())
    }
}
