//! The attributes of a file besides its owner and mode.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

pub(crate) use crate::memory::os::unix::attributes::*;

/// The access control list. If a file has one, the mode alone does not define who has access.
const ACCESS: &CStr = c"system.posix_acl_access";

/// Copies the access control list and the attributes in the `user.` namespace. Attributes of
/// the system are not copied.
pub(crate) fn keep(old: &File, new: &File) -> io::Result<()> {
    match get(old, ACCESS)? {
        Some(list) => set(new, ACCESS, &list)?,
        // The new file may have inherited one from its directory.
        None => remove(new, ACCESS),
    }
    for name in names(old)?.split_inclusive(|&byte| byte == 0) {
        if let Ok(name) = CStr::from_bytes_with_nul(name)
            && name.to_bytes().starts_with(b"user.")
            && let Some(value) = get(old, name)?
        {
            set(new, name, &value)?;
        }
    }
    Ok(())
}

/// Calls `call` with a buffer and returns the bytes that it reports; `None` if there is no such
/// attribute, or the file system has none.
fn all(mut call: impl FnMut(*mut u8, usize) -> isize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; 1 << 16];
    let count = call(bytes.as_mut_ptr(), bytes.len());
    if let Ok(count) = usize::try_from(count) {
        bytes.truncate(count);
        return Ok(Some(bytes));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENODATA | libc::ENOTSUP) => Ok(None),
        _ => Err(error),
    }
}

fn names(file: &File) -> io::Result<Vec<u8>> {
    let listed = all(|bytes, len| {
        // SAFETY: `all` passes the address and length of its own vector, which lives through
        // the call; the kernel writes at most that many bytes.
        unsafe { libc::flistxattr(file.as_raw_fd(), bytes.cast(), len) }
    });
    listed.map(Option::unwrap_or_default)
}

fn get(file: &File, name: &CStr) -> io::Result<Option<Vec<u8>>> {
    all(|bytes, len| {
        // SAFETY: `name` is a `CStr`, which ends with a NUL; `all` passes the address and
        // length of its own vector, which lives through the call.
        unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), bytes.cast(), len) }
    })
}

fn set(file: &File, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: `name` is a `CStr`, which ends with a NUL; the kernel reads `value.len()` bytes
    // of the slice `value`, which is borrowed during the call.
    let done =
        unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn remove(file: &File, name: &CStr) {
    // SAFETY: `name` is a `CStr`, which ends with a NUL and is borrowed during the call; the
    // kernel only reads it.
    let _ = unsafe { libc::fremovexattr(file.as_raw_fd(), name.as_ptr()) };
}
