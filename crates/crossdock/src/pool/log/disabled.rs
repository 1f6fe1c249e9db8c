//! Logging without the feature `tracing`: nothing happens.

pub(crate) fn allocated(_: &'static str, _: usize) {}

pub(crate) fn freed(_: &'static str, _: usize) {}

pub(crate) fn resized(_: &'static str, _: usize, _: usize) {}
