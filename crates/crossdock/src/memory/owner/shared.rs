//! Memory that is shared with other processes: an anonymous file whose size is sealed.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{Error, Kind, Result};
use crate::memory::allocation::Handle;
use crate::memory::owner::file::map_descriptor;
use crate::memory::place::Backing;

/// Makes `nbytes` zeroed bytes of shared memory. Its size is sealed, so that no map of it can fault.
pub(crate) fn allocate_shared(nbytes: usize) -> Result<Handle> {
    let fd = sealed_memory(nbytes).map_err(|error| {
        Error::caused(Kind::Io, format!("{nbytes} bytes of shared memory: {error}"), error)
    })?;
    map_descriptor(fd, 0, nbytes, true, false, Backing::Shared)
}

/// Maps shared memory that another process made and sealed against shrinking.
pub(crate) fn map_shared(fd: OwnedFd, offset: u64, nbytes: usize, writable: bool) -> Result<Handle> {
    // SAFETY: a system call on a descriptor of ours.
    let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
    if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
        return Err(Error::new(
            Kind::Unsupported,
            "the descriptor is not memory that is sealed against shrinking: map it as a file",
        ));
    }
    let file = File::from(fd);
    let size = file
        .metadata()
        .map_err(|error| Error::caused(Kind::Io, "the size of the shared memory is unknown", error))?
        .len();
    let end = offset.checked_add(nbytes as u64);
    if end.is_none_or(|end| end > size) {
        return Err(Error::new(
            Kind::Bounds,
            format!("{nbytes} bytes from byte {offset} on were asked of shared memory of {size} bytes"),
        ));
    }
    map_descriptor(file.into(), offset, nbytes, writable, false, Backing::Shared)
}

fn sealed_memory(nbytes: usize) -> std::io::Result<OwnedFd> {
    // SAFETY: the name is a C string; a new descriptor touches no memory of ours.
    let fd =
        unsafe { libc::memfd_create(c"crossdock".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, open and ours.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // At least one byte, so that whoever gets the descriptor can map it.
    let size = libc::off_t::try_from(nbytes.max(1)).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
    // SAFETY: a system call on a descriptor of ours.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), size) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: a system call on a descriptor of ours.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(fd)
}
