//! macOS. Nothing of this folder ever ran: it is compiled only.

pub(crate) mod anonymous;
pub(crate) mod attributes;
pub(crate) mod files;
pub(crate) mod pages;
pub(crate) mod process;
pub(crate) mod sockets;
#[cfg(all(test, not(loom)))]
pub(crate) mod testing;
pub(crate) mod threads;
