//! The two output streams. Only terminals get colours, unless `NO_COLOR` is set.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use crossdock::bindings::system_text;

use crate::failure::Failure;
use crate::{system, terminal};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Prints the whole answer. A reader that closes the pipe, such as `head`, is not an error.
pub(crate) fn print(text: &str) -> Result<ExitCode, Failure> {
    print_on(text).map(|_| ExitCode::SUCCESS)
}

/// Prints a part of the answer. Returns whether a reader wants more of it.
pub(crate) fn print_on(text: &str) -> Result<bool, Failure> {
    let mut stdout = anstream::stdout().lock();
    let written = system::check_stdout().and_then(|()| stdout.write_all(text.as_bytes()));
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(unwritten(&error)),
    }
}

/// The failure of a write to standard output.
pub(crate) fn unwritten(error: &std::io::Error) -> Failure {
    Failure::new(format_args!("standard output could not be written: {}", system_text(error)))
}

/// Prints a serialisable answer as JSON, on lines of its own.
pub(crate) fn print_json(answer: &impl serde::Serialize) -> Result<ExitCode, Failure> {
    let text = serde_json::to_string_pretty(answer)
        .map_err(|error| Failure::new(format_args!("the result could not be written as JSON: {error}")))?;
    print(&(terminal::json(&text) + "\n"))
}

/// Whether notes and progress are left out.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out notes and progress.
pub(crate) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a note on stderr, beside the answer, unless `--quiet` is given.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        line(NOTE, text);
    }
}

/// Prints an error on stderr.
pub(crate) fn error(text: &str) {
    line(ERROR, text);
}

fn line(style: Style, text: &str) {
    // If stderr is closed, the error is lost.
    let _ = writeln!(anstream::stderr(), "{style}crossdock:{style:#} {}", terminal::shown(text));
}
