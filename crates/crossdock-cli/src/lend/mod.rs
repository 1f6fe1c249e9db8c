//! `crossdock lend`: another program reads, or writes, an array where it lies.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::open::Opened;

/// Lend an array to a command, in place.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An array file and, behind a colon, a view of it.
    #[arg(value_name = "FILE[:EXPR]")]
    target: OsString,
    /// The command and its arguments, behind `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _opened = Opened::open(&args.target, false)?;
    Err(Failure::new(format_args!("{:?} is not run yet", args.command)))
}
