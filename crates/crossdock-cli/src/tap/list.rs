//! The channels of this user's processes.

use std::process::ExitCode;

use crossdock::bindings::channel::{FoundChannel, find};
use indicatif::BinaryBytes;
use serde_json::json;

use crate::failure::Result;
use crate::out;
use crate::table::table;
use crate::tap::report::delivery;

pub(super) fn run(json: bool) -> Result<ExitCode> {
    let (mut rows, mut listed) = (Vec::new(), Vec::new());
    for channel in find() {
        // It may have ended meanwhile, or not be one.
        let Ok(tap) = channel.tap() else { continue };
        let (sent, delivery) = (tap.state().sent, delivery(tap.delivery()));
        let senders = channel.members.iter().filter(|member| member.is_sender).count();
        let receivers = channel.members.len() - senders;
        rows.push([
            channel.name.clone().unwrap_or_default(),
            channel.inode.to_string(),
            tap.slots().to_string(),
            BinaryBytes(tap.slot_nbytes() as u64).to_string(),
            delivery.to_owned(),
            sent.to_string(),
            senders.to_string(),
            receivers.to_string(),
            channel.processes.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
        ]);
        listed.push(json!({
            "name": channel.name,
            "id": channel.inode,
            "slots": tap.slots(),
            "nbytes": tap.slot_nbytes(),
            "delivery": delivery,
            "sent": sent,
            "senders": senders,
            "receivers": receivers,
            "processes": channel.processes,
        }));
    }
    if json {
        return out::print_json(&listed);
    }
    if rows.is_empty() {
        out::note(
            "no process of this user has a channel; make one: crossdock.Channel(4, 1 << 20, name=\"camera\")",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let header = ["name", "id", "slots", "bytes", "delivery", "sent", "senders", "receivers", "processes"];
    out::print(&table(header, &rows, &[1, 2, 3, 5, 6, 7]))
}

/// The name, or else the id.
pub(super) fn called(channel: &FoundChannel) -> String {
    channel.name.clone().unwrap_or_else(|| channel.inode.to_string())
}
