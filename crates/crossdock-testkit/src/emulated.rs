//! Tests of another processor's programs under an emulator (qemu).
//!
//! `CROSSDOCK_EMULATOR` holds the command that starts such programs, and says that the tests are
//! emulated. `CROSSDOCK_CC` holds the command that compiles C for that processor. Each word has a
//! line of its own, since names of folders may contain spaces.

use std::env;
use std::process::Command;

use crate::not_run;

const EMULATOR: &str = "CROSSDOCK_EMULATOR";

/// A command that starts this test program again, by the emulator where there is one.
///
/// # Panics
///
/// If the system does not know the program's file.
pub fn this_program() -> Command {
    let program = env::current_exe().expect("a test program has a file");
    match words(EMULATOR) {
        Some(mut emulator) => {
            emulator.arg(program);
            emulator
        }
        None => Command::new(program),
    }
}

/// The C compiler for programs and libraries that this program runs or loads.
pub fn c_compiler() -> Command {
    words("CROSSDOCK_CC").unwrap_or_else(|| Command::new("cc"))
}

/// The command that a variable holds.
fn words(variable: &str) -> Option<Command> {
    let text = env::var(variable).ok()?;
    let mut words = text.lines();
    let mut command = Command::new(words.next()?);
    command.args(words);
    Some(command)
}

/// Whether the test must leave out what an emulator cannot do, such as forks of a process with
/// threads. If so, reports it as not run.
pub fn emulated(what: &str) -> bool {
    let is_emulated = words(EMULATOR).is_some();
    if is_emulated {
        not_run(&format!("{what}: not under an emulator"));
    }
    is_emulated
}
