//! What another process is lent: a descriptor to inherit, and what lies behind it.

use std::os::fd::{AsRawFd, OwnedFd};

use crossdock::exchange::protocol::shm::Exported;

use crate::failure::{Failure, Result};
use crate::lend::description::{Array, Environment};

/// A loan to processes that are started while it is alive. Dropping it takes nothing from them.
#[derive(Debug)]
pub(crate) struct Loan<'a> {
    exported: &'a Exported,
    /// A duplicate that is inherited, which the exported descriptor is not.
    inherited: OwnedFd,
}

impl<'a> Loan<'a> {
    /// Duplicates the descriptor.
    pub(crate) fn new(exported: &'a Exported) -> Result<Self> {
        let inherited = rustix::io::dup(exported.fd())
            .map_err(|error| Failure::new(format_args!("the descriptor could not be duplicated: {error}")))?;
        Ok(Self { exported, inherited })
    }

    /// What the borrower finds in its environment.
    pub(crate) fn environment(&self) -> Result<Environment> {
        Array::new(self.inherited.as_raw_fd(), self.exported.description()).environment()
    }
}
