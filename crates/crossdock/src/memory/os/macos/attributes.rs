//! The attributes of a file besides its owner and mode.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

pub(crate) use crate::memory::os::unix::attributes::*;

/// Copies the access control list and the extended attributes.
pub(crate) fn keep(old: &File, new: &File) -> io::Result<()> {
    let what = libc::COPYFILE_ACL | libc::COPYFILE_XATTR;
    // SAFETY: both are open descriptors, and a null state requests the defaults.
    match unsafe { libc::fcopyfile(old.as_raw_fd(), new.as_raw_fd(), ptr::null_mut(), what) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
