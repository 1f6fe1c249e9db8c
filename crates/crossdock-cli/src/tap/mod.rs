//! `crossdock tap`: shows what flows over a channel.
//!
//! ```text
//!   /proc ── find ──> the channel's memory, mapped for reading only
//!                       └─ look, every millisecond ──> a line for each message ──> the summary
//! ```

mod list;
mod report;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossdock::bindings::channel::{ChannelMember, FoundChannel, Tap, find};
use crossdock::bindings::system_text;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Failure, Result};
use crate::system::is_ignored;
use crate::tap::report::TapReport;
use crate::{out, progress};

const EXAMPLES: &str = "\
Examples:
  crossdock tap                   (lists the channels)
  crossdock tap camera
  crossdock tap camera --count 1 --values
  crossdock tap 4711              (the channel with this id in the list)
  crossdock tap camera --json | jq .shape

A channel has the name that its maker gave it, as in Python: \
crossdock.Channel(4, 1 << 20, name=\"camera\").

Exit status: 0 when it is stopped (INT, TERM or HUP), after N messages, or when the channel is \
closed or no process has it any more; 1 if there is no such channel.";

/// How often the channel is looked at.
const INTERVAL: Duration = Duration::from_millis(1);

/// How often the processes are searched for members.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);

/// Show what flows over a channel: messages, rates, members and lags.
///
/// The command maps the channel for reading only. It is no receiver, so it takes no slot and delays
/// no sender or receiver. It looks every millisecond, and can miss messages whose slots senders use
/// again within that time; the summary counts them. It ends with a summary.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name or the id of the channel. Without it, lists the channels of this user's processes.
    #[arg(value_name = "NAME")]
    channel: Option<String>,
    /// End after N messages.
    #[arg(long, value_name = "N", requires = "channel")]
    count: Option<u64>,
    /// Print the elements of each message, large arrays shortened. They are copied.
    #[arg(long, requires = "channel")]
    values: bool,
    /// Print JSON instead of text: an object on a line for each message, and one for the summary.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let Some(wanted) = &args.channel else { return list::run(args.json) };
    let channel = pick(find(), wanted)?;
    let stop = catch()?;
    let tap = channel.tap()?;
    watch(args, &channel, tap, &stop)
}

/// The only channel that has the name or the id.
fn pick(mut found: Vec<FoundChannel>, wanted: &str) -> Result<FoundChannel> {
    let is_it = |channel: &FoundChannel| match wanted.parse::<u64>() {
        Ok(inode) => channel.inode == inode,
        Err(_) => channel.name.as_deref() == Some(wanted),
    };
    let all: Vec<String> = found.iter().map(list::called).collect();
    found.retain(is_it);
    let several: Vec<String> = found.iter().map(|channel| channel.inode.to_string()).collect();
    match (found.pop(), several.len()) {
        (Some(channel), 1) => Ok(channel),
        (Some(_), many) => {
            let text =
                format!("{many} channels have the name {wanted}; give the id of one: {}", several.join(", "));
            Err(Failure::new(text))
        }
        (None, _) if all.is_empty() => {
            Err(Failure::new(format_args!("no process of this user has a channel {wanted}, or any other")))
        }
        (None, _) => Err(Failure::new(format_args!(
            "no process of this user has a channel {wanted}; there are: {}",
            all.join(", ")
        ))),
    }
}

fn watch(args: &Args, channel: &FoundChannel, mut tap: Tap, stop: &AtomicBool) -> Result<ExitCode> {
    let mut report = TapReport::new(args.json, &tap);
    let mut members =
        TapMembers { inode: channel.inode, list: channel.members.clone(), searched: Instant::now() };
    let status = progress::passing();
    let mut wants_more = out::print_on(&report.head(channel, &tap))?;
    let mut is_over = false;
    while wants_more && !is_over {
        // Everything that comes before the end is looked at after it is known.
        is_over = stop.load(Ordering::SeqCst) || tap.state().is_closed || members.are_gone();
        let mut lines = String::new();
        for message in tap.look(args.values) {
            if args.count.is_some_and(|count| report.seen() >= count) {
                break;
            }
            let sender = members.sender(message.sender);
            lines += &report.message(&message, sender);
        }
        is_over |= args.count.is_some_and(|count| report.seen() >= count);
        if !lines.is_empty() {
            wants_more = status.suspend(|| out::print_on(&lines))?;
        }
        if !status.is_hidden() {
            status.set_message(report.status(&tap.state()));
            status.tick();
        }
        if wants_more && !is_over {
            thread::sleep(INTERVAL);
        }
    }
    status.finish_and_clear();
    if wants_more {
        members.search();
        out::print(&report.summary(&tap.state(), &members.list))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The senders and receivers, as of the last search.
struct TapMembers {
    inode: u64,
    list: Vec<ChannelMember>,
    searched: Instant,
}

impl TapMembers {
    /// Returns whether a process still has the channel.
    fn search(&mut self) -> bool {
        self.searched = Instant::now();
        let found = find().into_iter().find(|channel| channel.inode == self.inode);
        let is_there = found.is_some();
        // The members of a channel that has ended are more telling than none.
        if let Some(channel) = found {
            self.list = channel.members;
        }
        is_there
    }

    /// Searches if it is time, and returns whether no process has the channel any more.
    fn are_gone(&mut self) -> bool {
        self.searched.elapsed() >= SEARCH_INTERVAL && !self.search()
    }

    /// The sender with a number. `None` if it has ended meanwhile.
    fn sender(&mut self, number: usize) -> Option<&ChannelMember> {
        let is_it = |member: &&ChannelMember| member.is_sender && member.number == number;
        if !self.list.iter().any(|member| is_it(&member)) && self.searched.elapsed() >= SEARCH_INTERVAL / 10 {
            self.search();
        }
        self.list.iter().find(is_it)
    }
}

/// A flag that signals set.
fn catch() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)) {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|error| {
            let error = system_text(&error);
            Failure::new(format_args!("a handler for signal {signal} could not be installed: {error}"))
        })?;
    }
    Ok(stop)
}
