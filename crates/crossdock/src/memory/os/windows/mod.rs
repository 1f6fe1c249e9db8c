//! Windows, run under Wine only.

pub(crate) mod anonymous;
pub(crate) mod fd;
pub(crate) mod files;
pub(crate) mod pages;
pub(crate) mod process;
#[cfg(all(test, not(loom)))]
pub(crate) mod testing;
pub(crate) mod threads;
