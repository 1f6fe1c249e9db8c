//! Comparison with NumPy: files, conversions, records and text equal NumPy's.
//!
//! `CROSSDOCK_PYTHON` names a Python with NumPy and `ml_dtypes`. Without it no test runs, unless
//! `CROSSDOCK_REQUIRE_COUNTERPARTS` is set: then that is a failure.

mod casts;
mod display;
mod npy;
mod records;

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for one test, which is deleted after it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-numpy-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

/// The output of a script of `tests/python`, which runs in this folder.
fn run(python: &Path, script: &str, folder: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python").join(script);
    let output = Command::new(python).arg(&script).arg(folder).output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert!(output.status.success(), "{}: {}\n{errors}", script.display(), output.status);
    said.into_owned()
}
