//! The names of threads.

use std::ffi::CStr;

pub(crate) use crate::memory::os::unix::threads::*;

/// Names the calling thread. The system cuts a name of more than 15 bytes.
pub(crate) fn name_this_thread(name: &CStr) {
    // SAFETY: `PR_SET_NAME` reads a C string, which `name` is, and names the calling thread.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}
