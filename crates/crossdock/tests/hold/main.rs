//! Sets that one process holds for others: versions, leases, hostile clients, and processes that
//! are killed.

mod common;
mod hostile;
mod killed;
mod loaded;
mod sets;
mod states;
#[cfg(feature = "arrow-ipc")]
mod tables;
