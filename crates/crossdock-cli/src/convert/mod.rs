//! `crossdock convert`: writes arrays of a file to a file of another format, or of the same.

mod args;
mod cleanup;
mod plan;
mod select;
mod target;
mod verify;

use std::process::ExitCode;
use std::time::Instant;

use crossdock::memory::copied_bytes;
use indicatif::{BinaryBytes, HumanDuration};

pub(crate) use crate::convert::args::Args;
use crate::convert::plan::Plan;
use crate::convert::target::Target;
use crate::failure::Failure;
use crate::terminal::shown;
use crate::{out, progress, terminal};

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let (start, copied) = (Instant::now(), copied_bytes());
    let format = args.format()?;
    let target = Target::open(args.out(), args.force)?;
    let plan = Plan::make(args, format)?;
    plan.paths().try_for_each(|source| target.check_source(source))?;
    let is_stdout = target.is_stdout();
    let bar = progress::writing(plan.nbytes(), plan.is_image());
    let plan = plan.streamed(args.memory, &bar);
    let written = target.write(&plan, &bar);
    bar.finish_and_clear();
    let written = written?;
    let many = if plan.arrays().len() == 1 {
        "1 array".to_owned()
    } else {
        format!("{} arrays", plan.arrays().len())
    };
    let mut text = format!(
        "{}: {many}, {written} B{} written, {} B copied, {}\n",
        shown(&terminal::path(args.out())),
        if written < 1024 { String::new() } else { format!(" ({})", BinaryBytes(written)) },
        copied_bytes() - copied,
        if start.elapsed().as_secs() >= 60 {
            HumanDuration(start.elapsed()).to_string()
        } else {
            format!("{:.3} s", start.elapsed().as_secs_f64())
        },
    );
    if let Some(kept) = plan.kept() {
        text += &format!("  {}\n", shown(&kept));
    }
    if let Some(description) = plan.description() {
        text += &format!("  to open it: --raw {}\n", shown(&quoted(&description.to_string())));
    }
    if is_stdout {
        text.lines().for_each(|line| out::note(line.trim()));
        return Ok(ExitCode::SUCCESS);
    }
    out::print(&text)
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
