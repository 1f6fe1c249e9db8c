//! A lease to another process: a descriptor to inherit, and its description.

use std::os::fd::{AsRawFd, OwnedFd};

use crossdock::bindings::system_text;
use crossdock::exchange::protocol::shm::Exported;

use crate::failure::{Failure, Result};
use crate::lend::description::{Array, Environment};

/// A lease to processes that are started while it exists. Dropping it revokes nothing from them.
#[derive(Debug)]
pub(crate) struct ProcessLease<'a> {
    exported: &'a Exported,
    /// A duplicate that child processes inherit; they do not inherit the exported descriptor.
    inherited: OwnedFd,
}

impl<'a> ProcessLease<'a> {
    /// Duplicates the descriptor.
    pub(crate) fn new(exported: &'a Exported) -> Result<Self> {
        let inherited = rustix::io::dup(exported.fd()).map_err(|error| {
            Failure::new(format_args!(
                "the descriptor could not be duplicated: {}",
                system_text(&error.into())
            ))
        })?;
        Ok(Self { exported, inherited })
    }

    /// The environment of the borrower.
    pub(crate) fn environment(&self) -> Result<Environment> {
        Array::new(self.inherited.as_raw_fd(), self.exported.description()).environment()
    }
}
