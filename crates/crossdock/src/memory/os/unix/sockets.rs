//! Unix sockets. Source: `unix(7)`, `socket(7)`.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use crate::memory::os::types::Interest;

/// The connections that the system keeps until they are accepted.
const BACKLOG: i32 = 128;

/// Binds a socket to a path where nothing is.
pub(crate) fn bind(socket: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let (address, nbytes) = address(path)?;
    // SAFETY: `address` is a `sockaddr_un` of `nbytes` bytes, which the call reads.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), nbytes) })
}

/// Listens at a socket that is bound. Those who connect from now on find this process as the peer.
pub(crate) fn listen(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: `listen` takes an open descriptor and an integer.
    check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })
}

pub(crate) fn connect(socket: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let (address, nbytes) = address(path)?;
    // SAFETY: `address` is a `sockaddr_un` of `nbytes` bytes, which the call reads.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), nbytes) })
}

/// Lets every later wait of a socket end after a time.
pub(crate) fn set_patience(socket: BorrowedFd<'_>, patience: Duration) -> io::Result<()> {
    let time = libc::timeval { tv_sec: patience.as_secs() as _, tv_usec: patience.subsec_micros() as _ };
    for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        // SAFETY: `time` is a `timeval`, of whose size the call reads.
        check(unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const time).cast(),
                size_of::<libc::timeval>() as libc::socklen_t,
            )
        })?;
    }
    Ok(())
}

/// Waits until something happens, a signal arrives, or the time is over.
pub(crate) fn wait(interests: &mut [Interest], most: Option<Duration>) -> io::Result<()> {
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
    let mut address = MaybeUninit::<libc::sockaddr_un>::zeroed();
    // SAFETY: the record was zeroed; every field of it is a number, for which zero is a value.
    let fields = unsafe { address.assume_init_mut() };
    fields.sun_family = libc::AF_UNIX as _;
    // The path ends in NUL.
    if bytes.len() >= fields.sun_path.len() || bytes.contains(&0) {
        let text = format!(
            "the path of the socket has {} bytes, and at most {} are possible; set XDG_RUNTIME_DIR to a shorter path",
            bytes.len(),
            fields.sun_path.len() - 1
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    for (room, byte) in fields.sun_path.iter_mut().zip(bytes) {
        *room = *byte as libc::c_char;
    }
    Ok((*fields, size_of::<libc::sockaddr_un>() as libc::socklen_t))
}

pub(crate) fn check(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
