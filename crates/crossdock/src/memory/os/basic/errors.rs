//! Errors that the standard library does not name.

use std::io;

/// These systems do not limit descriptors.
pub(crate) fn is_out_of_descriptors(_: &io::Error) -> bool {
    false
}

pub(crate) fn is_system_out_of_descriptors(_: &io::Error) -> bool {
    false
}

/// The system cannot express a size.
pub(crate) fn is_overflow(_: &io::Error) -> bool {
    false
}

/// A file is longer than the process may make it.
pub(crate) fn too_large() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

/// Symbolic links form a loop.
pub(crate) fn loop_of_links() -> io::Error {
    io::Error::other("the symbolic links form a loop")
}
