//! Unix sockets that keep the borders of messages (`SOCK_SEQPACKET`). Source: `unix(7)`,
//! `socket(7)`.
//!
//! A message arrives whole or not at all, so no peer can leave half of one behind.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use crate::exchange::ancillary;
pub(super) use crate::exchange::ancillary::Peer;
pub(super) use crate::exchange::ancillary::user;

/// The most bytes of a message.
pub(super) const MOST_NBYTES: usize = 1 << 12;

/// The connections that the system keeps until they are accepted.
const BACKLOG: i32 = 128;

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

    fn new(flags: i32) -> io::Result<Self> {
        // SAFETY: `socket` takes integers, and opens a new descriptor.
        let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | flags, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `socket` returned `fd`, which is not negative, so it is open, and nothing else
        // owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Listens at a path where nothing is. Accepting never blocks.
    pub(super) fn listen(path: &Path) -> io::Result<Self> {
        let socket = Self::new(libc::SOCK_NONBLOCK)?;
        let (address, nbytes) = address(path)?;
        // SAFETY: `address` is a `sockaddr_un` of which the first `nbytes` bytes are set; the call
        // reads them.
        check(unsafe { libc::bind(socket.0.as_raw_fd(), (&raw const address).cast(), nbytes) })?;
        socket.listen_as_this_process()?;
        Ok(socket)
    }

    /// Lets those who connect find this process as the peer. A socket that another process made
    /// listens already.
    pub(super) fn listen_as_this_process(&self) -> io::Result<()> {
        // SAFETY: `listen` takes an open descriptor and an integer.
        check(unsafe { libc::listen(self.0.as_raw_fd(), BACKLOG) }).map(drop)
    }

    /// Connects to a path. Every later wait ends after `patience`.
    pub(super) fn connect(path: &Path, patience: Duration) -> io::Result<Self> {
        let socket = Self::new(0)?;
        socket.set_patience(patience)?;
        let (address, nbytes) = address(path)?;
        // SAFETY: `address` is a `sockaddr_un` of which the first `nbytes` bytes are set; the call
        // reads them.
        check(unsafe { libc::connect(socket.0.as_raw_fd(), (&raw const address).cast(), nbytes) })?;
        Ok(socket)
    }

    /// The next connection, which never blocks; `None` if there is none.
    pub(super) fn accept(&self) -> io::Result<Option<Self>> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: null pointers request no address; the call opens a new descriptor.
        let fd =
            unsafe { libc::accept4(self.0.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags) };
        if fd < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // The peer is gone already.
                Some(libc::ECONNABORTED | libc::EINTR) => Ok(None),
                _ if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                _ => Err(error),
            };
        }
        // SAFETY: `accept4` returned `fd`, which is not negative, so it is open, and nothing else
        // owns it.
        Ok(Some(Self(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Sends a whole message, or none of it.
    pub(super) fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        ancillary::send(self.0.as_fd(), bytes, fds).map(drop)
    }

    /// The next message; `None` if the peer has closed the connection.
    pub(super) fn receive(&self) -> io::Result<Option<Packet>> {
        let mut room = [0; MOST_NBYTES];
        let (nbytes, beside) = ancillary::receive(self.0.as_fd(), &mut room)?;
        if nbytes == 0 && beside.fds.is_empty() {
            return Ok(None);
        }
        let is_cut = beside.lacks_bytes || beside.lacks_descriptors;
        Ok(Some(Packet { bytes: room[..nbytes].to_vec(), fds: beside.fds, is_cut }))
    }

    /// The process at the other end.
    pub(super) fn peer(&self) -> io::Result<Peer> {
        ancillary::peer(self.0.as_fd())
    }

    fn set_patience(&self, patience: Duration) -> io::Result<()> {
        let time = libc::timeval { tv_sec: patience.as_secs() as _, tv_usec: patience.subsec_micros() as _ };
        for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
            // SAFETY: `time` is a `timeval`, of whose size the call reads.
            check(unsafe {
                libc::setsockopt(
                    self.0.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const time).cast(),
                    size_of::<libc::timeval>() as libc::socklen_t,
                )
            })?;
        }
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What to wait for at a descriptor, and what happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interest {
    pub(super) fd: i32,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Whether there is something to read, or the end.
    pub(super) is_readable: bool,
    pub(super) is_writable: bool,
}

/// Waits until something happens, a signal arrives, or the time is over.
pub(super) fn wait(interests: &mut [Interest], most: Option<Duration>) -> io::Result<()> {
    let events = |wanted: &Interest| {
        (if wanted.reads { libc::POLLIN } else { 0 }) | if wanted.writes { libc::POLLOUT } else { 0 }
    };
    let mut polled: Vec<libc::pollfd> = interests
        .iter()
        .map(|wanted| libc::pollfd { fd: wanted.fd, events: events(wanted), revents: 0 })
        .collect();
    // A part of a millisecond more, so that the time is over after the wait.
    let most = most.map_or(-1, |most| i32::try_from(most.as_millis() + 1).unwrap_or(i32::MAX));
    // SAFETY: `polled` has as many records as the call is given, which it reads and writes.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, most) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
    }
    for (wanted, polled) in interests.iter_mut().zip(polled) {
        let ended = libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;
        wanted.is_readable = polled.revents & (libc::POLLIN | ended) != 0;
        wanted.is_writable = polled.revents & (libc::POLLOUT | ended) != 0;
    }
    Ok(())
}

/// The address of a path, and its length.
fn address(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    let bytes = path.as_os_str().as_bytes();
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as _, sun_path: [0; 108] };
    // The path ends in NUL.
    if bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
        let text = format!(
            "the path of the socket has {} bytes, and at most {} are possible; set XDG_RUNTIME_DIR to a shorter path",
            bytes.len(),
            address.sun_path.len() - 1
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    for (room, byte) in address.sun_path.iter_mut().zip(bytes) {
        *room = *byte as libc::c_char;
    }
    Ok((address, size_of::<libc::sockaddr_un>() as libc::socklen_t))
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
