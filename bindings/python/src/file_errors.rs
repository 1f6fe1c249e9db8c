//! Errors of files as Python's own `OSError` and its classes.

use std::io;
use std::path::Path;

use crossdock::Error;
use crossdock::bindings::system_text;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{exception, text};

/// The exception for an error of a file: where the system failed, with its number and text and the
/// path, as Python's `open` raises it, and with the whole error as a note.
#[cold]
pub(crate) fn file(py: Python<'_>, error: &Error, path: &Path) -> PyErr {
    let number = if path.is_dir() {
        Some(libc::EISDIR)
    } else {
        let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
        source.filter(|_| error.is_io()).and_then(number)
    };
    match number {
        Some(number) => of_system(py, number, &text(error), path),
        None => exception(error),
    }
}

/// The exception for an error in the contents of a file: parts beyond its end are damage, and no
/// index of the caller.
#[cold]
pub(crate) fn damaged(error: &Error) -> PyErr {
    if error.is_bounds() { PyValueError::new_err(text(error)) } else { exception(error) }
}

/// The exception for an error of the system.
#[cold]
pub(crate) fn system(py: Python<'_>, error: &io::Error, path: &Path) -> PyErr {
    match number(error) {
        Some(number) => of_system(py, number, &system_text(error), path),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// The system's number for an error, also for errors that the library found itself.
fn number(error: &io::Error) -> Option<i32> {
    let own = match error.kind() {
        io::ErrorKind::NotFound => Some(libc::ENOENT),
        io::ErrorKind::PermissionDenied => Some(libc::EACCES),
        io::ErrorKind::AlreadyExists => Some(libc::EEXIST),
        io::ErrorKind::NotADirectory => Some(libc::ENOTDIR),
        _ => None,
    };
    // Python's numbers are those of POSIX.
    error.raw_os_error().filter(|_| cfg!(unix)).or(own)
}

/// Python chooses the class by the number.
fn of_system(py: Python<'_>, number: i32, note: &str, path: &Path) -> PyErr {
    let text = py.import("os").and_then(|os| os.call_method1("strerror", (number,))?.extract::<String>());
    let error = match text {
        Ok(text) => PyOSError::new_err((number, text, path.as_os_str().to_owned())),
        Err(error) => return error,
    };
    match error.value(py).call_method1("add_note", (note,)) {
        Ok(_) => error,
        Err(failed) => failed,
    }
}
