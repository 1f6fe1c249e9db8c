//! Channels: arrays as a stream between processes.

mod basics;
mod forked;
mod policies;
#[cfg(feature = "arrow-ipc")]
mod tables;
