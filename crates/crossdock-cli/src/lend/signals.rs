//! What is sent to this process while it lends. The loan ends with the command, so this process must outlive it.
//!
//! The keyboard's signals (INT, QUIT) reach the command without help, since the terminal sends them to the whole group: here they
//! are caught and dropped. Those that are sent to one process (TERM, HUP) are passed on. Whether to end is up to the command; one
//! that is sent to the group all the same reaches the command twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::failure::{Failure, Result};

/// The signals that are passed on.
const PASSED_ON: [(i32, Signal); 2] = [(SIGTERM, Signal::TERM), (SIGHUP, Signal::HUP)];

/// The command's process; 0 before it is known, and once it has ended.
static COMMAND: AtomicI32 = AtomicI32::new(0);

/// The signals that came and were not passed on yet, one bit each.
static PENDING: AtomicU64 = AtomicU64::new(0);

/// From here on no signal of these four ends this process. One that is ignored already stays so, for the command too; one that is
/// caught here is not caught there.
pub(super) fn catch() -> Result<()> {
    let told =
        |signal| move |error| Failure::new(format_args!("signal {signal} could not be caught: {error}"));
    for signal in [SIGINT, SIGQUIT].into_iter().filter(|&signal| !is_ignored(signal)) {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map_err(told(signal))?;
    }
    for (signal, _) in PASSED_ON.into_iter().filter(|&(signal, _)| !is_ignored(signal)) {
        let pass_on = move || {
            PENDING.fetch_or(bit(signal), Ordering::SeqCst);
            deliver();
        };
        // SAFETY: the action does nothing but atomic operations and `kill`, which a handler of signals may; it cannot panic.
        unsafe { signal_hook::low_level::register(signal, pass_on) }.map_err(told(signal))?;
    }
    Ok(())
}

/// Whether this process ignores a signal, as inherited from its parent.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & bit(signal) != 0)
}

/// Passes signals on to this process, those first that came before it was known.
pub(super) fn pass_on_to(process: Pid) {
    COMMAND.store(process.as_raw_pid(), Ordering::SeqCst);
    deliver();
}

/// Passes no more signals on. To be called before the process is reaped: its number may be another's afterwards.
pub(super) fn pass_on_no_more() {
    COMMAND.store(0, Ordering::SeqCst);
}

/// Sends what is pending, once. Runs in handlers of signals too.
fn deliver() {
    let Some(process) = Pid::from_raw(COMMAND.load(Ordering::SeqCst)) else { return };
    let pending = PENDING.swap(0, Ordering::SeqCst);
    for (number, signal) in PASSED_ON {
        if pending & bit(number) != 0 {
            // A command that has ended, or changed its user, is not to be reached.
            let _ = kill_process(process, signal);
        }
    }
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::lend::child;

    #[test]
    fn a_signal_that_comes_before_the_command_is_known_reaches_it() {
        catch().unwrap();
        signal_hook::low_level::raise(SIGTERM).unwrap();
        let child = child::start(&["sleep".into(), "20".into()], &[]).unwrap();
        assert_eq!(child::wait(child).unwrap().signal(), Some(SIGTERM));
    }
}
