//! Sends arrays from one process to another on a Unix stream socket.
//!
//! Reasons: `DESIGN.md`, "A socket receives only sealed memory".

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::array::DArray;
use crate::error::{Advice, Error, Kind, Result, system_text, try_with_capacity};
use crate::exchange::description::Description;
use crate::exchange::protocol::shm::Exported;
use crate::exchange::protocol::shm::import::import_sealed;
use crate::exchange::protocol::shm::message::{self, HEAD_NBYTES};
use crate::exchange::protocol::shm::options::ReceiveOptions;
use crate::memory::Backing;
use crate::memory::os::messages;

/// Sends an array: its description, with the descriptor attached. No element is copied. O(rank),
/// and a system call.
///
/// From then on the kernel keeps the memory until the receiver has released it, or until the socket
/// is closed before the message is received. [`Exported`] may be dropped before that, which only
/// ends the lease.
///
/// Blocks while the socket is full, up to the stream's `set_write_timeout`. The receiver calls
/// [`receive`].
///
/// # Errors
///
/// `is_unsupported` for a file map, which could shrink under the receiver, for a dtype without a
/// text, and for a socket of packets; nothing was sent then. `is_io` if the socket fails (a closed
/// peer, a timeout): part of the message may be sent, so the stream must be closed. `SIGPIPE` is
/// not raised.
pub fn send(socket: &UnixStream, exported: &Exported) -> Result<()> {
    if exported.backing() != Backing::Shared {
        let text = format!("a {} can shrink under its receiver", exported.backing());
        return Err(Error::new(Kind::Unsupported, text).advising(Advice::CopyToShared));
    }
    send_text(socket, &exported.description().to_text()?, exported.fd())
}

/// Sends a text with a descriptor attached, as [`send`] does.
#[doc(hidden)]
pub fn send_text(socket: &UnixStream, text: &str, fd: BorrowedFd<'_>) -> Result<()> {
    check_stream(socket)?;
    let bytes = message::write(text)?;
    let mut sent = 0;
    while sent < bytes.len() {
        let fds: &[_] = if sent == 0 { &[fd] } else { &[] };
        sent += match messages::send(socket.as_fd(), &bytes[sent..], fds) {
            Ok(0) => return Err(interrupted(sent, bytes.len(), "sent", io::ErrorKind::WriteZero.into())),
            Ok(nbytes) => nbytes,
            Err(error) => return Err(interrupted(sent, bytes.len(), "sent", error)),
        };
    }
    Ok(())
}

/// Receives the next array that the peer sent, and maps it zero-copy; `None` if the peer closed the
/// stream instead. No element is copied. O(rank), and a few system calls.
///
/// Everything that the peer sends is checked, as by [`import`](super::import). In addition, only
/// shared memory whose size is sealed is accepted, so no process can shrink it under the map. A
/// peer can still write through a writable map of its own, unless the memory is sealed against
/// writing, which [`DArray::birth`](crate::DArray::birth) reports: for constant memory the kernel
/// guarantees the seal.
///
/// An array may cover at most 16 GiB, and its elements may be as many bytes; [`receive_with`] sets
/// another limit.
///
/// Blocks until the peer sends or closes the stream; the stream's `set_read_timeout` bounds the
/// wait for each piece of a message.
///
/// # Errors
///
/// - `is_malformed`: the peer sent something other than an array message, or no descriptor or more
///   than one beside it;
/// - `is_unsupported`: a socket of packets; another version; a descriptor of something that is not
///   shared memory of sealed size, or of huge pages;
/// - `is_refused`: the array covers, or its elements are, more bytes than the options permit;
/// - as [`import`](super::import) and [`Description::new`] if the description does not fit the
///   memory, such as an array that reaches beyond its end (`is_bounds`);
/// - `is_io`: the socket failed, the timeout expired, the peer closed it in the middle of a
///   message, or this process cannot open more descriptors; `is_out_of_memory`.
///
/// On an error, everything received is closed. The stream may be in the middle of a message, so it
/// must be closed, too.
pub fn receive(socket: &UnixStream) -> Result<Option<DArray>> {
    receive_with(socket, &ReceiveOptions::new())
}

