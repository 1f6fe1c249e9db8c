//! Programs of others that tests talk to: where one is missing, what would talk to it is not run, unless `CROSSDOCK_REQUIRE_COUNTERPARTS`
//! is set and not `0`. Then that is a failure.

use std::path::PathBuf;

/// Whether what is missing is a failure.
pub fn counterparts_are_required() -> bool {
    std::env::var_os("CROSSDOCK_REQUIRE_COUNTERPARTS").is_some_and(|value| value != "0")
}

/// Says that something was not run, and why.
///
/// # Panics
///
/// Where counterparts are required.
#[track_caller]
pub fn missing(what: &str) {
    assert!(!counterparts_are_required(), "required, and missing: {what}");
    eprintln!("not run: {what} is missing");
}

/// A Python with the packages of `tests/python/requirements.txt`, by `CROSSDOCK_PYTHON`. Without one it says that the test was not run.
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
