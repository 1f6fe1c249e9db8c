//! Handles signals to this process while it lends, and awaits the end of the command. The lease
//! ends with the command, so this process must outlive it.
//!
//! The terminal sends its signals (INT, QUIT) to the whole process group, so the command receives
//! them directly: here they are caught and dropped. Signals to one process (TERM, HUP) are
//! forwarded. The command decides whether to end; if a TERM or HUP is sent to the whole group, the
//! command receives it twice.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use crossdock::bindings::system_text;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::failure::{Failure, Result};
use crate::status;
use crate::system::is_ignored;

/// The signals that are forwarded.
const PASSED_ON: [(i32, Signal); 2] = [(SIGTERM, Signal::TERM), (SIGHUP, Signal::HUP)];

/// The command's process; 0 before it is known, and after it has ended.
static COMMAND: AtomicI32 = AtomicI32::new(0);

/// The signals that arrived and were not forwarded yet, one bit each.
static PENDING: AtomicU64 = AtomicU64::new(0);

/// Catches these four signals, so that they do not end this process. An ignored signal stays
/// ignored, also in the command; a caught signal has its default effect there. The system keeps the
/// status of the command, which it would drop if the end of a process (CHLD) were ignored.
pub(crate) fn catch() -> Result<()> {
    // SAFETY: the default effect runs no code of this process.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let told = |signal| {
        move |error: std::io::Error| {
            Failure::new(format_args!(
                "a handler for signal {signal} could not be installed: {}",
                system_text(&error)
            ))
        }
    };
    for signal in [SIGINT, SIGQUIT].into_iter().filter(|&signal| !is_ignored(signal)) {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map_err(told(signal))?;
    }
    for (signal, _) in PASSED_ON.into_iter().filter(|&(signal, _)| !is_ignored(signal)) {
        let pass_on = move || {
            PENDING.fetch_or(bit(signal), Ordering::SeqCst);
            deliver();
        };
        // SAFETY: the action only uses atomics and `kill`, which are async-signal-safe, and it
        // cannot panic.
        unsafe { signal_hook::low_level::register(signal, pass_on) }.map_err(told(signal))?;
    }
    Ok(())
}

/// Forwards signals to this process, beginning with those that arrived before it was known.
pub(crate) fn pass_on_to(child: &Child) {
    COMMAND.store(Pid::from_child(child).as_raw_pid(), Ordering::SeqCst);
    deliver();
}

/// Waits until the command has ended, without reaping it.
pub(crate) fn await_end(child: &Child) -> io::Result<()> {
    // The process is reaped only once no signal is forwarded to its number any more: another one
    // may get the number afterwards.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(child)), ended))?;
    COMMAND.store(0, Ordering::SeqCst);
    Ok(())
}

/// The exit status of a shell for this end. After Ctrl-C this process ends by the same signal: a
/// shell that ran it in a loop then leaves the loop, and otherwise goes on.
pub(crate) fn exit_code(ended: ExitStatus) -> ExitCode {
    if ended.signal() == Some(SIGINT) {
        // Returns only where the signal is ignored or blocked.
        let _ = signal_hook::low_level::emulate_default_handler(SIGINT);
    }
    ExitCode::from(code(ended))
}

fn code(ended: ExitStatus) -> u8 {
    let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(status::FAILED)
}

/// Sends each pending signal once. Also runs in signal handlers.
fn deliver() {
    let Some(process) = Pid::from_raw(COMMAND.load(Ordering::SeqCst)) else { return };
    let pending = PENDING.swap(0, Ordering::SeqCst);
    for (number, signal) in PASSED_ON {
        if pending & bit(number) != 0 {
            // An error means that the command has ended or changed its user: there is nothing to
            // do.
            let _ = kill_process(process, signal);
        }
    }
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lend::child;

    #[test]
    fn an_end_is_told_as_a_shell_tells_it() {
        for (raw, told) in [(0, 0), (3 << 8, 3), (255 << 8, 255), (9, 137), (15, 143)] {
            assert_eq!(code(ExitStatus::from_raw(raw)), told);
        }
    }

    #[test]
    fn a_signal_that_comes_before_the_command_is_known_reaches_it() {
        catch().unwrap();
        signal_hook::low_level::raise(SIGTERM).unwrap();
        let child = child::start(&["sleep".into(), "20".into()], &[]).unwrap();
        assert_eq!(child::wait(child).unwrap().signal(), Some(SIGTERM));
    }
}
