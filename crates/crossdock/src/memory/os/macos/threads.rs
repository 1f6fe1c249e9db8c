//! The names of threads.

use std::ffi::CStr;

pub(crate) use crate::memory::os::unix::threads::*;

/// Names the calling thread.
pub(crate) fn name_this_thread(name: &CStr) {
    // SAFETY: the call reads a C string, which `name` is, and names the calling thread.
    unsafe { libc::pthread_setname_np(name.as_ptr()) };
}
