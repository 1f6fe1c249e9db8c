//! What POSIX systems share.

pub(crate) mod attributes;
pub(crate) mod errors;
pub(crate) mod faults;
pub(crate) mod files;
pub(crate) mod messages;
pub(crate) mod pages;
pub(crate) mod process;
pub(crate) mod sockets;
#[cfg(all(test, not(loom)))]
pub(crate) mod testing;
pub(crate) mod threads;
