//! Runs tests of state that is loaded once per process in separate processes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crossdock_mock_cuda::Mock;

/// The environment variable that names the driver's library.
const DRIVER: &str = "CROSSDOCK_CUDA_DRIVER";
/// The environment variable that names the test of a new process.
const ALONE: &str = "CROSSDOCK_TEST_ALONE";

/// Runs a test alone in a new process. `name` is the path of the test.
#[track_caller]
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some_and(|alone| alone == name) {
        crossdock_cuda::register().unwrap();
        return test();
    }
    let this = std::env::current_exe().expect("a test has a file");
    let mut command = Command::new(this);
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(ALONE, name).env_remove(DRIVER);
    let output = command.output().expect("a test can be run once more");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    print!("{said}");
    assert!(output.status.success(), "{}: {complained}", output.status);
    assert!(said.contains("1 passed"), "no test is called {name}");
}

/// Names the library to load instead of the driver's. The test is alone in its process.
pub(crate) fn set_driver(library: &Path) {
    // SAFETY: `alone` runs one test with one test thread per process, so no other thread accesses
    // the environment.
    unsafe { std::env::set_var(DRIVER, library) };
}

/// The mock driver, which the library loads at the first use of CUDA.
pub(crate) fn mock() -> &'static Mock {
    set_driver(&Mock::path());
    Mock::get()
}

/// A file of this process, removed on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("{}-{name}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The file may not have been created.
        let _gone = std::fs::remove_file(&self.0);
    }
}
