//! `crossdock drop`: ends what is held.

use std::process::ExitCode;

use crossdock::exchange::protocol::hold::{self, Label};

use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  crossdock drop m         (the name, with all versions: its holder ends)
  crossdock drop m@2       (one version)";

/// Stop holding a name, or one version of it.
///
/// Processes that read it keep it. The memory is freed when the last of them ends.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name, or a version of it, as `crossdock ls` lists it.
    label: Label,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    hold::drop_set(&args.label)?;
    Ok(ExitCode::SUCCESS)
}
