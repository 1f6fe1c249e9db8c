//! `crossdock connect`: a program that reads one version of a set, with all programs that it
//! starts.

use std::ffi::OsString;
use std::process::ExitCode;

use crossdock::exchange::protocol::hold::{self, Label};

use crate::failure::Result;
use crate::lend::child;
use crate::system::signals;

/// The variable that names the version.
pub(crate) const VARIABLE: &str = "CROSSDOCK_SET";

const EXAMPLES: &str = "\
Examples:
  crossdock connect m -- python3 worker.py
  crossdock connect m@2 -- ./compare

In worker.py:
  import crossdock
  weights = crossdock.connect()  # what CROSSDOCK_SET names: the newest, m@3
  w = weights[\"layers.0.w\"]

Exit status: that of COMMAND (128 + n if signal n ended it); 1 if the name is not held, 126 if COMMAND is not \
executable, 127 if it does not exist.";

/// Run a command that reads a set which another process holds.
///
/// The environment variable CROSSDOCK_SET names the version that is the newest now. It is held at
/// least until COMMAND ends, so all of its processes can read the same version, even if another one
/// is published meanwhile. TERM and HUP are forwarded to COMMAND.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name, or a version of it, as `crossdock ls` lists it.
    label: Label,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    // A lease, which lasts until this function returns.
    let set = hold::connect(&args.label)?;
    signals::catch()?;
    let child = child::start(&args.command, &[(VARIABLE, set.label().to_string())])?;
    let ended = child::wait(child)?;
    Ok(signals::exit_code(ended))
}
