//! Calls that only tests make.

use std::ptr::NonNull;

use crate::memory::os::unix::pages;

/// Whether all of a range is mapped.
pub(crate) fn is_mapped(base: NonNull<u8>, nbytes: usize) -> bool {
    let mut found = vec![0; nbytes.div_ceil(pages::size())];
    // SAFETY: `mincore` accesses no byte of the range, and `found` has a byte for each page.
    unsafe { libc::mincore(base.as_ptr().cast(), nbytes, found.as_mut_ptr().cast()) == 0 }
}

/// The wait status of a process that called [`kill_this_process`].
pub(crate) const KILLED: i32 = libc::SIGKILL;

pub(crate) fn kill_this_process() {
    // SAFETY: `raise` takes an integer, and no process can handle `SIGKILL`.
    unsafe { libc::raise(libc::SIGKILL) };
}
