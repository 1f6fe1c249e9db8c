//! `crossdock inspect`: what an array file holds, and how it lies in memory.

mod protocols;
mod report;
mod sketch;
mod statistics;
mod text;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::inspect::report::Report;
use crate::inspect::sketch::Glyphs;
use crate::open::Opened;
use crate::{out, progress};

const EXAMPLES: &str = "\
Examples:
  crossdock inspect photo.npy
  crossdock inspect 'photo.npy:::2, ..., 0'        (every second row, the first channel)
  crossdock inspect trades.npy --protocols
  crossdock inspect trades.npy --json | jq .statistics";

/// Show what an array is, how it lies in memory, and its values' range.
///
/// FILE is opened in place: its elements are read once, where they lie, and nothing is copied.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// An array file (.npy) and, behind a colon, a view of it as in Python: '::2, ..., .field'.
    #[arg(value_name = "FILE[:EXPR]")]
    target: OsString,
    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
    /// Show by which protocols it could be handed on in place, and why not by the others.
    #[arg(long)]
    protocols: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let opened = Opened::open(&args.target, false)?;
    let progress = progress::reading(opened.view.nbytes());
    let read = statistics::gather(&opened.view, |nbytes| {
        progress.inc(nbytes as u64);
        opened.check()
    });
    progress.finish_and_clear();
    // Where the file shrank, whatever else was found does not count.
    opened.check()?;
    let protocols = args.protocols.then(|| protocols::ask(&opened.view));
    let report = Report::new(&opened, read?, protocols)?;
    if args.json {
        return out::print_json(&report);
    }
    let glyphs = if std::io::stdout().is_terminal() { Glyphs::UNICODE } else { Glyphs::ASCII };
    out::print(&text::write(&report, &opened.view, glyphs))
}
