//! From one process to another, through a Unix stream socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::array::DArray;
use crate::error::{Error, Kind, Result, try_with_capacity};
use crate::exchange::protocol::shm::ancillary;
use crate::exchange::protocol::shm::description::Description;
use crate::exchange::protocol::shm::export::Exported;
use crate::exchange::protocol::shm::import::import_sealed;
use crate::exchange::protocol::shm::message::{self, HEAD_NBYTES};
use crate::memory::Backing;

/// Sends an array: its description, and the descriptor beside it. No element is copied. O(rank), and a system call.
///
/// From then on the system keeps the memory until the receiver has let go of it, or the socket is closed before it was received;
/// [`Exported`] may be dropped before that, which only gives the lease back.
///
/// Blocks while the socket is full, as the stream's `set_write_timeout` says. The receiver reads by [`receive`].
///
/// # Errors
///
/// `is_unsupported` for a file map, which could shrink under the receiver, and for a dtype that no text spells; nothing was sent
/// then. `is_io` where the socket fails (a peer that is gone, a timeout): a part of the message may be on its way, so that the stream is
/// to be closed. `SIGPIPE` is not raised.
pub fn send(socket: &UnixStream, exported: &Exported) -> Result<()> {
    if exported.backing() != Backing::Shared {
        let text = format!(
            "a {} can shrink under its receiver: copy the array into shared memory, or hand the descriptor over otherwise",
            exported.backing()
        );
        return Err(Error::new(Kind::Unsupported, text));
    }
    let bytes = message::write(&exported.description().to_text()?)?;
    let mut sent = 0;
    while sent < bytes.len() {
        let fd = (sent == 0).then(|| exported.fd());
        sent += match ancillary::send(socket.as_fd(), &bytes[sent..], fd) {
            Ok(0) => return Err(interrupted(sent, bytes.len(), "sent", io::ErrorKind::WriteZero.into())),
            Ok(nbytes) => nbytes,
            Err(error) => return Err(interrupted(sent, bytes.len(), "sent", error)),
        };
    }
    Ok(())
}

/// Receives the next array that the peer has sent, and maps it in place; `None` where the peer closed the stream before another one.
/// No element is copied. O(rank), and a few system calls.
///
/// It is as with [`import`](super::import), and nothing that the peer says is believed. But only shared memory is taken whose size is
/// sealed: nobody can shrink it under the map. A peer can still write what it has mapped for writing, unless the memory is
/// sealed, which [`DArray::birth`](crate::DArray::birth) tells: constant memory was sealed by the system's own word.
///
/// Blocks until the peer sends or goes; the stream's `set_read_timeout` bounds the wait for each piece of a message.
///
/// # Errors
///
/// - `is_malformed`: what came is no message with an array, or has no descriptor or more than one beside it;
/// - `is_unsupported`: another version; a descriptor of something that is not shared memory of sealed size;
/// - as [`import`](super::import) and [`Description::new`] where the description does not go with the memory, as for an array that
///   reaches beyond its end (`is_bounds`);
/// - `is_io`: the socket failed, the time was up, the peer went amid a message, or this process may open no more descriptors;
///   `is_out_of_memory`.
///
/// Whatever came is closed then. The stream may be amid a message, so that it is to be closed, too.
pub fn receive(socket: &UnixStream) -> Result<Option<DArray>> {
    let mut incoming = Incoming { socket, fd: None };
    let mut head = [0; HEAD_NBYTES];
    if !incoming.fill(&mut head, 0)? {
        return Ok(None);
    }
    let nbytes = message::read_head(&head)?;
    let mut text = try_with_capacity(nbytes)?;
    text.resize(nbytes, 0);
    incoming.fill(&mut text, HEAD_NBYTES)?;
    let text = str::from_utf8(&text).map_err(|error| {
        let text = format!("the description of the array is no text: {error}");
        Error::caused(Kind::Malformed, text, error)
    })?;
    let fd = incoming.fd.ok_or_else(|| {
        Error::new(Kind::Malformed, "no descriptor came with the message: there is no memory to map")
    })?;
    let description: Description = text.parse()?;
    import_sealed(fd, &description).map(Some)
}

/// A message on its way in.
struct Incoming<'a> {
    socket: &'a UnixStream,
    /// The one descriptor that may come with it.
    fd: Option<OwnedFd>,
}

impl Incoming<'_> {
    /// Fills the room with the next bytes of the message, of which `before` have come. `false`: the stream ended before the first.
    fn fill(&mut self, room: &mut [u8], before: usize) -> Result<bool> {
        let mut filled = 0;
        while filled < room.len() {
            let (got, expected) = (before + filled, before + room.len());
            let (nbytes, beside) = ancillary::receive(self.socket.as_fd(), &mut room[filled..])
                .map_err(|error| interrupted(got, expected, "received", error))?;
            let surplus = beside.surplus + usize::from(beside.fd.is_some() && self.fd.is_some());
            if beside.truncated && beside.fd.is_none() {
                let text = "a descriptor came with the message and could not be opened: this process has as many as it may";
                return Err(Error::new(Kind::Io, text));
            }
            if beside.truncated {
                let text =
                    "more descriptors came with the message than there is room for, of which one is expected";
                return Err(Error::new(Kind::Malformed, text));
            }
            if surplus > 0 {
                let text =
                    format!("{} descriptors came with the message, of which one is expected", surplus + 1);
                return Err(Error::new(Kind::Malformed, text));
            }
            self.fd = self.fd.take().or(beside.fd);
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

/// The socket failed amid, or in front of, a message.
#[cold]
fn interrupted(done: usize, all: usize, what: &str, error: io::Error) -> Error {
    let text = format!("the socket failed after {done} of {all} bytes of a message were {what}: {error}");
    Error::caused(Kind::Io, text, error)
}
