//! `crossdock tour`: exports one real array to every kind of consumer without a copy, as a
//! demonstration and a self-test.
//!
//! Each consumer knows only its own kind of interface (a Rust type, a C struct, a view, a
//! descriptor) and reports what it saw: dtype, shape, strides, the address, and a checksum of all
//! elements in order. The tour compares each value with what it lent, and fails if they differ. A
//! consumer leaves out what it cannot measure.

mod checksum;
mod dlpack;
mod measure;
mod pages;
mod place;
#[cfg(unix)]
mod process;
mod report;
mod rust;
mod sample;
mod sharing;
mod views;

use std::ffi::OsString;
use std::process::ExitCode;

use crossdock::ledger;
use crossdock::memory::Place;
use indicatif::ProgressBar;

use crate::failure::Result;
use crate::open::Opened;
use crate::tour::checksum::Checksum;
use crate::tour::report::{Outcome, TourReport};
use crate::tour::views::View;
use crate::{out, progress};

#[cfg(unix)]
pub(crate) use crate::tour::process::{CHILD, run_child};

const EXAMPLES: &str = "\
Examples:
  crossdock tour                                (a photograph in the program)
  crossdock tour trades.npy
  crossdock tour 'trades.npy[::2].price'        (every second record, one field)
  crossdock tour --place cuda:0                 (the same on a device)
  crossdock tour --json | jq '.handovers[].ns'";

/// Export one array to every built-in consumer, and show that nothing was copied.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file, the name of an array in it after a colon, and a view of it as in Python:
    /// 'a.npz:name[::2]'; by default, a photograph that is part of the program.
    #[arg(value_name = "FILE[:NAME][VIEW]")]
    target: Option<OsString>,
    /// Copy the array to a device first, and export it there: cuda:0, opencl:0, …
    #[arg(long)]
    place: Option<Place>,
    /// Print JSON instead of the table.
    #[arg(long)]
    json: bool,
}

/// Runs the tour.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ledger::switch_on();
    let travel = |opened: &Opened| match args.place {
        None | Some(Place::CPU) => travel(opened),
        Some(place) => place::travel(opened, place),
    };
    let report = match &args.target {
        Some(target) => travel(&Opened::open(target, false)?),
        None => sample::with_photograph(travel),
    }?;
    let report = report.close(ledger::live())?;
    if args.json { out::print_json(&report) } else { out::print(&report.to_text()) }
}

fn travel(opened: &Opened) -> Result<TourReport> {
    let mut report = TourReport::new(&opened.path, &opened.view);
    let c_consumer = dlpack::Consumer::compile();
    let views = views::of(&opened.view)?;
    let progress = progress::steps(views.len() * STEPS);
    for view in views {
        hand_over(&view, &c_consumer, &mut report, &progress)?;
        opened.check()?;
    }
    report.set_sharing(sharing::account(&opened.view).map_err(|failure| failure.within("sharing a sample"))?);
    Ok(report)
}

/// The number of consumers.
const CONSUMERS: usize = if cfg!(unix) { 6 } else { 4 };

/// The steps for each view: one for its checksum and a copy to compare with, and one for each
/// consumer.
const STEPS: usize = 1 + CONSUMERS;

/// Exports one view to every consumer.
fn hand_over(
    view: &View,
    c_consumer: &dlpack::Consumer,
    report: &mut TourReport,
    progress: &ProgressBar,
) -> Result<()> {
    let array = &view.array;
    progress.set_message(format!("{}, a copy for comparison", view.name));
    let expected = Checksum::of(array)?;
    let copy_ns = measure::copy(array)?;
    progress.inc(1);
    type Consumer<'a> = &'a dyn Fn() -> Result<Outcome>;
    let consumers: [(&'static str, Consumer<'_>); CONSUMERS] = [
        ("Array<T, D>", &|| rust::typed(array)),
        ("ndarray", &|| rust::ndarray(array)),
        ("a C program (DLPack)", &|| c_consumer.consume(array)),
        ("MemoryView", &|| rust::memory_view(array)),
        #[cfg(unix)]
        ("another process", &|| process::child(array)),
        #[cfg(unix)]
        ("python3, its stdlib", &|| process::python(array)),
    ];
    for (to, consume) in consumers {
        progress.set_message(format!("{} to {to}", view.name));
        report.take(view.name, to, consume(), array, expected, copy_ns)?;
        progress.inc(1);
    }
    Ok(())
}
