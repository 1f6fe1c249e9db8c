//! Descriptors of shared memory, as `python/crossdock/_processes.py` sends them.

use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};

use crossdock::bindings::description::Description;
use crossdock::bindings::shm::{self, TICKET_NBYTES, Ticket};
use crossdock::memory::{Backing, Place};
use crossdock::view::{Reason, Request};
use pyo3::exceptions::{PyBufferError, PyConnectionError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

use super::device;
use crate::errors::{self, Raise, refused};
use crate::object::{downcast, wrap};

/// Lets `multiprocessing` know how arrays and tables are sent.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    static IS_KNOWN: PyOnceLock<()> = PyOnceLock::new();
    IS_KNOWN.get_or_try_init(py, || py.import("crossdock._processes").map(drop)).copied()
}

/// A descriptor of shared memory, which belongs to the caller, and a text that describes the
/// memory; None for other memory.
#[pyfunction]
pub(crate) fn _lend(array: &Bound<'_, PyAny>) -> PyResult<Option<(i32, String)>> {
    Ok(lend(array)?.map(|(fd, text)| (fd.into_raw_fd(), text)))
}

/// The arguments of `_take` in the process that unpickles the array; None for other memory than
/// shared memory.
#[pyfunction]
pub(crate) fn _offer<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<(String, Bound<'py, PyBytes>)>> {
    let Some((fd, text)) = lend(array)? else { return Ok(None) };
    Ok(Some((text, PyBytes::new(array.py(), &shm::offer(fd).raise()?))))
}

/// The array of the arguments that `_offer` returned, in this or another process. Once.
#[pyfunction]
pub(crate) fn _take<'py>(py: Python<'py>, text: &str, ticket: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let ticket: &Ticket = ticket.try_into().map_err(|_| {
        PyValueError::new_err(format!(
            "the ticket of an array has {} bytes, not {TICKET_NBYTES}",
            ticket.len()
        ))
    })?;
    let fd = py.detach(|| shm::take(ticket)).map_err(|error| {
        let error = errors::text(&error);
        PyConnectionError::new_err(format!(
            "an array in shared memory was not received from its sender: {error}"
        ))
    })?;
    map(py, fd, text)
}

fn lend(array: &Bound<'_, PyAny>) -> PyResult<Option<(OwnedFd, String)>> {
    let own = downcast(array).ok_or_else(|| PyTypeError::new_err("a crossdock.Array was expected"))?;
    if own.array.place() != Place::CPU {
        return device::lend(&own.array);
    }
    if own.array.backing() != Backing::Shared {
        return Ok(None);
    }
    let request = if own.array.is_readonly() { Request::pin() } else { Request::share() };
    let lent = match shm::export(&own.array, &request) {
        Ok(lent) => lent,
        // A forked child can have a copy, for example, without a descriptor: the elements are sent.
        Err(refusal) if matches!(refusal.reason(), Reason::Layout(_)) => return Ok(None),
        Err(refusal) => return Err(refused(&refusal)),
    };
    let text = lent.description().to_text().raise()?;
    Ok(Some((lent.into_fd(), text)))
}

/// An array on the shared memory of a descriptor, which remains the caller's.
#[pyfunction]
pub(crate) fn _map<'py>(py: Python<'py>, descriptor: i32, text: &str) -> PyResult<Bound<'py, PyAny>> {
    map(py, duplicated(descriptor)?, text)
}

/// A duplicate of the caller's descriptor.
pub(crate) fn duplicated(descriptor: i32) -> PyResult<OwnedFd> {
    if descriptor < 0 {
        return Err(PyOSError::new_err(format!("{descriptor} is no descriptor")));
    }
    // SAFETY: `descriptor` is not negative (checked above) and is only used for `dup`, which fails
    // with an error if the number is not open.
    Ok(unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()?)
}

fn map<'py>(py: Python<'py>, fd: OwnedFd, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Some(array) = device::map(&fd, text) {
        return wrap(py, array.raise()?);
    }
    let described: Description = text.parse().raise()?;
    let array = shm::import(fd, &described).raise()?;
    if array.backing() != Backing::Shared {
        let text = format!(
            "the descriptor is of a {}, which can shrink: shared memory of sealed size was expected",
            array.backing()
        );
        return Err(PyBufferError::new_err(text));
    }
    wrap(py, array)
}
