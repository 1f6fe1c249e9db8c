//! Hands a name over to a successor, and takes one over from a predecessor.
//!
//! ```text
//!   successor                           predecessor
//!   TakeOver ─────────────────────────> serves no other client of the name from now on
//!            <───────────────────────── HandedName + its socket, HandedSet + memory …, HandedClient + connection …, End
//!   TookOver ─────────────────────────> forgets the name; or, if the successor is gone or late: serves on
//!            <───────────────────────── Done: the successor serves from now on
//! ```

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::hold::caller::{Caller, MOST_ROWS};
use crate::exchange::protocol::hold::folder;
use crate::exchange::protocol::hold::holder::SetHolder;
use crate::exchange::protocol::hold::holder::client::{Client, ClientRole};
use crate::exchange::protocol::hold::holder::held::HeldName;
use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::memory::SetMemory;
use crate::exchange::protocol::hold::message::{HoldRequest, Reply};
use crate::exchange::protocol::hold::socket::Socket;

fn number_of(role: ClientRole) -> (u64, u64) {
    match role {
        ClientRole::Guest | ClientRole::Successor => (0, 0),
        ClientRole::Reader(version) => (1, version),
        ClientRole::Writer(version) => (2, version),
    }
}

fn role_of(role: u64, version: u64) -> ClientRole {
    match role {
        1 => ClientRole::Reader(version),
        2 => ClientRole::Writer(version),
        _ => ClientRole::Guest,
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The predecessor's part: sends everything, and freezes the name.
pub(super) fn begin(holder: &mut SetHolder, number: u64, name: &Label) -> Result<()> {
    let held = holder.held(name)?;
    if held.successor.is_some() {
        let text = format!("{name} is being handed over to another process already");
        return Err(Error::new(Kind::Conflict, text));
    }
    let listener = duplicate(&held.listener)?;
    let mut parts = vec![(Reply::HandedName { next: held.next() }, vec![listener])];
    for version in &held.versions {
        let reply = Reply::HandedSet {
            version: version.number,
            regions: version.memory.len() as u64 - 1,
            age_ms: millis(version.since),
            publisher: version.publisher,
        };
        parts.push((reply, version.memory.clone()));
    }
    held.successor = Some(number);
    // A client with replies left would lose them: it stays here, and ends once it has taken them.
    let others = holder
        .clients
        .iter()
        .filter(|client| client.name == *name && client.number != number && !client.has_replies());
    for client in others {
        let (role, version) = number_of(client.role);
        let Ok(socket) = duplicate(&client.socket) else { continue };
        parts.push((Reply::HandedClient { role, version, age_ms: millis(client.since) }, vec![socket]));
    }
    if let Some(client) = holder.client(number) {
        client.set_role(ClientRole::Successor);
        let end = Reply::End { rows: parts.len() as u64 };
        parts.into_iter().for_each(|(reply, fds)| client.reply(&reply, fds));
        client.reply(&end, Vec::new());
    }
    Ok(())
}

/// The predecessor's end: the successor has everything.
pub(super) fn finish(holder: &mut SetHolder, number: u64, name: &Label) {
    holder.names.retain(|held| held.successor != Some(number));
    holder.clients.retain(|client| client.name != *name || client.number == number || client.has_replies());
    for client in holder.clients.iter_mut().filter(|client| client.name == *name && client.number != number) {
        client.end_after_replies();
    }
    if let Some(successor) = holder.client(number) {
        successor.end_with(&Reply::Done { version: 0 });
    }
}

fn duplicate(socket: &Socket) -> Result<Arc<OwnedFd>> {
    use std::os::fd::AsFd;
    socket
        .as_fd()
        .try_clone_to_owned()
        .map(Arc::new)
        .map_err(|error| Error::caused(Kind::Io, format!("a socket could not be duplicated: {error}"), error))
}

/// What a successor received.
#[derive(Default)]
struct Received {
    name: Option<(u64, Socket)>,
    sets: Vec<(SetMemory, Duration, u64)>,
    clients: Vec<(Socket, ClientRole, Duration)>,
}

/// The successor's part. On an error, the predecessor serves on.
pub(super) fn take_over(holder: &mut SetHolder, name: &Label) -> Result<()> {
    let caller = Caller::connect(name)?;
    caller.send(&HoldRequest::TakeOver, &[])?;
    let (mut received, mut rows) = (Received::default(), 0);
    loop {
        let (reply, mut fds) = caller.receive()?;
        let mut one = || match (fds.pop(), fds.is_empty()) {
            (Some(fd), true) => Ok(Socket::from_fd(fd)),
            _ => {
                Err(Error::new(Kind::Malformed, "the holder handed a name or client over without its socket"))
            }
        };
        match reply {
            Reply::HandedName { next } => received.name = Some((next, one()?)),
            Reply::HandedClient { role, version, age_ms } => {
                received.clients.push((one()?, role_of(role, version), Duration::from_millis(age_ms)));
            }
            Reply::HandedSet { age_ms, publisher, .. } if !fds.is_empty() => {
                let set = SetMemory::check(fds.remove(0), fds)?;
                received.sets.push((set, Duration::from_millis(age_ms), publisher));
            }
            Reply::End { rows: sent } if sent == rows => break,
            other => return Err(caller.unexpected(&other)),
        }
        rows += 1;
        if rows > MOST_ROWS {
            return Err(caller.endless());
        }
    }
    let Some((next, listener)) = received.name else {
        return Err(Error::new(Kind::Malformed, "the holder handed over no name"));
    };
    let path = holder.folder.socket(name);
    listener
        .listen_as_this_process()
        .map_err(|error| folder::failed(&path, "could not be taken over", error))?;
    let inode = folder::inode(&path);
    let mut held = HeldName::new(name.at(0), listener, path, inode);
    held.continue_at(next);
    for (set, age, publisher) in received.sets {
        held.insert(set, publisher)?;
        if let (Some(version), Some(since)) = (held.versions.last_mut(), Instant::now().checked_sub(age)) {
            version.since = since;
        }
    }
    let mut clients = Vec::new();
    for (socket, role, age) in received.clients {
        // A client that is gone meanwhile has no credentials, or ends at the first step.
        let Ok(peer) = socket.peer() else { continue };
        holder.next_client += 1;
        let client = Client::new(holder.next_client, name.at(0), socket, peer).with_role(role, age);
        if let ClientRole::Writer(version) = role {
            held.writer = Some((client.number, version));
        }
        clients.push(client);
    }
    // Without this reply the predecessor serves on, and nothing may be done with what it sent.
    match caller.call(&HoldRequest::TookOver, &[])? {
        (Reply::Done { .. }, _) => {}
        (other, _) => return Err(caller.unexpected(&other)),
    }
    holder.names.push(held);
    holder.clients.extend(clients);
    Ok(())
}
