//! Threads: none.

use std::ffi::{CStr, c_void};

/// No thread can be started.
///
/// # Safety
///
/// None: nothing happens.
pub(crate) unsafe fn spawn(_: extern "C" fn(*mut c_void) -> *mut c_void, _: usize) -> bool {
    false
}

pub(crate) fn name_this_thread(_: &CStr) {}
