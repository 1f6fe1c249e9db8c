//! `crossdock bench`: measures this machine's memory, and how close the library comes to it.
//!
//! The works and the rounds are those of the project's own benchmarks, which also include other
//! libraries.

mod figures;
mod report;
mod text;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crossdock::device;
use crossdock::memory::Place;
use crossdock_measure::{DEVICE_WORKS, Limits, WORKS, Work, bandwidth, machine};
use indicatif::ProgressBar;

use crate::bench::report::BenchReport;
use crate::bench::text::BarGlyphs;
use crate::failure::{Failure, Result};
use crate::{out, progress};

/// After this time each work is measured in one round only, so that a slow machine finishes within
/// two minutes.
const LATE: Duration = Duration::from_secs(75);

/// The bytes copied to a device, from it and within it.
const LINK: usize = 256 << 20;

/// A device that copies fewer gigabytes per second within its memory ...
const FAST: f64 = 200.0;
/// ... gets works whose extents are divided by this.
const SLOWER: usize = 16;

const EXAMPLES: &str = "\
Examples:
  crossdock bench                    (a minute or two, on an idle machine)
  crossdock bench --quick
  crossdock bench --place cuda:0     (a device's copies and kernels)
  crossdock bench --json | jq '.works[] | [.name, .one_thread.ratio]'";

/// Measure this machine's memory, and how close copies and conversions come to it.
///
/// First measures how fast the C library reads, writes and copies in each cache and in memory. Then
/// measures each kind of work on arrays beside a memcpy of as many bytes, which is the limit. Every
/// result is compared with that of a naive loop before it is timed.
///
/// With --place, measures a device: its copies within it and over its link, and each kind of work
/// beside its own copy of as many bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Use fewer rounds, for rougher figures.
    #[arg(long)]
    quick: bool,
    /// Print JSON instead of bars.
    #[arg(long)]
    json: bool,
    /// Measure a device instead of the CPU: cuda:0, opencl:0, …
    #[arg(long)]
    place: Option<Place>,
    /// Divide the extents of all arrays by this, for tests.
    #[arg(long, hide = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    shrink: u32,
}

/// Measures, and prints the report.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let shrink = args.shrink as usize;
    let (limits, time) = match args.quick {
        false => {
            (Limits { most: 31, least: 5, budget: Duration::from_millis(600) }, Duration::from_millis(150))
        }
        true => (Limits { most: 5, least: 3, budget: Duration::from_millis(60) }, Duration::from_millis(20)),
    };
    let report = match args.place {
        None | Some(Place::CPU) => processor(shrink, limits, time),
        Some(place) => on_device(place, shrink, limits, time),
    }?;
    if args.json {
        return out::print_json(&report);
    }
    let glyphs = if std::io::stdout().is_terminal() { BarGlyphs::UNICODE } else { BarGlyphs::ASCII };
    out::print(&text::write(&report, glyphs))
}

fn processor(shrink: usize, limits: Limits, time: Duration) -> Result<BenchReport> {
    let threads = machine::threads();
    let levels = bandwidth::Level::all((512 << 20) / shrink);
    let progress = progress::steps(levels.len() + WORKS.len());
    let mut report = BenchReport::new(machine::name(), threads);
    for level in &levels {
        progress.set_message(format!("reading, writing and copying {}", level.name));
        report.memory.push(figures::memory(level, threads, time).map_err(told(&level.name))?);
        progress.inc(1);
    }
    report.works =
        works(WORKS, limits, &progress, |work, limits| figures::work(work, shrink, threads, limits))?;
    Ok(report)
}

fn on_device(place: Place, shrink: usize, limits: Limits, time: Duration) -> Result<BenchReport> {
    let device = device::get(place)?;
    let links = crossdock_measure::links(&*device, LINK / shrink).map_err(told(&place.to_string()))?;
    let progress = progress::steps(links.len() + DEVICE_WORKS.len());
    let mut report = BenchReport::of_device(machine::name(), format!("{place}: {}", device.name()));
    for link in links {
        progress.set_message(format!("copying {}", link.name));
        report.memory.push(figures::link(&link, time).map_err(told(link.name))?);
        progress.inc(1);
    }
    // A device that is not faster than a CPU gets less work.
    let within = report.memory.first().map_or(0.0, |memory| memory.traffic[0].one_thread);
    let shrink = if within < FAST { shrink * SLOWER } else { shrink };
    report.works = works(DEVICE_WORKS, limits, &progress, |work, limits| {
        figures::work_on(&*device, work, shrink, limits)
    })?;
    Ok(report)
}

/// All works of a table; late ones get fewer rounds.
fn works(
    table: &'static [Work],
    limits: Limits,
    progress: &ProgressBar,
    measure: impl Fn(&'static Work, Limits) -> crossdock_measure::Result<report::Work>,
) -> Result<Vec<report::Work>> {
    let start = Instant::now();
    let mut works = Vec::new();
    for work in table {
        progress.set_message(work.name);
        let in_time = start.elapsed() < LATE;
        let limits = if in_time { limits } else { Limits { most: 1, least: 1, ..limits } };
        works.push(measure(work, limits).map_err(told(work.name))?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(works)
}

fn told(what: &str) -> impl Fn(Box<dyn std::error::Error>) -> Failure {
    move |error| Failure::new(format_args!("{what}: {error}"))
}
