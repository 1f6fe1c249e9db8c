//! Descriptors that wait in the process that sends them, for messages that carry bytes alone, such
//! as pickles.
//!
//! ```text
//!   sender                                              receiver
//!   offer(descriptor) ──> ticket ── in the message ──>  take(ticket)
//!       socket  <────────────────── the ticket ────────────┘
//!               ───────────────── descriptor ─────────> its own descriptor
//! ```
//!
//! Each descriptor is taken once. The socket has an abstract name, so nothing lies in the file
//! system, and it ends with the process. A thread serves it without any lock of an interpreter; it
//! ends, and the socket with it, when nothing was offered for a while ("Threads exist only while
//! there is work"). A forked child inherits no offers.
//!
//! A ticket opens the descriptor to processes of the same user, and of the superuser: both ends
//! check the user of the other one. It has 128 random bits that appear nowhere else. The receiver
//! trusts nothing about the descriptor: [`import`](super::import) checks it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::io::{self, ErrorKind, Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::ptr;
use std::thread::sleep;
use std::time::Duration;

use crate::error::{Error, Kind, Result, system_text};
use crate::memory::fork::{Fork, ForkLock};
use crate::memory::os::{Interest, messages, process, sockets};
use crate::memory::thread;

const HALF: usize = 16;

/// The name of the socket, the secret, and the number of the descriptor.
pub const TICKET_NBYTES: usize = 2 * HALF + 8;

/// What [`take`] exchanges for a descriptor.
pub type Ticket = [u8; TICKET_NBYTES];

/// How long the sender may need for its answer: it can be stopped.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the thread waits for one receiver, which has sent its ticket when it is accepted.
const PATIENCE_OF_THREAD: Duration = Duration::from_secs(1);

/// How long the thread lives after the last offer was taken.
const IDLE: Duration = Duration::from_secs(10);

/// What this process offers. A forked child drops it, since it does not have the thread.
static DESK: ForkLock<Option<Desk>> = ForkLock::with_hook(None, |desk, fork| {
    if fork == Fork::InChild {
        *desk = None;
    }
});

/// # Invariants
///
/// 1. In the process that made it, only the thread that serves `listener` drops it.
struct Desk {
    listener: UnixListener,
    /// The name and the secret.
    head: [u8; 2 * HALF],
    next: u64,
    offered: HashMap<u64, OwnedFd>,
}

/// Keeps a descriptor until a process takes it, and returns the ticket for it.
///
/// # Errors
///
/// `is_io` if there are no more descriptors or threads.
pub fn offer(fd: OwnedFd) -> Result<Ticket> {
    let mut desk = DESK.lock();
    let desk = match &mut *desk {
        Some(desk) => desk,
        none => none.insert(Desk::open().map_err(|error| {
            let text = format!("the descriptor of an array could not be offered: {}", system_text(&error));
            Error::caused(Kind::Io, text, error)
        })?),
    };
    let number = desk.next;
    desk.next += 1;
    desk.offered.insert(number, fd);
    let mut ticket = [0; TICKET_NBYTES];
    let (head, last) = ticket.split_at_mut(desk.head.len());
    head.copy_from_slice(&desk.head);
    last.copy_from_slice(&number.to_le_bytes());
    Ok(ticket)
}

/// Takes the descriptor of a ticket, which is no longer offered then.
///
/// # Errors
///
/// `is_io` if the process that offered it has ended, or does not answer within 30 seconds, or if
/// it was taken already; `is_refused` if another user has the name of the socket.
pub fn take(ticket: &Ticket) -> Result<OwnedFd> {
    let failed = |error: io::Error| {
        let text = match error.kind() {
            ErrorKind::WouldBlock => format!("the process did not answer within {PATIENCE:?}"),
            ErrorKind::ConnectionRefused | ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
                "the process has ended, or another process has taken the descriptor".to_owned()
            }
            _ => system_text(&error),
        };
        Error::caused(Kind::Io, text, error)
    };
    let socket = sockets::connect_to_name(&name(ticket)).map_err(failed)?;
    if let Err(peer) = check_peer(&socket).map_err(failed)? {
        let text = format!("the process belongs to user {peer}, not to {}", process::user());
        return Err(Error::new(Kind::Refused, text));
    }
    socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    (&socket).write_all(ticket).map_err(failed)?;
    let (_, received) = messages::receive(socket.as_fd(), &mut [0]).map_err(failed)?;
    if received.lacks_descriptors {
        let text = "the descriptor could not be opened, since this process has the most it may have; close some, or \
            raise the limit (ulimit -n)";
        return Err(Error::new(Kind::Io, text));
    }
    received.fds.into_iter().next().ok_or_else(|| failed(ErrorKind::UnexpectedEof.into()))
}

