//! Consumers in other processes: a child of this program, and Python with only its standard
//! library.
//!
//! Both get what `lend` provides: an inherited descriptor, and its description in the environment.
//! Each maps it and answers with one line of JSON. The file and the offset behind each address show
//! that both see the same bytes.

use std::io;
use std::process::{Command, ExitCode, Stdio};

use crossdock::DArray;
use crossdock::bindings::dialect::{pep3118, typestr};
use crossdock::bindings::system_text;
use crossdock::element::{DType, ScalarKind};
use crossdock::exchange::protocol::shm;
use crossdock::memory::copied_bytes;
use crossdock::view::Request;
use serde::Deserialize;

use crate::failure::{Failure, Result};
use crate::lend::ProcessLease;
use crate::out;
use crate::tour::checksum::Checksum;
use crate::tour::measure::median_ns;
use crate::tour::pages::Pages;
use crate::tour::report::{Handover, Outcome};

static PYTHON: &str = include_str!("consumer.py");

/// The name of the hidden subcommand that a child runs.
pub(crate) const CHILD: &str = "tour-child";

/// Lends to a child of this program.
pub(super) fn child(array: &DArray) -> Result<Outcome> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(format_args!("the path of this program could not be read: {}", system_text(&error)))
    })?;
    let mut command = Command::new(program);
    command.arg(CHILD);
    lend_to(command, array)
}

/// Lends to the system's Python.
pub(super) fn python(array: &DArray) -> Result<Outcome> {
    if array.is_empty() {
        return Ok(Outcome::Declined("Python's mmap cannot map 0 bytes".to_owned()));
    }
    let mut command = Command::new("python3");
    command.args(["-c", PYTHON]);
    Ok(match lend_to(command, array)? {
        Outcome::Took(handover) => {
            let dtype = handover.dtype.and_then(|format| dtype_of(&format, array.dtype()));
            Outcome::Took(Handover { dtype, ..handover })
        }
        declined => declined,
    })
}

/// The dtype that a format of `struct` names; `None` for times, which Python's buffers can only
/// export as integers.
fn dtype_of(format: &str, lent: &DType) -> Option<String> {
    let is_time = matches!(
        lent.as_scalar().map(|scalar| scalar.kind()),
        Some(ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_))
    );
    let named =
        pep3118::parse(format.as_bytes()).map_or_else(|_| format.to_owned(), |dtype| dtype.to_string());
    (!is_time).then_some(named)
}

fn lend_to(mut command: Command, array: &DArray) -> Result<Outcome> {
    let exported = match shm::export(array, &Request::pin()) {
        Ok(exported) => exported,
        Err(refusal) => return Ok(Outcome::Declined(refusal.fact().to_string())),
    };
    let lease = ProcessLease::new(&exported)?;
    command.envs(lease.environment()?);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = command.get_program().to_string_lossy().into_owned();
    let answer = match command.output() {
        Ok(answer) => answer,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Outcome::Declined(format!("{name} is not installed")));
        }
        Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
            let why = "the description of so many fields is larger than the system permits in an environment";
            return Ok(Outcome::Declined(why.to_owned()));
        }
        Err(error) => {
            return Err(Failure::new(format_args!("{name} could not be run: {}", system_text(&error))));
        }
    };
    if !answer.status.success() {
        let words = String::from_utf8_lossy(&answer.stderr);
        // The last line of a traceback says what went wrong.
        let last = words.trim().lines().next_back().unwrap_or("without a message");
        return Err(Failure::new(format_args!("{name} failed with {}: {}", answer.status, last.trim())));
    }
    let handover = serde_json::from_slice(&answer.stdout)
        .map_err(|error| Failure::new(format_args!("{name} did not print JSON: {error}")))?;
    Ok(Outcome::Took(handover))
}

/// What the child needs of the description in its environment.
#[derive(Deserialize)]
struct ReceivedArray {
    fd: i32,
    dtype: String,
    descr: Option<String>,
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: u64,
}

/// The child: opens the inherited descriptor, and reports what it sees.
pub(crate) fn run_child() -> Result<ExitCode> {
    let text = std::env::var("CROSSDOCK_ARRAY")
        .map_err(|_| Failure::new("CROSSDOCK_ARRAY is not set; `crossdock tour` runs this command"))?;
    let lent: ReceivedArray = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format_args!("CROSSDOCK_ARRAY is invalid: {error}")))?;
    let dtype: DType = match &lent.descr {
        Some(literal) => typestr::parse(literal)?,
        None => lent.dtype.parse()?,
    };
    let description = shm::Description::new(dtype, &lent.shape, &lent.strides, lent.offset, false)?;
    let open = || -> Result<DArray> {
        let fd = std::fs::File::open(format!("/proc/self/fd/{}", lent.fd)).map_err(|error| {
            Failure::new(format_args!("descriptor {} could not be opened: {}", lent.fd, system_text(&error)))
        })?;
        Ok(shm::import(fd.into(), &description)?)
    };
    let ns = median_ns(open)?;
    let copied = copied_bytes();
    let array = open()?;
    let view = crossdock::view(&array, Request::pin())?;
    let address = view.as_ptr().addr() as u64;
    out::print_json(&Handover {
        dtype: Some(array.dtype().to_string()),
        shape: Some(array.shape().to_vec()),
        strides: Some(array.strides().to_vec()),
        address,
        pages: Pages::at(address)?,
        checksum: Checksum::of_view(&view)?,
        bytes_copied: Some(copied_bytes() - copied),
        ns,
    })
}
