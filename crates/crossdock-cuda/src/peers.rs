//! Devices that access each other's memory directly.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::context::Context;
use crate::sys::{self, code};
use crossdock::Result;

/// The known peers, and whether access was enabled or found to be impossible.
pub(crate) struct Peers(Mutex<BTreeMap<i32, bool>>);

impl Peers {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Lets the device `own` access the memory of `other`, including `pool`, if the hardware
    /// supports it; otherwise the driver copies through the host. Returns whether the device
    /// accesses the memory. The driver is called once for each peer: the whole process shares the
    /// setting.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn allow(&self, own: &Context, other: &Context, pool: Option<sys::Pool>) -> Result<bool> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ordinal = other.ordinal();
        if ordinal == own.ordinal() {
            return Ok(true);
        }
        if let Some(&reaches) = known().get(&ordinal) {
            return Ok(reaches);
        }
        let (driver, device) = (own.driver(), own.device());
        let mut can = 0;
        // SAFETY: both are device handles that this driver returned, and the answer goes to a live
        // local variable.
        unsafe { driver.device_can_access_peer(&raw mut can, device, other.device()) }?;
        if can != 0 {
            let _current = own.enter()?;
            // SAFETY: `other` retains its context, which is of another device by the check above,
            // and `own` is current; 0 is the only valid value of the flags.
            match unsafe { driver.context_enable_peer_access(other.raw(), 0) } {
                Err(failure) if failure.code != code::PEER_ACCESS_ALREADY_ENABLED => {
                    return Err(failure.into());
                }
                _ => {}
            }
            if let Some(pool) = pool {
                let access = sys::Access::of(device);
                // SAFETY: the caller passes the pool of `other`'s core, which it keeps alive; the
                // driver copies the one description.
                unsafe { driver.mem_pool_set_access(pool, &raw const access, 1) }?;
            }
        }
        known().insert(ordinal, can != 0);
        Ok(can != 0)
    }
}
