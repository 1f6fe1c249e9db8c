//! What is loaded once in a process, and kept, is tested in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crossdock_mock_cuda::Mock;

/// Names the driver's library.
const DRIVER: &str = "CROSSDOCK_CUDA_DRIVER";
/// Names the test that a process was started for.
const ALONE: &str = "CROSSDOCK_TEST_ALONE";

/// Runs a test in a process of its own, in which nobody else does anything. The test's name is its path.
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

/// Names the library that is loaded in the driver's place; the test is alone in its process.
pub(crate) fn set_driver(library: &Path) {
    // SAFETY: nobody else in the process reads or writes the environment meanwhile.
    unsafe { std::env::set_var(DRIVER, library) };
}

/// The driver without a GPU, which the library loads when it is first asked for CUDA.
pub(crate) fn mock() -> &'static Mock {
    set_driver(&Mock::path());
    Mock::get()
}

/// A file of this process, which is gone when this is dropped.
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
        // Where it could not be made, there is nothing to remove.
        let _gone = std::fs::remove_file(&self.0);
    }
}
