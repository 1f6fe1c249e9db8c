//! Handles the keys of the console while this process lends, and reports the end of the command.
//! The lease ends with the command, so this process must outlive it.
//!
//! The console sends Ctrl-C and Ctrl-Break to each of its processes, so the command receives them
//! directly, and decides whether to end. There are no other signals to forward.

use std::io;
use std::process::{Child, ExitCode, ExitStatus};

use crossdock::bindings::system_text;
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::core::BOOL;

use crate::failure::{Failure, Result};
use crate::status;

/// Says of the two keys that they are handled, so that they do not end this process.
unsafe extern "system" fn handled(event: u32) -> BOOL {
    (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT).into()
}

/// Keeps the two keys from ending this process. Programs that it starts do not inherit that.
pub(crate) fn catch() -> Result<()> {
    // SAFETY: `handled` has the type of a handler, accesses no memory, and is never unloaded.
    if unsafe { SetConsoleCtrlHandler(Some(handled), 1) } != 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(Failure::new(format_args!("a handler for Ctrl-C could not be installed: {}", system_text(&error))))
}

/// There is nothing to forward.
pub(crate) fn pass_on_to(_: &Child) {}

/// The wait for the process itself suffices: its handle keeps its number.
pub(crate) fn await_end(_: &Child) -> io::Result<()> {
    Ok(())
}

/// The command's exit status. One of more than a byte, such as that of a crash, ends this process
/// at once.
pub(crate) fn exit_code(ended: ExitStatus) -> ExitCode {
    let Some(code) = ended.code() else { return ExitCode::from(status::FAILED) };
    u8::try_from(code).map_or_else(|_| std::process::exit(code), ExitCode::from)
}
