//! The events of logging pools, through the `tracing` facade if the feature is on.

#[cfg_attr(feature = "tracing", path = "enabled.rs")]
#[cfg_attr(not(feature = "tracing"), path = "disabled.rs")]
mod imp;

pub(crate) use imp::{allocated, freed, resized};
