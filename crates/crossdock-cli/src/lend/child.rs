//! The borrowing command: starts it, and waits for it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use crossdock::bindings::system_text;

use crate::failure::Failure;
use crate::system::signals;
use crate::{status, terminal};

/// Starts the command with these additions to its environment. Signals are forwarded to it from
/// then on.
pub(crate) fn start(words: &[OsString], environment: &[(&str, String)]) -> Result<Child, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::new(
            "no command after `--`; write it as in crossdock lend photo.npy -- python3 report.py",
        )
        .with_status(status::USAGE));
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
    let child = command.spawn().map_err(|error| {
        let shown = terminal::path(Path::new(program));
        match error.kind() {
            ErrorKind::NotFound if Path::new(program).is_file() && shown.contains('/') => Failure::new(
                format_args!("{shown}: the interpreter that its first line names does not exist"),
            )
            .with_status(status::NOT_EXECUTABLE),
            ErrorKind::NotFound => {
                Failure::new(format_args!("{shown}: command not found; check its name and PATH"))
                    .with_status(status::NOT_FOUND)
            }
            ErrorKind::PermissionDenied if Path::new(program).is_dir() => {
                Failure::new(format_args!("{shown}: it is a directory, not a program"))
                    .with_status(status::NOT_EXECUTABLE)
            }
            ErrorKind::PermissionDenied => {
                Failure::new(format_args!("{shown}: no permission to execute it; check its mode (chmod +x)"))
                    .with_status(status::NOT_EXECUTABLE)
            }
            ErrorKind::ArgumentListTooLong => {
                let nbytes: usize = environment.iter().map(|(_, value)| value.len()).sum();
                Failure::new(format_args!(
                    "the description of the array takes {nbytes} bytes, which makes the environment of \
                    {shown} larger than the system permits; lend one field at a time (FILE:.field)"
                ))
            }
            _ => Failure::new(format_args!("{shown}: it could not be executed: {}", system_text(&error)))
                .with_status(status::NOT_EXECUTABLE),
        }
    })?;
    signals::pass_on_to(&child);
    Ok(child)
}

/// Waits for the command.
pub(crate) fn wait(mut child: Child) -> Result<ExitStatus, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(format_args!("the end of the command could not be awaited: {}", system_text(&error)))
    };
    signals::await_end(&child).map_err(failed)?;
    child.wait().map_err(failed)
}
