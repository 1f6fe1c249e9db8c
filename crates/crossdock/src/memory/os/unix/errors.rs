//! Errors that the standard library does not name.

use std::io;

/// The process or the system has no more descriptors.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// The system has no more descriptors.
pub(crate) fn is_system_out_of_descriptors(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENFILE)
}

/// The system cannot express a size.
pub(crate) fn is_overflow(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EOVERFLOW)
}

/// A folder was to be opened, and a link or a file lies there.
pub(crate) fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR))
}

/// A file is longer than the process may make it.
pub(crate) fn too_large() -> io::Error {
    io::Error::from_raw_os_error(libc::EFBIG)
}

/// Symbolic links form a loop.
pub(crate) fn loop_of_links() -> io::Error {
    io::Error::from_raw_os_error(libc::ELOOP)
}
