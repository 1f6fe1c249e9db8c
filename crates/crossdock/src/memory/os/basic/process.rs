//! The process: it has no limits that the library must know, and never forks.

use std::sync::OnceLock;
use std::time::Instant;

/// Whether the system tells which files are mapped at an address.
pub(crate) const TELLS_MAPPINGS: bool = false;

/// The most bytes of a file that the process may make.
pub(crate) fn file_limit() -> u64 {
    i64::MAX as u64
}

/// The descriptors that the process may have open.
pub(crate) fn descriptor_limit() -> usize {
    usize::MAX
}

/// Nothing to register: the system has no forks.
///
/// # Safety
///
/// None: the functions are never called.
pub(crate) unsafe fn at_fork(
    _before: unsafe extern "C" fn(),
    _in_parent: unsafe extern "C" fn(),
    _in_child: unsafe extern "C" fn(),
) -> bool {
    true
}

/// A monotonic clock, in milliseconds.
pub(crate) fn milliseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}
