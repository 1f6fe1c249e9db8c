//! `crossdock convert`: writes arrays of a file to a file of another format, or of the same.

mod args;
mod plan;
mod select;
mod table_source;
mod tables;
mod target;
mod verify;

use std::process::ExitCode;
use std::time::Instant;

use crossdock::exchange::files::Format;
use crossdock::memory::copied_bytes;
use indicatif::{BinaryBytes, HumanDuration};

pub(crate) use crate::convert::args::Args;
use crate::convert::plan::Plan;
use crate::convert::tables::TablePlan;
use crate::convert::target::Target;
use crate::failure::Failure;
use crate::table::counted;
use crate::terminal::shown;
use crate::{out, progress, terminal};

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let (start, copied) = (Instant::now(), copied_bytes());
    let format = args.format()?;
    let target = Target::open(args.out(), args.force)?;
    if let Some(plan) = TablePlan::make(args, format)? {
        target.check_source(plan.path())?;
        let is_stdout = target.is_stdout();
        let bar = progress::writing(plan.nbytes(), false);
        let written = target.write(&plan, Some(&bar));
        bar.finish_and_clear();
        let text = report(args, &plan.what(), written?, copied_bytes() - copied, start);
        return tell(&text, is_stdout);
    }
    let plan = Plan::make(args, format)?;
    plan.paths().try_for_each(|source| target.check_source(source))?;
    let is_stdout = target.is_stdout();
    let bar = progress::writing(plan.nbytes(), plan.is_image());
    let plan = plan.streamed(args.memory, &bar);
    let (many, is_image) = (plan.arrays().len(), plan.is_image());
    let (kept, description) = (plan.kept(), plan.description());
    let (what, written) = match format {
        Format::Arrow => {
            let plan = TablePlan::of_arrays(args, plan)?;
            (plan.what(), target.write(&plan, Some(&bar)))
        }
        _ => (counted(many as u64, "array"), target.write(&plan, is_image.then_some(&bar))),
    };
    bar.finish_and_clear();
    let mut text = report(args, &what, written?, copied_bytes() - copied, start);
    if let Some(kept) = kept {
        text += &format!("  {}\n", shown(&kept));
    }
    if let Some(description) = description {
        text += &format!("  to open it: --raw {}\n", shown(&quoted(&description.to_string())));
    }
    tell(&text, is_stdout)
}

/// The line about what was written.
fn report(args: &Args, what: &str, written: u64, copied: u64, start: Instant) -> String {
    format!(
        "{}: {what}, {written} B{} written, {copied} B copied, {}\n",
        shown(&terminal::path(args.out())),
        if written < 1024 { String::new() } else { format!(" ({})", BinaryBytes(written)) },
        if start.elapsed().as_secs() >= 60 {
            HumanDuration(start.elapsed()).to_string()
        } else {
            format!("{:.3} s", start.elapsed().as_secs_f64())
        },
    )
}

/// Prints the report, unless `--quiet` is given; on stderr if the file itself goes to standard
/// output.
fn tell(text: &str, is_stdout: bool) -> Result<ExitCode, Failure> {
    if out::is_quiet() {
        return Ok(ExitCode::SUCCESS);
    }
    if is_stdout {
        text.lines().for_each(|line| out::note(line.trim()));
        return Ok(ExitCode::SUCCESS);
    }
    out::print(text)
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
