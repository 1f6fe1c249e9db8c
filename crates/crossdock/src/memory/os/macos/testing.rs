//! Calls that only tests make.

pub(crate) use crate::memory::os::unix::testing::*;

/// The system does not limit the addresses of a process.
pub(crate) fn limit_addresses(_: u64) -> bool {
    false
}
