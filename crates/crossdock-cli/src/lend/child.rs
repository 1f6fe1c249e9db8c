//! The borrowing command: starts it, waits for it, and reports its end as a shell does.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::failure::Failure;
use crate::lend::signals;
use crate::status;

/// Starts the command with these additions to its environment. Signals are forwarded to it from
/// then on.
pub(super) fn start(words: &[OsString], environment: &[(&str, String)]) -> Result<Child, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::new("there is no command behind `--`").with_status(status::USAGE));
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
    let child = command.spawn().map_err(|error| {
        let shown = Path::new(program).display();
        match error.kind() {
            ErrorKind::NotFound if Path::new(program).is_file() && shown.to_string().contains('/') => {
                Failure::new(format_args!("{shown}: what its first line names as interpreter is not there"))
                    .with_status(status::NOT_EXECUTABLE)
            }
            ErrorKind::NotFound => {
                Failure::new(format_args!("there is no command {shown}: check its name and PATH"))
                    .with_status(status::NOT_FOUND)
            }
            ErrorKind::PermissionDenied => Failure::new(format_args!(
                "{shown} is not an executable file, or not one for you: check its mode (chmod +x)"
            ))
            .with_status(status::NOT_EXECUTABLE),
            ErrorKind::ArgumentListTooLong => {
                let nbytes: usize = environment.iter().map(|(_, value)| value.len()).sum();
                Failure::new(format_args!(
                    "the description of the array takes {nbytes} bytes, and with it {shown} gets more arguments and environment \
                     than the system passes on: lend one field at a time (FILE:.field)"
                ))
            }
            _ => Failure::new(format_args!("{shown} could not be run: {error}"))
                .with_status(status::NOT_EXECUTABLE),
        }
    })?;
    signals::pass_on_to(Pid::from_child(&child));
    Ok(child)
}

/// Waits for the command.
pub(super) fn wait(mut child: Child) -> Result<ExitStatus, Failure> {
    let failed = |error| Failure::new(format_args!("the command could not be waited for: {error}"));
    // The process is reaped only once no signal is forwarded to its number any more.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(&child)), ended))
        .map_err(|errno| failed(errno.into()))?;
    signals::pass_on_no_more();
    child.wait().map_err(failed)
}

/// The exit status of a shell for this end.
pub(super) fn exit_code(ended: ExitStatus) -> u8 {
    let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(status::FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_as_a_shell_tells_it() {
        for (raw, code) in [(0, 0), (3 << 8, 3), (255 << 8, 255), (9, 137), (15, 143)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), code);
        }
    }
}
