//! The functions of the driver, named and numbered as its reference does. Handles are numbers here, which no object had before.

mod context;
mod copy;
mod device;
mod event;
mod ipc;
mod memory;
mod module;
mod pool;
mod stream;
