//! A lease to another process: a descriptor or a handle to inherit, and its description.

use std::collections::BTreeMap;

use crossdock::bindings::exported::{Exported, InheritedFd};
use crossdock::bindings::system_text;

use crate::failure::{Failure, Result};
use crate::lend::description::{Array, Environment};

/// A lease to processes that are started while it exists. Dropping it revokes nothing from them.
#[derive(Debug)]
pub(crate) struct ProcessLease<'a> {
    exported: &'a Exported,
    /// A duplicate that child processes inherit; they do not inherit the exported descriptor.
    inherited: InheritedFd,
    table: Option<&'static str>,
}

impl<'a> ProcessLease<'a> {
    /// Duplicates the descriptor of an array.
    pub(crate) fn new(exported: &'a Exported) -> Result<Self> {
        Self::of_table(exported, None)
    }

    /// As [`ProcessLease::new`], of a table if it has a format.
    pub(super) fn of_table(exported: &'a Exported, table: Option<&'static str>) -> Result<Self> {
        let inherited = exported.to_inherited().map_err(|error| {
            Failure::new(format_args!("the descriptor could not be duplicated: {}", system_text(&error)))
        })?;
        Ok(Self { exported, inherited, table })
    }

    /// The environment of the borrower.
    pub(crate) fn environment(&self) -> Result<Environment> {
        self.described().environment()
    }

    fn described(&self) -> Array<'_> {
        Array::new(self.inherited.number(), self.exported.description(), self.table)
    }
}

/// The contents of `CROSSDOCK_ARRAYS`: a description for each name.
pub(super) fn by_name<'a>(leases: impl Iterator<Item = (&'a str, &'a ProcessLease<'a>)>) -> Result<String> {
    let all: BTreeMap<&str, Array<'_>> = leases.map(|(name, lease)| (name, lease.described())).collect();
    serde_json::to_string(&all)
        .map_err(|error| Failure::new(format_args!("the arrays could not be described: {error}")))
}
