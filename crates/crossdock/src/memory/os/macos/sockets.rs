//! Peers, and names in the user's temporary folder. Sockets do not keep the borders of messages.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use crate::memory::os::types::Peer;
pub(crate) use crate::memory::os::unix::sockets::*;

pub(crate) fn packets(_: bool) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn accept(_: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The process at the other end.
pub(crate) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: `user` and `group` are numbers of the right type, which the call writes.
    check(unsafe { libc::getpeereid(socket.as_raw_fd(), &raw mut user, &raw mut group) })?;
    let mut pid: libc::pid_t = 0;
    let mut nbytes = size_of::<libc::pid_t>() as libc::socklen_t;
    let (level, option) = (libc::SOL_LOCAL, libc::LOCAL_PEERPID);
    // SAFETY: `pid` has room for the `nbytes` bytes of a `pid_t`, which the call writes.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut pid).cast(), &raw mut nbytes)
    })?;
    Ok(Peer { pid: u32::try_from(pid).unwrap_or(0), user })
}

/// Listens at a name in the user's temporary folder, until [`remove_name`].
pub(crate) fn listen_at_name(name: &str) -> io::Result<UnixListener> {
    UnixListener::bind(path(name))
}

/// Connects to a name of [`listen_at_name`].
pub(crate) fn connect_to_name(name: &str) -> io::Result<UnixStream> {
    UnixStream::connect(path(name))
}

/// Removes a name of [`listen_at_name`].
pub(crate) fn remove_name(name: &str) {
    let _is_gone = std::fs::remove_file(path(name));
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(name)
}
