//! The command that borrows: started, waited for, and its end told as a shell tells it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::failure::Failure;
use crate::status;

/// Starts the command with these additions to its environment.
pub(super) fn start(words: &[OsString], environment: &[(&str, String)]) -> Result<Child, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::new("there is no command behind `--`").with_status(status::USAGE));
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
    command.spawn().map_err(|error| {
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
    })
}

/// Lets this process outlive what the keyboard sends to the whole terminal group, so that it can tell how the command ended;
/// whether to end is up to the command. A signal that is ignored already stays so, for the command too; one that is caught here
/// is not caught there.
pub(super) fn outlive_the_keyboard() -> Result<(), Failure> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    for signal in [SIGINT, SIGQUIT] {
        if ignored >> (signal - 1) & 1 == 0 {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map_err(|error| {
                Failure::new(format_args!("signal {signal} could not be caught: {error}"))
            })?;
        }
    }
    Ok(())
}

/// Waits for the command.
pub(super) fn wait(mut child: Child) -> Result<ExitStatus, Failure> {
    child.wait().map_err(|error| Failure::new(format_args!("the command could not be waited for: {error}")))
}

/// The exit status that a shell gives for this end.
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
