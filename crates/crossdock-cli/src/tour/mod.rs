//! `crossdock tour`: one real array, handed to every kind of consumer in place. Proof, and self-test.
//!
//! Each consumer knows only what its kind knows (a Rust type, a C struct, a view, a descriptor) and reports what it saw: dtype,
//! shape, strides, the address, and the sum of all bytes of all elements. The tour compares that with what it lent, and
//! fails where they differ.

mod dlpack;
mod measure;
mod process;
mod report;
mod rust;
mod sharing;
mod views;

use std::path::PathBuf;

use anyhow::{Context, Result};
use crossdock::memory::ledger;

use self::report::{Handover, Report};
use self::views::View;

pub use self::process::run_child;

/// Lend an array to every built-in consumer, and show that nothing was copied
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The .npy file to lend, with a view if wanted (FILE:EXPR). Without it, a photograph that comes with the command
    file: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// A photograph of a rocket launch (CC0), 427 × 640 × 3 bytes; see `data/README.md`.
static SAMPLE: &[u8] = include_bytes!("../../../../data/rocket.npy");

/// What a consumer did with an array.
enum Outcome {
    /// It took it.
    Took(Handover),
    /// It could not, and says why.
    Declined(String),
}

/// Runs the tour, and prints it.
pub fn run(args: &Args) -> Result<()> {
    ledger::switch_on();
    let report = travel(args)?;
    if args.json { report.print_json() } else { report.print_table() }
}

fn travel(args: &Args) -> Result<Report> {
    let opened = open(args)?;
    let mut report = Report::new(&opened.name, &opened.array);
    let mut shared = sharing::Account::default();
    {
        let mut c_consumer = dlpack::Consumer::compile();
        for view in views::of(&opened.array)? {
            hand_over(&view, &mut c_consumer, &mut report)?;
            opened.check()?;
        }
        shared.tell(&opened.array).context("sharing a sample")?;
        report.set_sharing(shared);
    }
    drop(opened);
    report.set_alive(ledger::live());
    report.check()?;
    Ok(report)
}

/// One view, to every consumer.
fn hand_over(view: &View, c_consumer: &mut dlpack::Consumer, report: &mut Report) -> Result<()> {
    let expected = views::checksum(&view.array)?;
    let copy_ns = measure::copy(&view.array)?;
    let outcomes = [
        ("Array<T, D>", rust::typed(&view.array)?),
        ("ndarray", rust::ndarray(&view.array)?),
        ("DLPack, a C program's", c_consumer.consume(&view.array)?),
        ("MemoryView", rust::memory_view(&view.array)?),
        ("another process", process::child(&view.array)?),
        ("python3, its stdlib", process::python(&view.array)?),
    ];
    for (to, outcome) in outcomes {
        match outcome {
            Outcome::Took(handover) => {
                handover.check(&view.array, expected).with_context(|| format!("{to}, {}", view.name))?;
                report.add(view.name, to, handover, copy_ns);
            }
            Outcome::Declined(why) => report.decline(view.name, to, why),
        }
    }
    Ok(())
}
