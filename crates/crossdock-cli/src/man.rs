//! `crossdock man`: the man pages, made of what the parser knows.

use std::path::PathBuf;
use std::process::ExitCode;

use crossdock::bindings::system_text;

use crate::failure::{Failure, Result};
use crate::terminal;

/// Write the man pages of the command and of its subcommands.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write them to, such as ~/.local/share/man/man1. Older pages are replaced.
    folder: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args, command: clap::Command) -> Result<ExitCode> {
    let written =
        std::fs::create_dir_all(&args.folder).and_then(|()| clap_mangen::generate_to(command, &args.folder));
    written.map_err(|error| {
        Failure::new(format_args!("{}: {}", terminal::path(&args.folder), system_text(&error)))
    })?;
    Ok(ExitCode::SUCCESS)
}
