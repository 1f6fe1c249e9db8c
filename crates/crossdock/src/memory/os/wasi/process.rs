//! The code of the process.

pub(crate) use crate::memory::os::basic::process::*;

/// Code is never unloaded.
pub(crate) fn keep_loaded(_: fn()) {}
