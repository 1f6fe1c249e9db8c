//! Programs that tests talk to. If one is missing, the test is not run; with
//! `CROSSDOCK_REQUIRE_COUNTERPARTS` set to anything but `0`, that is a failure.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::thread;

/// Whether a missing counterpart is a failure.
pub fn counterparts_are_required() -> bool {
    std::env::var_os("CROSSDOCK_REQUIRE_COUNTERPARTS").is_some_and(|value| value != "0")
}

/// Reports that a test, or a part of one, was not run because a counterpart is missing.
///
/// # Panics
///
/// Where counterparts are required.
#[track_caller]
pub fn missing(what: &str) {
    assert!(!counterparts_are_required(), "required, and missing: {what}");
    not_run(&format!("{what} is missing"));
}

/// Reports that a test, or a part of one, was not run, with the reason: for checks that this
/// machine cannot run, whatever is installed. A test that returns early without this call would
/// count as passed.
///
/// The test's name and the reason are also appended to the file that `CROSSDOCK_NOT_RUN` names:
/// `cargo xtask test` shows the reasons in the suite's line, even if the test runner hides the
/// output of tests that pass.
///
/// # Panics
///
/// If that file cannot be written.
pub fn not_run(reason: &str) {
    eprintln!("not run: {reason}");
    if let Some(path) = std::env::var_os("CROSSDOCK_NOT_RUN") {
        let line =
            format!("{}\t{}\n", thread::current().name().unwrap_or_default(), reason.replace('\n', " "));
        let file = File::options().append(true).create(true).open(&path);
        // One write, so that lines of concurrent programs stay whole.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// The Python with the packages of `tests/python/requirements.txt` that `CROSSDOCK_PYTHON` names.
/// Without one, reports that the test was not run.
///
/// # Panics
///
/// Without one, where counterparts are required.
#[track_caller]
pub fn python() -> Option<PathBuf> {
    let python = std::env::var_os("CROSSDOCK_PYTHON").map(PathBuf::from);
    if python.is_none() {
        missing("a Python with NumPy, which CROSSDOCK_PYTHON names");
    }
    python
}