/// Like [`receive`], with other limits.
///
/// ```
/// use crossdock::exchange::protocol::shm::{self, ReceiveOptions};
/// use crossdock::layout::Order;
/// use crossdock::view::Request;
/// use crossdock::{Array, DArray};
/// use std::os::unix::net::UnixStream;
///
/// let (ours, theirs) = UnixStream::pair()?;
/// let array = DArray::from(Array::from_vec(vec![0u8; 4096], [4096])?).to_shared(Order::RowMajor)?;
/// shm::send(&ours, &shm::export(&array, &Request::pin())?)?;
/// let refused = shm::receive_with(&theirs, &ReceiveOptions::new().most_nbytes(4095)).unwrap_err();
/// assert!(refused.is_refused() && refused.to_string().contains("4096"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`receive`].
pub fn receive_with(socket: &UnixStream, options: &ReceiveOptions) -> Result<Option<DArray>> {
    let Some((text, fd)) = receive_text(socket)? else { return Ok(None) };
    let description: Description = text.parse()?;
    // Mapping costs no page, so it comes before the limit: a description that contradicts the
    // memory is reported as such.
    let array = import_sealed(fd, &description)?;
    options.check(&description)?;
    Ok(Some(array))
}

/// Receives a text and the descriptor attached to it, as [`receive`] does.
#[doc(hidden)]
pub fn receive_text(socket: &UnixStream) -> Result<Option<(String, OwnedFd)>> {
    check_stream(socket)?;
    let mut incoming = Incoming { socket, fd: None };
    let mut head = [0; HEAD_NBYTES];
    if !incoming.fill(&mut head, 0)? {
        return Ok(None);
    }
    let nbytes = message::read_head(&head)?;
    let mut text = try_with_capacity(nbytes)?;
    text.resize(nbytes, 0);
    incoming.fill(&mut text, HEAD_NBYTES)?;
    let text = String::from_utf8(text).map_err(|error| {
        let text = format!("the description of the array is not UTF-8: {error}");
        Error::caused(Kind::Malformed, text, error)
    })?;
    let fd = incoming.fd.ok_or_else(|| {
        Error::new(Kind::Malformed, "the message has no descriptor, so there is no memory to map")
    })?;
    Ok(Some((text, fd)))
}

/// Packets lose what is read of them in pieces, and the rest of a message never comes.
fn check_stream(socket: &UnixStream) -> Result<()> {
    match messages::is_stream(socket.as_fd()) {
        // What is no socket fails in the transfer.
        Ok(true) | Err(_) => Ok(()),
        Ok(false) => {
            let text = "arrays go through a socket of type SOCK_STREAM, and this one carries packets";
            Err(Error::new(Kind::Unsupported, text))
        }
    }
}

/// A message while it is received.
struct Incoming<'a> {
    socket: &'a UnixStream,
    /// The descriptor of the message, once it is received.
    fd: Option<OwnedFd>,
}

impl Incoming<'_> {
    /// Fills the room with the next bytes of the message, after `before` bytes. Returns `false` if
    /// the stream ended before the first.
    fn fill(&mut self, room: &mut [u8], before: usize) -> Result<bool> {
        let mut filled = 0;
        while filled < room.len() {
            let (got, expected) = (before + filled, before + room.len());
            let (nbytes, beside) = messages::receive(self.socket.as_fd(), &mut room[filled..])
                .map_err(|error| interrupted(got, expected, "received", error))?;
            let count = beside.fds.len() + usize::from(self.fd.is_some());
            if beside.lacks_descriptors && beside.fds.is_empty() {
                let text = "the descriptor of the message could not be opened, since this process has the most it \
                    may have; close some, or raise the limit (ulimit -n)";
                return Err(Error::new(Kind::Io, text));
            }
            if beside.lacks_descriptors {
                let text = "the message has too many descriptors; it must have one";
                return Err(Error::new(Kind::Malformed, text));
            }
            if count > 1 {
                let text = format!("the message has {count} descriptors; it must have one");
                return Err(Error::new(Kind::Malformed, text));
            }
            self.fd = self.fd.take().or(beside.fds.into_iter().next());
            if nbytes == 0 && got == 0 {
                return Ok(false);
            }
            if nbytes == 0 {
                let gone = io::ErrorKind::UnexpectedEof.into();
                return Err(interrupted(got, expected, "received", gone));
            }
            filled += nbytes;
        }
        Ok(true)
    }
}

/// The socket failed during or before a message.
#[cold]
fn interrupted(done: usize, all: usize, what: &str, error: io::Error) -> Error {
    let text = format!(
        "the socket failed after {done} of {all} bytes of a message were {what}: {}",
        system_text(&error)
    );
    Error::caused(Kind::Io, text, error)
}
