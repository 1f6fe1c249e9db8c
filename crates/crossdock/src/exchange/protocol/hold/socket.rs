//! Unix sockets that keep the borders of messages (`SOCK_SEQPACKET`). Source: `unix(7)`,
//! `socket(7)`.
//!
//! A message arrives whole or not at all, so no peer can leave half of one behind.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

pub(super) use crate::memory::os::process::user;
pub(super) use crate::memory::os::sockets::wait;
pub(super) use crate::memory::os::{Interest, Peer};
use crate::memory::os::{messages, sockets};

/// The most bytes of a message.
pub(super) const MOST_NBYTES: usize = 1 << 12;

/// A socket that sends and receives messages, or listens.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

/// A message as it arrived.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) bytes: Vec<u8>,
    pub(super) fds: Vec<OwnedFd>,
    /// Whether the kernel dropped descriptors, or bytes beyond [`MOST_NBYTES`].
    pub(super) is_cut: bool,
}

impl Socket {
    pub(super) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Listens at a path where nothing is. Accepting never blocks.
    pub(super) fn listen(path: &Path) -> io::Result<Self> {
        let socket = Self(sockets::packets(false)?);
        sockets::bind(socket.as_fd(), path)?;
        socket.listen_as_this_process()?;
        Ok(socket)
    }

    /// Lets those who connect find this process as the peer. A socket that another process made
    /// listens already.
    pub(super) fn listen_as_this_process(&self) -> io::Result<()> {
        sockets::listen(self.as_fd())
    }

    /// Connects to a path. Every later wait ends after `patience`.
    pub(super) fn connect(path: &Path, patience: Duration) -> io::Result<Self> {
        let socket = Self(sockets::packets(true)?);
        sockets::set_patience(socket.as_fd(), patience)?;
        sockets::connect(socket.as_fd(), path)?;
        Ok(socket)
    }

    /// The next connection, which never blocks; `None` if there is none.
    pub(super) fn accept(&self) -> io::Result<Option<Self>> {
        use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
        match sockets::accept(self.as_fd()) {
            Ok(fd) => Ok(Some(Self(fd))),
            // The peer is gone already.
            Err(error) if matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a whole message, or none of it.
    pub(super) fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        messages::send(self.0.as_fd(), bytes, fds).map(drop)
    }

    /// The next message; `None` if the peer has closed the connection.
    pub(super) fn receive(&self) -> io::Result<Option<Packet>> {
        let mut room = [0; MOST_NBYTES];
        let (nbytes, beside) = messages::receive(self.0.as_fd(), &mut room)?;
        if nbytes == 0 && beside.fds.is_empty() {
            return Ok(None);
        }
        let is_cut = beside.lacks_bytes || beside.lacks_descriptors;
        Ok(Some(Packet { bytes: room[..nbytes].to_vec(), fds: beside.fds, is_cut }))
    }

    /// The process at the other end.
    pub(super) fn peer(&self) -> io::Result<Peer> {
        sockets::peer(self.0.as_fd())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
