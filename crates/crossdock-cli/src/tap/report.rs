//! What a tap prints: the head, a line for each message, and the summary.

use std::fmt::Write;
use std::time::Instant;

use crossdock::DArray;
use crossdock::bindings::channel::{self, ChannelMember, ChannelState, FoundChannel, Tap, TappedMessage};
use crossdock::exchange::protocol::channel::Delivery;
use indicatif::BinaryBytes;
use serde_json::json;

use crate::table::table;
use crate::tap::list::called;
use crate::terminal;

pub(super) struct TapReport {
    json: bool,
    start: Instant,
    delivery: Delivery,
    /// The first message that counts.
    first: u64,
    dropped_before: u64,
    seen: u64,
    nbytes: u64,
}

pub(super) fn delivery(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Each => "each",
        Delivery::One => "one",
        Delivery::Latest => "latest",
    }
}

fn role(member: &ChannelMember) -> &'static str {
    if member.is_sender { "sender" } else { "receiver" }
}

impl TapReport {
    pub(super) fn new(json: bool, tap: &Tap) -> Self {
        let dropped_before = tap.state().dropped;
        let (first, delivery) = (tap.first(), tap.delivery());
        Self { json, start: Instant::now(), delivery, first, dropped_before, seen: 0, nbytes: 0 }
    }

    /// The messages seen so far.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn head(&self, channel: &FoundChannel, tap: &Tap) -> String {
        if self.json {
            return String::new();
        }
        let mut text = format!(
            "channel {}: {} slots of {}, delivery {}, {} sent before",
            called(channel),
            tap.slots(),
            BinaryBytes(tap.slot_nbytes() as u64),
            delivery(self.delivery),
            self.first,
        );
        for member in &channel.members {
            let program = terminal::shown(&member.program);
            // Writing to a string cannot fail.
            let _ = write!(text, "; {} {} ({program})", role(member), member.pid);
        }
        text + "\n"
    }

    pub(super) fn message(&mut self, message: &TappedMessage, sender: Option<&ChannelMember>) -> String {
        self.seen += 1;
        self.nbytes += message.nbytes as u64;
        let TappedMessage { number, dtype, shape, nbytes, waits, views, values, .. } = message;
        let time = self.start.elapsed().as_secs_f64();
        if self.json {
            let mut line = json!({
                "message": number,
                "time": time,
                "dtype": dtype.to_string(),
                "shape": shape,
                "nbytes": nbytes,
                "table": channel::is_table(dtype),
                "sender": sender.map(|sender| json!({ "pid": sender.pid, "program": sender.program })),
                "waiting": waits,
                "views": views,
            });
            if let Some(values) = values {
                line["values"] = json!(shown_values(values));
            }
            return terminal::json(&line.to_string()) + "\n";
        }
        let from = sender.map_or_else(
            || "a sender that has ended".to_owned(),
            |sender| format!("{} ({})", sender.pid, terminal::shown(&sender.program)),
        );
        let mut text = format!(
            "{number}  {time:.3} s  {}  {}  from {from}",
            if channel::is_table(dtype) {
                "a table".to_owned()
            } else {
                format!("{} {shape:?}", terminal::shown(&dtype.to_string()))
            },
            BinaryBytes(*nbytes as u64),
        );
        // The latest value waits for everyone who comes.
        let waits = if self.delivery == Delivery::Latest { 0 } else { *waits };
        for (count, what) in [(waits, "waits for"), (*views, "viewed by")] {
            if count > 0 {
                // Writing to a string cannot fail.
                let _ = write!(text, ", {what} {count}");
            }
        }
        for line in values
            .iter()
            .flat_map(|values| shown_values(values).lines().map(str::to_owned).collect::<Vec<_>>())
        {
            let _ = write!(text, "\n    {}", terminal::shown(&line));
        }
        text + "\n"
    }

    /// The line that is rewritten in a terminal.
    pub(super) fn status(&self, state: &ChannelState) -> String {
        let [messages, nbytes] = self.rates(state);
        let [free, loaned, waiting, viewed] = state.slots;
        format!(
            "{messages:.1} messages/s, {}/s; slots: {free} free, {loaned} on loan, {waiting} waiting, {viewed} viewed; {} dropped",
            BinaryBytes(nbytes as u64),
            state.dropped - self.dropped_before.min(state.dropped),
        )
    }

    /// Messages per second, and bytes per second of those that were seen.
    fn rates(&self, state: &ChannelState) -> [f64; 2] {
        let seconds = self.start.elapsed().as_secs_f64().max(1e-9);
        [self.sent(state) as f64 / seconds, self.nbytes as f64 / seconds]
    }

    fn sent(&self, state: &ChannelState) -> u64 {
        state.sent.saturating_sub(self.first).max(self.seen)
    }

    pub(super) fn summary(&self, state: &ChannelState, members: &[ChannelMember]) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        let [messages, nbytes] = self.rates(state);
        let (sent, seen) = (self.sent(state), self.seen);
        let dropped = state.dropped.saturating_sub(self.dropped_before);
        let [free, loaned, waiting, viewed] = state.slots;
        let lag = |member: &ChannelMember| {
            // Only `Delivery::Each` says for which receiver a message waits.
            let has_own = !member.is_sender && self.delivery == Delivery::Each;
            let waiting = has_own.then(|| state.waiting[member.number]);
            (waiting, (!member.is_sender).then(|| state.viewed[member.number]))
        };
        if self.json {
            let members: Vec<_> = members
                .iter()
                .map(|member| {
                    let (waiting, views) = lag(member);
                    json!({
                        "pid": member.pid, "program": member.program, "role": role(member),
                        "waiting": waiting, "views": views,
                    })
                })
                .collect();
            let line = json!({
                "summary": {
                    "seconds": seconds,
                    "sent": sent,
                    "seen": seen,
                    "dropped": dropped,
                    "closed": state.is_closed,
                    "messages_per_second": messages,
                    "bytes_per_second": nbytes,
                    "slots": { "free": free, "loaned": loaned, "waiting": waiting, "viewed": viewed },
                    "members": members,
                },
            });
            return terminal::json(&line.to_string()) + "\n";
        }
        let closed = if state.is_closed { ", closed" } else { "" };
        let text = format!(
            "{sent} messages in {seconds:.1} s, {seen} of them shown, {dropped} dropped{closed}: {messages:.1} messages and {} per second\n\
            slots: {free} free, {loaned} on loan, {waiting} waiting, {viewed} viewed\n",
            BinaryBytes(nbytes as u64),
        );
        if members.is_empty() {
            return text;
        }
        let number = |number: Option<usize>| number.map_or_else(String::new, |number| number.to_string());
        let rows: Vec<[String; 5]> = members
            .iter()
            .map(|member| {
                let (waiting, views) = lag(member);
                let program = terminal::shown(&member.program);
                [member.pid.to_string(), program, role(member).to_owned(), number(waiting), number(views)]
            })
            .collect();
        text + &table(["process", "program", "role", "waiting", "views"], &rows, &[0, 3, 4])
    }
}

/// The elements of a message, or the batches of its table. Another process may have written what
/// is none.
fn shown_values(values: &DArray) -> String {
    let Ok(Some(table)) = channel::table(values) else { return values.to_string() };
    let mut text = String::new();
    for batch in 0..table.len() {
        match table.batch(batch) {
            // Writing to a string cannot fail.
            Ok(batch) => drop(writeln!(text, "{batch}")),
            Err(error) => drop(writeln!(text, "{error}")),
        }
    }
    text
}
