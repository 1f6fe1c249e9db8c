//! One request of a client.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::time::Instant;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::hold::holder::client::ClientRole;
use crate::exchange::protocol::hold::holder::held::HeldName;
use crate::exchange::protocol::hold::holder::{SetHolder, handover};
use crate::exchange::protocol::hold::memory::SetMemory;
use crate::exchange::protocol::hold::message::{ClientRow, HoldRequest, Reply, VersionRow};
use crate::exchange::protocol::hold::socket::Packet;

/// Receives a request, and answers it. A client that breaks the rules gets the reason, and its
/// connection ends.
pub(super) fn serve(holder: &mut SetHolder, number: u64) {
    let Some(client) = holder.client(number) else { return };
    let packet = match client.socket.receive() {
        Ok(Some(packet)) => packet,
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return,
        Ok(None) | Err(_) => return client.end(),
    };
    match read(packet).and_then(|(request, fds)| answer(holder, number, &request, fds)) {
        Ok(()) => {}
        Err(error) => {
            let is_rude = error.is_malformed() || error.is_unsupported();
            if let Some(client) = holder.client(number) {
                match is_rude {
                    true => client.end_with(&Reply::failed(&error)),
                    false => client.reply(&Reply::failed(&error), Vec::new()),
                }
            }
        }
    }
}

fn read(packet: Packet) -> Result<(HoldRequest, Vec<OwnedFd>)> {
    if packet.is_cut {
        let text =
            "the message has more bytes or descriptors than permitted, or no more descriptors can be opened";
        return Err(Error::new(Kind::Malformed, text));
    }
    let request = HoldRequest::read(&packet.bytes)?;
    let expected = match request {
        HoldRequest::Commit { regions } => regions.saturating_add(1),
        _ => 0,
    };
    if packet.fds.len() as u64 != expected {
        let text = format!("the message has {} descriptors, but {expected} are expected", packet.fds.len());
        return Err(Error::new(Kind::Malformed, text));
    }
    Ok((request, packet.fds))
}

fn answer(holder: &mut SetHolder, number: u64, request: &HoldRequest, fds: Vec<OwnedFd>) -> Result<()> {
    let Some(client) = holder.client(number) else { return Ok(()) };
    let (name, role, publisher) = (client.name.clone(), client.role, u64::from(client.peer.pid));
    let is_in_turn = match request {
        HoldRequest::Commit { .. } => matches!(role, ClientRole::Writer(_)),
        HoldRequest::TookOver => role == ClientRole::Successor,
        _ => role == ClientRole::Guest,
    };
    if !is_in_turn {
        let text = format!("{} cannot {} on this connection", role.described(), request.task());
        return Err(Error::new(Kind::Malformed, text));
    }
    let held = holder.held(&name)?;
    match *request {
        HoldRequest::Connect { version } => {
            let version = held.version(version)?;
            let (version, memory) = (version.number, version.memory.clone());
            let regions = memory.len() as u64 - 1;
            if let Some(client) = holder.client(number) {
                client.set_role(ClientRole::Reader(version));
                client.reply(&Reply::Set { version, regions }, memory);
            }
        }
        HoldRequest::Publish => {
            if let Some((writer, version)) = held.writer {
                let label = held.name.at(version);
                let pid = holder.client(writer).map_or(0, |writer| writer.peer.pid);
                let text = format!("process {pid} is publishing {label}; wait until it commits, or end it");
                return Err(Error::new(Kind::Conflict, text));
            }
            let version = holder.next(&name)?.number();
            holder.held(&name)?.writer = Some((number, version));
            if let Some(client) = holder.client(number) {
                client.set_role(ClientRole::Writer(version));
                client.reply(&Reply::Writer { version }, Vec::new());
            }
        }
        HoldRequest::Commit { .. } => {
            // The writer's place is given back, whatever comes.
            held.writer = None;
            if let Some(client) = holder.client(number) {
                client.set_role(ClientRole::Guest);
            }
            let ClientRole::Writer(version) = role else { return Ok(()) };
            let mut fds = fds.into_iter();
            let manifest = fds.next().ok_or_else(|| Error::new(Kind::Malformed, "no manifest"))?;
            let set = SetMemory::check(manifest, fds.collect())?.for_reading()?;
            if set.label != name.at(version) {
                let text =
                    format!("the manifest names its set {}, but it is {}", set.label, name.at(version));
                return Err(Error::new(Kind::Malformed, text));
            }
            holder.check_limits(&set.label, set.nbytes, publisher)?;
            holder.held(&name)?.insert(set, publisher)?;
            if let Some(client) = holder.client(number) {
                client.reply(&Reply::Done { version }, Vec::new());
            }
        }
        HoldRequest::Who => list(holder, number, |holder| who(holder, number)),
        HoldRequest::List => list(holder, number, |holder| versions(holder, number)),
        HoldRequest::Drop { version: 0 } => {
            let held = holder.names.iter().position(|held| held.name == name);
            if let Some(index) = held {
                holder.names.remove(index).remove_socket(&holder.folder);
            }
            for client in holder.clients.iter_mut().filter(|client| client.name == name) {
                match client.number == number {
                    true => client.end_with(&Reply::Done { version: 0 }),
                    false => client.end(),
                }
            }
        }
        HoldRequest::Drop { version } => {
            held.version(version)?;
            held.versions.retain(|kept| kept.number != version);
            if let Some(client) = holder.client(number) {
                client.reply(&Reply::Done { version }, Vec::new());
            }
        }
        HoldRequest::TakeOver => handover::begin(holder, number, &name)?,
        HoldRequest::TookOver => handover::finish(holder, number, &name),
    }
    Ok(())
}

