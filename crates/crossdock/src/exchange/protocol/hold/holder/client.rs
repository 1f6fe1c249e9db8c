//! One connection: its lease, and the replies that it has not taken yet.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::message::Reply;
use crate::exchange::protocol::hold::socket::{Interest, Peer, Socket};

/// How long a client may wait with its first request, or leave a reply in its socket.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long taking a name over may last in all: meanwhile no other client of the name is served.
const TAKE_OVER_PATIENCE: Duration = Duration::from_secs(3);

/// What a connection is, which ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientRole {
    /// Nothing yet: it may make requests.
    Guest,
    /// A lease of this version.
    Reader(u64),
    /// The writer of this version.
    Writer(u64),
    /// The process to which the name is being handed over.
    Successor,
}

impl ClientRole {
    /// The client, for an error.
    pub(super) fn described(self) -> String {
        match self {
            Self::Guest => "a client that is neither writer nor successor".to_owned(),
            Self::Reader(version) => format!("the reader of version {version}"),
            Self::Writer(version) => format!("the writer of version {version}"),
            Self::Successor => "the successor of the holder".to_owned(),
        }
    }
}

struct Outgoing {
    bytes: Vec<u8>,
    fds: Vec<Arc<OwnedFd>>,
}

pub(super) struct Client {
    pub(super) number: u64,
    pub(super) name: Label,
    pub(super) socket: Socket,
    pub(super) peer: Peer,
    /// The name of its program, which it can choose.
    pub(super) program: String,
    pub(super) role: ClientRole,
    pub(super) since: Instant,
    /// The connection ends then, unless something happens before.
    pub(super) deadline: Option<Instant>,
    queue: VecDeque<Outgoing>,
    /// Ends once the queue is sent.
    ends: bool,
    /// The peer is gone.
    is_gone: bool,
}

impl Client {
    pub(super) fn new(number: u64, name: Label, socket: Socket, peer: Peer) -> Self {
        let program = std::fs::read_to_string(format!("/proc/{}/comm", peer.pid)).unwrap_or_default();
        let now = Instant::now();
        Self {
            number,
            name,
            socket,
            peer,
            program: program.trim_end_matches('\n').to_owned(),
            role: ClientRole::Guest,
            since: now,
            deadline: Some(now + PATIENCE),
            queue: VecDeque::new(),
            ends: false,
            is_gone: false,
        }
    }

    /// The same client, of a predecessor.
    pub(super) fn with_role(self, role: ClientRole, age: Duration) -> Self {
        let since = Instant::now().checked_sub(age).unwrap_or(self.since);
        let deadline = if role == ClientRole::Guest { self.deadline } else { None };
        Self { role, since, deadline, ..self }
    }

    pub(super) fn set_role(&mut self, role: ClientRole) {
        self.role = role;
        self.since = Instant::now();
        self.deadline = self.own_deadline();
    }

    /// A reader or a writer may be silent for any time. A successor gets no more time by a reply
    /// that it takes.
    fn own_deadline(&self) -> Option<Instant> {
        match self.role {
            ClientRole::Guest => Some(Instant::now() + PATIENCE),
            ClientRole::Successor => Some(self.since + TAKE_OVER_PATIENCE),
            ClientRole::Reader(_) | ClientRole::Writer(_) => None,
        }
    }

    pub(super) fn reads(&self, name: &Label, version: u64) -> bool {
        self.role == ClientRole::Reader(version) && self.name == *name
    }

    pub(super) fn has_replies(&self) -> bool {
        !self.queue.is_empty()
    }

    /// What to wait for. A client with replies left is not read, so its requests cannot pile up.
    pub(super) fn interest(&self, is_frozen: bool) -> Interest {
        let fd = if is_frozen { -1 } else { self.socket.as_fd().as_raw_fd() };
        let writes = self.has_replies();
        Interest { fd, reads: !writes, writes, ..Interest::default() }
    }

    /// Sends a reply, now or when the client takes it.
    pub(super) fn reply(&mut self, reply: &Reply, fds: Vec<Arc<OwnedFd>>) {
        self.queue.push_back(Outgoing { bytes: reply.to_bytes(), fds });
        if self.queue.len() == 1 {
            self.flush();
        }
    }

    /// Sends a reply, and ends the connection after it.
    pub(super) fn end_with(&mut self, reply: &Reply) {
        self.reply(reply, Vec::new());
        self.ends = true;
    }

    /// Ends the connection once the client has taken its replies.
    pub(super) fn end_after_replies(&mut self) {
        self.ends = true;
        self.deadline = Some(Instant::now() + PATIENCE);
    }

    pub(super) fn end(&mut self) {
        self.is_gone = true;
    }

    /// Sends as many replies as the socket takes.
    pub(super) fn flush(&mut self) {
        while let Some(next) = self.queue.front() {
            let fds: Vec<BorrowedFd<'_>> = next.fds.iter().map(|fd| fd.as_fd()).collect();
            match self.socket.send(&next.bytes, &fds) {
                Ok(()) => {
                    self.queue.pop_front();
                    self.deadline = self.own_deadline();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Each reply that is taken gives the client more time, but not this one.
                    let latest = Instant::now() + PATIENCE;
                    self.deadline = Some(self.deadline.map_or(latest, |deadline| deadline.min(latest)));
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.is_gone = true;
                    return;
                }
            }
        }
    }

    pub(super) fn has_ended(&self, now: Instant) -> bool {
        self.is_gone
            || (self.ends && self.queue.is_empty())
            || self.deadline.is_some_and(|deadline| deadline <= now)
    }
}
