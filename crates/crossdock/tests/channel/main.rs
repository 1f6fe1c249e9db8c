//! Channels: arrays as a stream between processes.

mod basics;
mod policies;
