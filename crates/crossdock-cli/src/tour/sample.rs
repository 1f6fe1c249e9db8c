//! The photograph that the tour shows by default.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use crossdock::bindings::system_text;

use crate::failure::{Failure, Result};
use crate::open::Opened;
use crate::terminal;

/// A rocket launch, 427 × 640 pixels of 3 bytes (public domain; `data/README.md` names the source).
static PHOTOGRAPH: &[u8] = include_bytes!("../../data/rocket.npy");

/// Writes out the photograph, opens it like any other file, and calls `f` with it. The path of the
/// repository in which the program was built is not used: another machine does not have it.
pub(super) fn with_photograph<R>(f: impl FnOnce(&Opened) -> Result<R>) -> Result<R> {
    let unpacked = Unpacked::new()?;
    f(&Opened::open(unpacked.0.as_os_str(), false)?)
}

/// A temporary file, removed when this is dropped.
struct Unpacked(PathBuf);

impl Unpacked {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("crossdock-photograph-{}.npy", std::process::id()));
        // `create_new` neither follows a link nor overwrites a file.
        let file = fs::File::options().write(true).create_new(true).open(&path);
        match file.and_then(|mut file| file.write_all(PHOTOGRAPH)) {
            Ok(()) => Ok(Self(path)),
            Err(error) => {
                let text = format_args!(
                    "{}: the photograph could not be written: {}",
                    terminal::path(&path),
                    system_text(&error)
                );
                Err(Failure::new(text))
            }
        }
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // If the file cannot be removed, the system cleans its temporary folder.
        let _ = fs::remove_file(&self.0);
    }
}
