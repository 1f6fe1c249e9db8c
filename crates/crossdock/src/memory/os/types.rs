//! What the calls of all systems take and return.

use crate::memory::os::fd::{OwnedFd, RawFd};

/// Whether C's `long double` is its `double`, as on Windows (in the compiler of Microsoft, which
/// built NumPy), on macOS for ARM, and on ARM with 32 bits.
pub(crate) const LONG_DOUBLE_IS_DOUBLE: bool = cfg!(any(
    windows,
    all(target_os = "macos", target_arch = "aarch64"),
    all(target_os = "linux", target_arch = "arm")
));

/// How the CPU may access pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageAccess {
    /// Reserved addresses: every access faults.
    None,
    Read,
    ReadWrite,
}

impl PageAccess {
    pub(crate) fn to_write(writable: bool) -> Self {
        if writable { Self::ReadWrite } else { Self::Read }
    }
}

/// What the system should expect of the accesses to a range. It changes no byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageAdvice {
    Normal,
    /// Reads nothing ahead.
    Random,
    /// Reads the range now.
    WillNeed,
}

/// The kinds of files that the library treats in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Regular,
    Folder,
    Pipe,
    Socket,
    BlockDevice,
    Other,
}

/// What a descriptor is open on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) nbytes: u64,
    /// The kind of the file and its permissions.
    pub(crate) mode: u32,
    pub(crate) is_regular: bool,
}

/// What was received with bytes.
#[derive(Debug, Default)]
pub(crate) struct ReceivedDescriptors {
    /// The descriptors.
    pub(crate) fds: Vec<OwnedFd>,
    /// Whether the kernel dropped descriptors.
    pub(crate) lacks_descriptors: bool,
    /// Whether the kernel dropped the rest of a packet.
    pub(crate) lacks_bytes: bool,
}

/// The process at the other end of a socket, as it was when the connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Its number, 0 if it is in a namespace that this process cannot see.
    pub(crate) pid: u32,
    pub(crate) user: u32,
}

/// What to wait for at a descriptor, and what happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interest {
    pub(crate) fd: RawFd,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// Whether there is something to read, or the end.
    pub(crate) is_readable: bool,
    pub(crate) is_writable: bool,
}

/// A number of the system, whose type has fewer bits on some.
pub(crate) fn wide(number: impl Into<u64>) -> u64 {
    number.into()
}
