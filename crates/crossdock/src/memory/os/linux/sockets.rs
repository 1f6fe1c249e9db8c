//! Sockets that keep the borders of messages, names that lie in no folder, and peers.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::ptr;

use crate::memory::os::types::Peer;
pub(crate) use crate::memory::os::unix::sockets::*;

/// A socket for packets, which arrive whole or not at all. `blocks`: whether calls wait.
pub(crate) fn packets(blocks: bool) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | if blocks { 0 } else { libc::SOCK_NONBLOCK };
    // SAFETY: `socket` takes integers, and opens a new descriptor.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | flags, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `socket` returned `fd`, which is not negative, so it is open, and nothing else owns
    // it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The next connection, which never blocks.
pub(crate) fn accept(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: null pointers request no address; the call opens a new descriptor.
    let fd = unsafe { libc::accept4(socket.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `accept4` returned `fd`, which is not negative, so it is open, and nothing else owns
    // it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The process at the other end.
pub(crate) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut nbytes = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: `found` has room for the `nbytes` bytes of a `ucred`, which the call writes.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut found).cast(), &raw mut nbytes)
    })?;
    Ok(Peer { pid: u32::try_from(found.pid).unwrap_or(0), user: found.uid })
}

/// Listens at a name that lies in no folder and ends with the socket.
pub(crate) fn listen_at_name(name: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Connects to a name of [`listen_at_name`].
pub(crate) fn connect_to_name(name: &str) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Removes a name of [`listen_at_name`], which ends with the socket here.
pub(crate) fn remove_name(_: &str) {}
