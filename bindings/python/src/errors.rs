//! The library's errors as Python's exceptions.

use std::io;

use crossdock::Error;
use crossdock::view::{Reason, Refusal};
use pyo3::exceptions::{
    PyBufferError, PyException, PyIndexError, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;

/// Rust names in the library's messages, with their Python equivalents.
const NAMES: [(&str, &str); 15] = [
    ("turn it around (`to_byte_order`)", "convert it (x.astype('=f8') of float64)"),
    ("see `DArray::from_indirect`", "a buffer of Python's says so itself"),
    ("raise `most_nbytes` for a peer that is trusted", "send it in parts"),
    ("copy the array (`to_order`)", "copy the array (x.copy())"),
    (", or see `Buffer::events` for what it is", ""),
    ("`into_array_with_validity`", "crossdock.from_arrow(obj, validity=True)"),
    ("`into_columns`", "crossdock.from_arrow(obj)"),
    ("`into_records`", "crossdock.asarray(obj, copy=None)"),
    ("`insert_axis`", "x[None]"),
    ("`ExportOptions::whole`", "crossdock.to_arrow(x, whole=True)"),
    ("`export_device`", "__arrow_c_device_array__"),
    ("(`trust_readonly`)", "by __dlpack__"),
    (", or vouch for the consumer (`trust_legacy_readonly`)", ""),
    ("copy it to the host", "x.to_device('cpu') copies it"),
    ("(share, pin or copy it)", "(copy it; x.frozen() is your word that nobody writes it any more)"),
];

/// Replaces Rust names in a message by Python's.
fn translated(text: String) -> String {
    NAMES.iter().fold(text, |text, &(ours, theirs)| match text.contains(ours) {
        true => text.replace(ours, theirs),
        false => text,
    })
}

/// The Python exception for an error, by its kind.
#[cold]
pub(crate) fn exception(error: &Error) -> PyErr {
    let text = translated(error.to_string());
    match error {
        _ if error.is_bounds() => PyIndexError::new_err(text),
        _ if error.is_out_of_memory() || error.is_exhausted() => PyMemoryError::new_err(text),
        _ if error.is_conflict() || error.is_refused() || error.is_place() => PyBufferError::new_err(text),
        _ if error.is_device() => PyRuntimeError::new_err(text),
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

/// The exception for a refused export or import.
#[cold]
pub(crate) fn refusal(error: &Error) -> PyErr {
    if error.is_out_of_memory() {
        exception(error)
    } else {
        PyBufferError::new_err(translated(error.to_string()))
    }
}

/// Like [`refusal`], for a [`Refusal`].
#[cold]
pub(crate) fn refused(refusal: &Refusal) -> PyErr {
    let text = translated(refusal.to_string());
    PyBufferError::new_err(match refusal.reason() {
        Reason::Place(place) => format!("{text}; x.to_device('{place}') copies it there"),
        _ => text,
    })
}

/// Wraps a producer's exception as `BufferError`, with what was called. Interrupts pass unchanged.
#[cold]
pub(crate) fn producer(py: Python<'_>, asked: &str, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyBufferError>(py) || !error.is_instance_of::<PyException>(py) {
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
