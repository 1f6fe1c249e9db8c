//! A client's end of a connection to a holder.

use std::io::{self, ErrorKind};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::protocol::hold::folder::{self, Folder};
use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::message::{HoldRequest, Reply, failure};
use crate::exchange::protocol::hold::socket::{Socket, user};

/// How long a holder may take to accept a connection, and for one reply, in milliseconds.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(10_000);

/// Sets how long this process waits for holders from now on, in place of ten seconds.
pub fn set_patience(patience: Duration) {
    PATIENCE_MS.store(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

fn patience() -> Duration {
    Duration::from_millis(PATIENCE_MS.load(Ordering::Relaxed))
}

/// The most rows of a list that are read.
pub(super) const MOST_ROWS: u64 = 1 << 16;

/// A connection to the holder of a name.
#[derive(Debug)]
pub(super) struct Caller {
    name: Label,
    socket: Socket,
}

/// Why there is no connection.
pub(super) enum Unreachable {
    /// No socket, so no holder.
    Missing,
    /// A socket that a killed holder left behind.
    Dead,
    Failed(Error),
}

impl Caller {
    /// Connects to the holder of a name in a folder.
    pub(super) fn reach(folder: &Folder, name: &Label) -> Result<Self, Unreachable> {
        let failed = |error: io::Error| {
            let text = format!("the holder of {} could not be reached: {}", name.name(), system_text(&error));
            Unreachable::Failed(Error::caused(Kind::Io, text, error))
        };
        let (path, patience) = (folder.socket(name), patience());
        let socket = Socket::connect(&path, patience).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Unreachable::Missing,
            ErrorKind::ConnectionRefused => match folder::check_is_socket(&path) {
                Ok(()) => Unreachable::Dead,
                Err(error) => Unreachable::Failed(error),
            },
            ErrorKind::WouldBlock => {
                let text = format!(
                    "the holder of {} did not accept a connection within {patience:?}; if it is stopped, continue or \
                    end it",
                    name.name()
                );
                Unreachable::Failed(Error::caused(Kind::Io, text, error))
            }
            _ => failed(error),
        })?;
        let peer = socket.peer().map_err(failed)?;
        if peer.user != user() {
            let text =
                format!("the holder of {} belongs to user {}, not to {}", name.name(), peer.user, user());
            return Err(Unreachable::Failed(Error::new(Kind::Refused, text)));
        }
        Ok(Self { name: name.clone(), socket })
    }

    /// Connects to the holder of a name.
    ///
    /// # Errors
    ///
    /// `is_io` if there is none, or if it does not answer.
    pub(super) fn connect(name: &Label) -> Result<Self> {
        let missing = || {
            let name = name.name();
            let text = format!("no process holds {name}; start one: crossdock hold FILE --name {name}");
            Error::new(Kind::Io, text)
        };
        let Some(folder) = Folder::find()? else { return Err(missing()) };
        Self::reach(&folder, name).map_err(|error| match error {
            Unreachable::Missing => missing(),
            Unreachable::Dead => {
                let name = name.name();
                let text = format!(
                    "the holder of {name} was killed; start another one, which finds the memory that readers still \
                    have: crossdock hold --name {name}"
                );
                Error::new(Kind::Io, text)
            }
            Unreachable::Failed(error) => error,
        })
    }

    fn failed(&self, error: io::Error) -> Error {
        let text = match error.kind() {
            ErrorKind::WouldBlock => {
                let pid = self.socket.peer().map_or(0, |peer| peer.pid);
                format!(
                    "the holder of {}, process {pid}, did not answer within {:?}; if it is stopped, continue it \
                    (kill -CONT {pid}) or end it",
                    self.name.name(),
                    patience()
                )
            }
            _ => format!("the holder of {} ended: {}", self.name.name(), system_text(&error)),
        };
        Error::caused(Kind::Io, text, error)
    }

    pub(super) fn send(&self, request: &HoldRequest, fds: &[BorrowedFd<'_>]) -> Result<()> {
        loop {
            match self.socket.send(&request.to_bytes(), fds) {
                // The holder closed the connection, perhaps after it said why: `receive` tells.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => return sent.map_err(|error| self.failed(error)),
            }
        }
    }

    /// The next reply. A failure that the holder reports is an error.
    pub(super) fn receive(&self) -> Result<(Reply, Vec<OwnedFd>)> {
        let packet = loop {
            match self.socket.receive() {
                Ok(Some(packet)) => break packet,
                Ok(None) => return Err(self.failed(ErrorKind::UnexpectedEof.into())),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The holder closed the connection without reading the request: the system reports
                // that once, before what the holder said.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
                Err(error) => return Err(self.failed(error)),
            }
        };
        match Reply::read(&packet.bytes)? {
            Reply::Failed { reason, text } => Err(failure(reason, &text)),
            _ if packet.is_cut => {
                let text = "the descriptors of the set could not be opened, since this process has the most it may \
                    have; close some, or raise the limit (ulimit -n)";
                Err(Error::new(Kind::Io, text))
            }
            reply => Ok((reply, packet.fds)),
        }
    }

    pub(super) fn call(
        &self,
        request: &HoldRequest,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(Reply, Vec<OwnedFd>)> {
        self.send(request, fds)?;
        self.receive()
    }

    /// The error for a list of more than [`MOST_ROWS`] rows.
    #[cold]
    pub(super) fn endless(&self) -> Error {
        let text = format!("the holder of {} sent more than {MOST_ROWS} rows", self.name.name());
        Error::new(Kind::Malformed, text)
    }

    #[cold]
    pub(super) fn unexpected(&self, reply: &Reply) -> Error {
        let text = format!("the holder of {} answered {reply:?}, which was not expected", self.name.name());
        Error::new(Kind::Malformed, text)
    }
}
