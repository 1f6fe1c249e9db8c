//! Programs of others that tests talk to.

use std::path::PathBuf;

/// A Python with the packages of `tests/python/requirements.txt`, by `CROSSDOCK_PYTHON`. Without one it says that the test was not run.
///
/// # Panics
///
/// Without one, where `CROSSDOCK_REQUIRE_COUNTERPARTS` is set and not `0`.
pub fn python() -> Option<PathBuf> {
    let python = std::env::var_os("CROSSDOCK_PYTHON").map(PathBuf::from);
    if python.is_none() {
        let required = std::env::var_os("CROSSDOCK_REQUIRE_COUNTERPARTS").is_some_and(|value| value != "0");
        assert!(!required, "CROSSDOCK_PYTHON must name a Python with NumPy, since counterparts are required");
        println!("not run: CROSSDOCK_PYTHON names no Python with NumPy");
    }
    python
}
