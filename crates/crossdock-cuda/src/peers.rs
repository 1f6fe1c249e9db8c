//! Devices that reach each other's memory without a way over the host.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::context::Context;
use crate::sys::{self, code};
use crossdock::Result;

/// Those whose memory a device was told that it may reach, or that it cannot.
pub(crate) struct Peers(Mutex<BTreeSet<i32>>);

impl Peers {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }

    /// Lets the device whose context and peers these are reach the memory of another, `pool` among
    /// it, if it can at all; where it cannot, the driver copies over the host by itself. Asked for
    /// once for each device: the whole process shares the answer.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub(crate) fn allow(&self, own: &Context, other: &Context, pool: Option<sys::Pool>) -> Result<()> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ordinal = other.ordinal();
        if ordinal == own.ordinal() || known().contains(&ordinal) {
            return Ok(());
        }
        let (driver, device) = (own.driver(), own.device());
        let mut can = 0;
        // SAFETY: both are devices of the driver's; the answer goes to `can`.
        unsafe { driver.device_can_access_peer(&raw mut can, device, other.device()) }?;
        if can != 0 {
            let _current = own.enter()?;
            // SAFETY: a context of another device, retained while the other lives; 0 is the only
            // value of the flags.
            match unsafe { driver.context_enable_peer_access(other.raw(), 0) } {
                Err(failure) if failure.code != code::PEER_ACCESS_ALREADY_ENABLED => {
                    return Err(failure.into());
                }
                _ => {}
            }
            if let Some(pool) = pool {
                let access = sys::Access::of(device);
                // SAFETY: the other's pool, alive as it is; one description, which the driver
                // copies.
                unsafe { driver.mem_pool_set_access(pool, &raw const access, 1) }?;
            }
        }
        known().insert(ordinal);
        Ok(())
    }
}
