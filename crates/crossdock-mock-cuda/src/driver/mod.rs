//! The functions of the driver, with the names and numbers of its reference. Handles are numbers
//! that are never reused.

mod context;
mod copy;
mod device;
mod event;
mod ipc;
mod memory;
mod module;
mod pool;
mod stream;
mod virtual_memory;

pub(crate) use virtual_memory::POSIX_DESCRIPTOR;