/// A readable name: the system lists it, and programs read that list as text.
fn name(ticket: &[u8]) -> String {
    ticket[..HALF].iter().fold("crossdock-".to_owned(), |name, byte| name + &format!("{byte:02x}"))
}

/// Whether the other end belongs to the same user, or one of both is the superuser; otherwise the
/// user.
fn check_peer(socket: &UnixStream) -> io::Result<Result<(), u32>> {
    let (peer, own) = (sockets::peer(socket.as_fd())?.user, process::user());
    Ok(if peer == own || peer == 0 || own == 0 { Ok(()) } else { Err(peer) })
}

impl Desk {
    /// Opens the socket, and starts the thread. The caller holds the lock, so the thread finds the
    /// desk.
    fn open() -> io::Result<Self> {
        let mut head = [0; 2 * HALF];
        process::fill_random(&mut head)?;
        let listener = sockets::listen_at_name(&name(&head))?;
        listener.set_nonblocking(true)?;
        if !thread::spawn(serve) {
            return Err(io::Error::new(ErrorKind::OutOfMemory, "a thread could not be started"));
        }
        Ok(Self { listener, head, next: 0, offered: HashMap::new() })
    }
}

/// The thread: it answers until nothing is offered any more.
extern "C" fn serve(_: *mut c_void) -> *mut c_void {
    let Some(fd) = DESK.lock().as_ref().map(|desk| desk.listener.as_raw_fd()) else { return ptr::null_mut() };
    // SAFETY: Desk 1: the desk keeps the descriptor open, and only this thread drops the desk, at
    // its end. `ManuallyDrop` leaves the descriptor to the desk.
    let listener = ManuallyDrop::new(unsafe { UnixListener::from_raw_fd(fd) });
    loop {
        let mut receiver = [Interest { fd, reads: true, ..Interest::default() }];
        let waited = sockets::wait(&mut receiver, Some(IDLE));
        if waited.is_ok() && !receiver[0].is_readable {
            let mut desk = DESK.lock();
            if desk.as_ref().is_some_and(|desk| !desk.offered.is_empty()) {
                continue;
            }
            if let Some(desk) = desk.take() {
                sockets::remove_name(&name(&desk.head));
            }
            return ptr::null_mut();
        }
        match listener.accept() {
            // A receiver that fails finds out by the end of the connection.
            Ok((socket, _)) => {
                let _is_told = answer(&socket);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // There are no more descriptors: others may be closed meanwhile.
            Err(_) => sleep(Duration::from_millis(10)),
        }
    }
}

fn answer(mut socket: &UnixStream) -> io::Result<()> {
    if check_peer(socket)?.is_err() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    socket.set_read_timeout(Some(PATIENCE_OF_THREAD))?;
    socket.set_write_timeout(Some(PATIENCE_OF_THREAD))?;
    let mut ticket: Ticket = [0; TICKET_NBYTES];
    socket.read_exact(&mut ticket)?;
    let (head, number) = ticket.split_at(2 * HALF);
    let number = u64::from_le_bytes(number.try_into().expect("the rest has 8 bytes"));
    match taken(head, number) {
        Some(fd) => messages::send(socket.as_fd(), &[0], &[fd.as_fd()]).map(drop),
        None => Err(ErrorKind::NotFound.into()),
    }
}

fn taken(head: &[u8], number: u64) -> Option<OwnedFd> {
    DESK.lock().as_mut().filter(|desk| desk.head == head)?.offered.remove(&number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn file() -> OwnedFd {
        File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn a_ticket_is_good_for_one_descriptor_once() {
        let tickets = [offer(file()).unwrap(), offer(file()).unwrap()];
        for ticket in &tickets {
            drop(take(ticket).unwrap());
            let error = take(ticket).unwrap_err();
            assert!(error.is_io() && error.to_string().contains("another process has taken"), "{error}");
        }
    }

    #[test]
    fn a_forged_ticket_gets_nothing_and_costs_no_offer() {
        let ticket = offer(file()).unwrap();
        for byte in [0, HALF, TICKET_NBYTES - 1] {
            let mut forged = ticket;
            forged[byte] ^= 1;
            assert!(take(&forged).unwrap_err().is_io(), "byte {byte}");
        }
        // A receiver that says nothing, or half of a ticket, is not waited for for long.
        let silent = sockets::connect_to_name(&name(&ticket)).unwrap();
        (&silent).write_all(&ticket[..7]).unwrap();
        drop(take(&ticket).unwrap());
    }

    #[test]
    fn what_was_offered_before_a_fork_is_the_parents() {
        let ticket = offer(file()).unwrap();
        assert_eq!(crossdock_testkit::status_of_child(|| DESK.lock().is_none()), 0);
        drop(take(&ticket).unwrap());
    }
}
