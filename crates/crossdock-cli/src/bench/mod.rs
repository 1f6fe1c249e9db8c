//! `crossdock bench`: what this machine's memory can do, and how near to it the library comes.
//!
//! The works and the rounds are those of the project's own benchmarks, where others take part as well.

mod figures;
mod report;
mod text;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crossdock_measure::{Limits, WORKS, bandwidth, machine};

use crate::bench::report::Report;
use crate::bench::text::Glyphs;
use crate::failure::{Failure, Result};
use crate::{out, progress};

/// From then on each work is measured in one round only: a slow machine is done within two minutes, too.
const LATE: Duration = Duration::from_secs(75);

const EXAMPLES: &str = "\
Examples:
  crossdock bench                    (a minute or two; nothing else should be busy)
  crossdock bench --quick
  crossdock bench --json | jq '.works[] | [.name, .one_thread.ratio]'";

/// Measure this machine's memory, and how near to it copies and conversions come.
///
/// First what the C library reads, writes and copies in each cache and in memory. Then each kind of work on arrays, beside memcpy of
/// as many bytes in the same rounds: memcpy is what is there to be reached. Every result is compared with a naive one before it
/// is timed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Fewer rounds, hence rougher figures.
    #[arg(long)]
    quick: bool,
    /// Print JSON in place of the drawing.
    #[arg(long)]
    json: bool,
    /// Divide the extents of all arrays by this, for tests.
    #[arg(long, hide = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    shrink: u32,
}

/// Measures, and shows it.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let shrink = args.shrink as usize;
    let (limits, time) = match args.quick {
        false => {
            (Limits { most: 31, least: 5, budget: Duration::from_millis(600) }, Duration::from_millis(150))
        }
        true => (Limits { most: 5, least: 3, budget: Duration::from_millis(60) }, Duration::from_millis(20)),
    };
    let threads = machine::threads();
    let levels = bandwidth::Level::all((512 << 20) / shrink);
    let progress = progress::steps(levels.len() + WORKS.len());
    let mut report = Report::new(machine::name(), threads);
    let start = Instant::now();
    for level in &levels {
        progress.set_message(format!("reading, writing and copying {}", level.name));
        report.memory.push(figures::memory(level, threads, time).map_err(told(&level.name))?);
        progress.inc(1);
    }
    for work in WORKS {
        progress.set_message(work.name);
        let in_time = start.elapsed() < LATE;
        let limits = if in_time { limits } else { Limits { most: 1, least: 1, ..limits } };
        report.works.push(figures::work(work, shrink, threads, limits).map_err(told(work.name))?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    if args.json {
        return out::print_json(&report);
    }
    let glyphs = if std::io::stdout().is_terminal() { Glyphs::UNICODE } else { Glyphs::ASCII };
    out::print(&text::write(&report, glyphs))
}

fn told(what: &str) -> impl Fn(Box<dyn std::error::Error>) -> Failure {
    move |error| Failure::new(format_args!("{what}: {error}"))
}
