//! Consumers in other processes: a child of this program, and Python with nothing but its standard library.
//!
//! Both get what `lend` gives: an inherited descriptor, and its description in the environment. Each maps it, and answers
//! with one line of JSON.

use std::io;
use std::process::{Command, ExitCode, Stdio};

use crossdock::DArray;
use crossdock::exchange::protocol::shm;
use crossdock::memory::copied_bytes;
use crossdock::view::Request;

use crate::failure::{Failure, Result};
use crate::lend::{self, Lent};
use crate::out;
use crate::tour::measure::median_ns;
use crate::tour::report::Handover;
use crate::tour::rust::sum_of_bytes;
use crate::tour::Outcome;

static PYTHON: &str = include_str!("consumer.py");

/// The name of the hidden subcommand that a child runs.
pub(crate) const CHILD: &str = "tour-child";

/// Lends to a child of this program.
pub(super) fn child(array: &DArray) -> Result<Outcome> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format_args!("this program's own file is unknown: {error}")))?;
    let mut command = Command::new(program);
    command.arg(CHILD);
    lend_to(command, array)
}

/// Lends to the system's Python.
pub(super) fn python(array: &DArray) -> Result<Outcome> {
    if array.is_empty() {
        return Ok(Outcome::Declined("Python's mmap maps no empty file".to_owned()));
    }
    let mut command = Command::new("python3");
    command.args(["-c", PYTHON]);
    lend_to(command, array)
}

fn lend_to(mut command: Command, array: &DArray) -> Result<Outcome> {
    let exported = match shm::export(array, &Request::pin()) {
        Ok(exported) => exported,
        Err(refusal) => return Ok(Outcome::Declined(refusal.to_string())),
    };
    lend::prepare(&mut command, &exported)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = command.get_program().to_string_lossy().into_owned();
    let answer = match command.output() {
        Ok(answer) => answer,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Outcome::Declined(format!("there is no {name} on this machine")));
        }
        Err(error) => return Err(Failure::new(format_args!("{name} could not be run: {error}"))),
    };
    if !answer.status.success() {
        let words = String::from_utf8_lossy(&answer.stderr);
        return Err(Failure::new(format_args!("{name} ended with {}: {}", answer.status, words.trim())));
    }
    let handover = serde_json::from_slice(&answer.stdout)
        .map_err(|error| Failure::new(format_args!("{name} answered something else than JSON: {error}")))?;
    Ok(Outcome::Took(handover))
}

/// The child: opens what it inherited, and tells what it sees.
pub(crate) fn run_child() -> Result<ExitCode> {
    let lent = Lent::from_environment()?;
    let ns = median_ns(|| lent.open())?;
    let copied = copied_bytes();
    let array = lent.open()?;
    let view = crossdock::view(&array, Request::pin())?;
    out::print_json(&Handover {
        dtype: array.dtype().to_string(),
        shape: array.shape().to_vec(),
        strides: array.strides().to_vec(),
        address: view.as_ptr().addr() as u64,
        checksum: sum_of_bytes(&view)?,
        bytes_copied: copied_bytes() - copied,
        ns,
    })
}