/// Sends rows, and their number.
fn list(holder: &mut SetHolder, number: u64, rows: impl FnOnce(&SetHolder) -> Vec<Reply>) {
    let rows = rows(holder);
    if let Some(client) = holder.client(number) {
        let end = Reply::End { rows: rows.len() as u64 };
        rows.iter().for_each(|row| client.reply(row, Vec::new()));
        client.reply(&end, Vec::new());
    }
}

fn name_of(holder: &SetHolder, number: u64) -> Option<&HeldName> {
    let client = holder.clients.iter().find(|client| client.number == number)?;
    holder.names.iter().find(|held| held.name == client.name)
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn who(holder: &SetHolder, number: u64) -> Vec<Reply> {
    let Some(held) = name_of(holder, number) else { return Vec::new() };
    let program = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let this = ClientRow {
        pid: std::process::id().into(),
        role: 0,
        version: held.newest().map_or(0, |newest| newest.number),
        age_ms: held.newest().map_or(0, |newest| millis(newest.since)),
        nbytes: held.nbytes(),
        is_mapped: held.newest().is_some_and(|newest| newest.is_mapped),
        program: program.trim_end_matches('\n').to_owned(),
    };
    let clients = holder.clients.iter().filter(|client| client.name == held.name);
    let rows = clients.filter_map(|client| {
        let (role, version) = match client.role {
            ClientRole::Reader(version) => (1, version),
            ClientRole::Writer(version) => (2, version),
            ClientRole::Guest | ClientRole::Successor => return None,
        };
        let found = held.versions.iter().find(|kept| kept.number == version);
        Some(ClientRow {
            pid: client.peer.pid.into(),
            role,
            version,
            age_ms: millis(client.since),
            nbytes: found.map_or(0, |version| version.nbytes),
            is_mapped: found.is_some_and(|version| version.is_mapped),
            program: client.program.clone(),
        })
    });
    std::iter::once(this).chain(rows).map(Reply::Client).collect()
}

fn versions(holder: &SetHolder, number: u64) -> Vec<Reply> {
    let Some(held) = name_of(holder, number) else { return Vec::new() };
    let rows = held.versions.iter().map(|version| {
        let readers = holder.clients.iter().filter(|client| client.reads(&held.name, version.number)).count();
        Reply::Version(VersionRow {
            version: version.number,
            arrays: version.arrays as u64,
            tables: version.tables as u64,
            readers: readers as u64,
            age_ms: millis(version.since),
            nbytes: version.nbytes,
            is_mapped: version.is_mapped,
        })
    });
    rows.collect()
}
