//! The library's errors as Python's exceptions.

use std::io;

use crossdock::Error;
use crossdock::view::Refusal;
use pyo3::exceptions::{
    PyBufferError, PyException, PyIndexError, PyMemoryError, PyOSError, PyRecursionError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;

use crate::words::words;

/// The text of an error, with the advice in Python's words.
pub(crate) fn text(error: &Error) -> String {
    error.in_words(words).to_string()
}

/// The Python exception for an error, by its kind.
#[cold]
pub(crate) fn exception(error: &Error) -> PyErr {
    let text = text(error);
    match error {
        _ if error.is_bounds() => PyIndexError::new_err(text),
        _ if error.is_out_of_memory() || error.is_exhausted() => PyMemoryError::new_err(text),
        _ if error.is_conflict() || error.is_refused() || error.is_place() => PyBufferError::new_err(text),
        _ if error.is_device() => PyRuntimeError::new_err(text),
        _ if error.is_unsupported() || error.is_dtype() => PyTypeError::new_err(text),
        _ if error.is_io() => {
            let source =
                std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
            // Python's numbers are those of POSIX.
            match source.and_then(io::Error::raw_os_error).filter(|_| cfg!(unix)) {
                Some(number) => PyOSError::new_err((number, text)),
                None => PyOSError::new_err(text),
            }
        }
        _ => PyValueError::new_err(text),
    }
}

/// The exception for a refused export or import.
#[cold]
pub(crate) fn refusal(error: &Error) -> PyErr {
    if error.is_out_of_memory() { exception(error) } else { PyBufferError::new_err(text(error)) }
}

/// Like [`refusal`], for a [`Refusal`].
#[cold]
pub(crate) fn refused(refusal: &Refusal) -> PyErr {
    PyBufferError::new_err(refusal.in_words(words).to_string())
}

/// Whether an exception of a producer says nothing of its memory: an interrupt, or calls that are
/// nested too deeply.
pub(crate) fn is_passed_on(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py) || error.is_instance_of::<PyRecursionError>(py)
}

/// Wraps a producer's exception as `BufferError`, with what was called. Those that
/// [`is_passed_on`] names stay as they are.
#[cold]
pub(crate) fn producer(py: Python<'_>, asked: &str, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyBufferError>(py) || is_passed_on(py, &error) {
        return error;
    }
    let refused = PyBufferError::new_err(format!("{asked} refused: {}", error.value(py)));
    refused.set_cause(py, Some(error));
    refused
}

/// `?` for results of the library.
pub(crate) trait Raise<T> {
    fn raise(self) -> PyResult<T>;
}

impl<T, E: Into<Error>> Raise<T> for Result<T, E> {
    #[inline]
    fn raise(self) -> PyResult<T> {
        self.map_err(|error| exception(&error.into()))
    }
}
