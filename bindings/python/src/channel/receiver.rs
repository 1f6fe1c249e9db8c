//! The end of a channel that receives.

use std::sync::Mutex;

use crossdock::DArray;
use crossdock::bindings::channel::table as table_of;
use crossdock::exchange::protocol::channel;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;

use super::{duration, lock, waited};
use crate::errors::Raise;
use crate::object::wrap;
use crate::table;

/// The end of a channel that receives. `Channel.receiver` returns it.
///
/// Iteration, also by ``async for``, gives the messages until the channel is closed.
#[pyclass(frozen, module = "crossdock._channel")]
pub(crate) struct Receiver(Mutex<channel::Receiver>);

/// What a receiver finds when it looks for a message.
enum NextMessage<'py> {
    /// An array, or a table.
    Found(Bound<'py, PyAny>),
    Nothing,
    Closed,
}

impl<'py> NextMessage<'py> {
    fn found(self) -> Option<Bound<'py, PyAny>> {
        match self {
            Self::Found(message) => Some(message),
            Self::Nothing | Self::Closed => None,
        }
    }
}

/// The array or the table of a message.
fn message(py: Python<'_>, array: DArray) -> PyResult<NextMessage<'_>> {
    let message = match table_of(&array).raise()? {
        Some(file) => table::of_file(py, &file)?.into_bound_py_any(py)?,
        None => wrap(py, array)?,
    };
    Ok(NextMessage::Found(message))
}

impl Receiver {
    pub(super) fn new(receiver: channel::Receiver) -> Self {
        Self(Mutex::new(receiver))
    }

    /// Never waits: another thread that waits has the receiver, so this finds nothing then.
    fn look<'py>(&self, py: Python<'py>) -> PyResult<NextMessage<'py>> {
        let Ok(mut receiver) = self.0.try_lock() else { return Ok(NextMessage::Nothing) };
        let found = receiver.try_receive();
        drop(receiver);
        match found {
            Ok(Some(array)) => message(py, array),
            Ok(None) => Ok(NextMessage::Nothing),
            Err(error) if error.is_closed() => Ok(NextMessage::Closed),
            Err(error) => Err(error).raise(),
        }
    }

    fn wait<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<NextMessage<'py>> {
        let timeout = duration(timeout)?;
        match self.look(py)? {
            NextMessage::Nothing => {}
            found => return Ok(found),
        }
        let found = waited(py, timeout, |limit| match lock(&self.0).receive(Some(limit)) {
            Ok(found) => Ok(found.map(Some)),
            Err(error) if error.is_closed() => Ok(Some(None)),
            Err(error) => Err(error),
        })?;
        match found {
            Some(Some(array)) => message(py, array),
            Some(None) => Ok(NextMessage::Closed),
            None => Ok(NextMessage::Nothing),
        }
    }
}

#[pymethods]
impl Receiver {
    /// The next message.
    ///
    /// Parameters
    /// ----------
    /// timeout : float, optional
    ///     The most seconds to sleep; by default as long as it takes.
    ///
    /// Returns
    /// -------
    /// Array or Table or None
    ///     A read-only view; None if no message came in time, or the channel is closed.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> receiver = crossdock.Channel(4, 1000).receiver()
    /// >>> receiver.receive(timeout=0.01)
    #[pyo3(signature = (timeout=None))]
    fn receive<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.wait(py, timeout).map(NextMessage::found)
    }

    /// The next message, if it is there. Never waits: call it in a loop to poll.
    ///
    /// Returns
    /// -------
    /// Array or Table or None
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> receiver = crossdock.Channel(4, 1000).receiver()
    /// >>> receiver.try_receive()
    fn try_receive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.look(py).map(NextMessage::found)
    }

    /// The number of messages that were dropped before this receiver received them.
    ///
    /// At least so many if there are several senders, and always 0 with ``delivery='one'``.
    #[getter]
    fn missed(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.0).missed())
    }

    /// The next message, None if it is not there yet, and False if the channel is closed.
    fn _next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.look(py)? {
            NextMessage::Found(message) => message,
            NextMessage::Nothing => py.None().into_bound(py),
            NextMessage::Closed => false.into_pyobject(py)?.to_owned().into_any(),
        })
    }

    /// Waits until `_next` may find something, and takes nothing.
    fn _wait(&self, py: Python<'_>, timeout: f64) -> PyResult<()> {
        let timeout = duration(Some(timeout))?;
        waited(py, timeout, |limit| Ok(lock(&self.0).wait(Some(limit))?.then_some(())))?;
        Ok(())
    }

    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.wait(py, None).map(NextMessage::found)
    }

    fn __aiter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("crossdock._channel")?.getattr("_Messages")?.call1((this,))
    }
}
