//! The library's errors as Python's exceptions.

use std::io;

use crossdock::Error;
use crossdock::view::Refusal;
use pyo3::exceptions::{PyBufferError, PyIndexError, PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The exception whose class says what kind of error it was.
#[cold]
pub(crate) fn exception(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        _ if error.is_bounds() => PyIndexError::new_err(text),
        _ if error.is_out_of_memory() || error.is_exhausted() => PyMemoryError::new_err(text),
        _ if error.is_conflict() || error.is_refused() || error.is_place() => PyBufferError::new_err(text),
        _ if error.is_unsupported() || error.is_dtype() => PyTypeError::new_err(text),
        _ if error.is_io() => {
            let source =
                std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
            match source.and_then(io::Error::raw_os_error) {
                Some(number) => PyOSError::new_err((number, text)),
                None => PyOSError::new_err(text),
            }
        }
        _ => PyValueError::new_err(text),
    }
}

/// Somebody was not lent what they asked for.
#[cold]
pub(crate) fn refusal(error: &Error) -> PyErr {
    if error.is_out_of_memory() { exception(error) } else { PyBufferError::new_err(error.to_string()) }
}

/// As [`refusal`].
#[cold]
pub(crate) fn refused(refusal: &Refusal) -> PyErr {
    PyBufferError::new_err(refusal.to_string())
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
