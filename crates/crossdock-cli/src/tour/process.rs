//! Consumers in other processes.
use crate::failure::Result;
use crate::tour::Outcome;
use crossdock::DArray;
pub(crate) struct ChildArgs;
pub(crate) fn run_child(_: &ChildArgs) {}
pub(super) fn child(_: &DArray) -> Result<Outcome> {
    Ok(Outcome::Declined("-".into()))
}
pub(super) fn python(_: &DArray) -> Result<Outcome> {
    Ok(Outcome::Declined("-".into()))
}
