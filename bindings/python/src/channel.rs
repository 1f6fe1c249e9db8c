//! The parts of `crossdock.Channel` that Rust has. The classes with the documentation are in
//! `python/crossdock/_channel.py`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossdock::array::Casting;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery, Loan, Receiver, Sender};
use pyo3::exceptions::{PyTimeoutError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::dtype::read_dtype;
use crate::errors::Raise;
use crate::object::{downcast, wrap};
use crate::shape::extents;
use crate::{nested, protocols};

/// The longest wait without the GIL, after which signals are handled.
const SLICE: Duration = Duration::from_millis(50);

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn duration(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = timeout else { return Ok(None) };
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) => Ok(Some(duration)),
        Err(_) if seconds >= 0.0 => Ok(None),
        Err(_) => {
            Err(PyValueError::new_err(format!("timeout must be None or seconds from 0 on, not {seconds}")))
        }
    }
}

/// Repeats `attempt` without the GIL, which waits for at most the given time, until it has a result
/// or `timeout` has passed. Handles signals meanwhile.
fn waited<T: Send>(
    py: Python<'_>,
    timeout: Option<Duration>,
    mut attempt: impl FnMut(Duration) -> crossdock::Result<Option<T>> + Send,
) -> PyResult<Option<T>> {
    let start = Instant::now();
    loop {
        let left = timeout.map_or(SLICE, |timeout| timeout.saturating_sub(start.elapsed()));
        let found = py.detach(|| attempt(left.min(SLICE))).raise()?;
        if found.is_some() || left.is_zero() {
            return Ok(found);
        }
        py.check_signals()?;
    }
}

#[pyclass(frozen, module = "crossdock")]
pub(crate) struct _Channel(Channel);

#[pymethods]
impl _Channel {
    #[new]
    fn new(
        slots: usize,
        nbytes: usize,
        delivery: &str,
        drop_oldest: bool,
        name: Option<&str>,
    ) -> PyResult<Self> {
        let delivery = match delivery {
            "each" => Delivery::Each,
            "one" => Delivery::One,
            "latest" => Delivery::Latest,
            other => {
                let text = format!("delivery must be 'each', 'one' or 'latest', not {other:?}");
                return Err(PyValueError::new_err(text));
            }
        };
        let mut options = ChannelOptions::new(slots, nbytes).delivery(delivery).drops_oldest(drop_oldest);
        if let Some(name) = name {
            if name.is_empty() {
                return Err(PyValueError::new_err("name must be None or have letters, not ''"));
            }
            options = options.named(name);
        }
        Channel::new(&options).raise().map(Self)
    }

    /// The channel in an array that another process sent.
    #[staticmethod]
    fn open(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let own = downcast(array)
            .ok_or_else(|| PyTypeError::new_err("a channel is opened from an Array in shared memory"))?;
        Channel::open(&own.array).raise().map(Self)
    }

    /// The channel as an array, which `multiprocessing` sends.
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap(py, self.0.to_array().raise()?)
    }

    fn sender(&self) -> PyResult<_Sender> {
        self.0.sender().raise().map(|sender| _Sender(Mutex::new(sender)))
    }

    fn receiver(&self) -> PyResult<_Receiver> {
        self.0.receiver().raise().map(|receiver| _Receiver(Mutex::new(receiver)))
    }

    fn close(&self) {
        self.0.close();
    }

    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.0.slot_nbytes()
    }

    #[getter]
    fn delivery(&self) -> &'static str {
        match self.0.delivery() {
            Delivery::Each => "each",
            Delivery::One => "one",
            Delivery::Latest => "latest",
        }
    }

    #[getter]
    fn senders(&self) -> usize {
        self.0.senders()
    }

    #[getter]
    fn receivers(&self) -> usize {
        self.0.receivers()
    }

    #[getter]
    fn sent(&self) -> u64 {
        self.0.sent()
    }
}

#[pyclass(frozen, module = "crossdock")]
pub(crate) struct _Sender(Mutex<Sender>);

impl _Sender {
    fn loaned(
        &self,
        py: Python<'_>,
        dtype: &crossdock::element::DType,
        shape: &[usize],
        timeout: Option<f64>,
    ) -> PyResult<Loan> {
        let timeout = duration(timeout)?;
        let loan = waited(py, timeout, |limit| match lock(&self.0).loan(dtype, shape, Some(limit)) {
            Ok(loan) => Ok(Some(loan)),
            Err(error) if error.is_exhausted() => Ok(None),
            Err(error) => Err(error),
        })?;
        loan.ok_or_else(|| {
            PyTimeoutError::new_err(
                "no slot of the channel became free: views of earlier messages are still in use",
            )
        })
    }
}

#[pymethods]
impl _Sender {
    fn loan(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyAny>,
        dtype: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<_Loan> {
        let (shape, dtype) = (extents(shape)?, read_dtype(dtype)?);
        self.loaned(py, &dtype, &shape, timeout).map(|loan| _Loan(Mutex::new(Some(loan))))
    }

    /// Copies the object's elements into a slot, and sends it.
    fn send(&self, py: Python<'_>, obj: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        let source = match downcast(obj) {
            Some(own) => own.array.clone(),
            None if obj.is_instance_of::<PyList>() => nested::read(obj, None)?,
            None => protocols::lend_unmasked(obj)?,
        };
        let loan = self.loaned(py, source.dtype(), source.shape(), timeout)?;
        py.detach(|| loan.array().assign(&source, Casting::Checked)).raise()?;
        loan.send().raise()
    }
}

/// A slot on loan, until it is sent or given back.
#[pyclass(frozen, module = "crossdock")]
pub(crate) struct _Loan(Mutex<Option<Loan>>);

#[pymethods]
impl _Loan {
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = lock(&self.0).as_ref().map(|loan| loan.array().clone());
        wrap(py, array.ok_or_else(ended)?)
    }

    fn send(&self) -> PyResult<()> {
        let loan = lock(&self.0).take();
        loan.ok_or_else(ended)?.send_shared().raise()
    }

    fn drop(&self) {
        let loan = lock(&self.0).take();
        drop(loan);
    }
}

fn ended() -> PyErr {
    PyValueError::new_err("the loan has ended: its array was sent, or its slot given back")
}

#[pyclass(frozen, module = "crossdock")]
pub(crate) struct _Receiver(Mutex<Receiver>);

#[pymethods]
impl _Receiver {
    /// The next array; None after the timeout, and False if the channel is closed.
    fn receive<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let timeout = duration(timeout)?;
        if let Some(found) = self.found(py, |receiver| receiver.try_receive())? {
            return Ok(found);
        }
        let found = waited(py, timeout, |limit| match lock(&self.0).receive(Some(limit)) {
            Ok(found) => Ok(found.map(Some)),
            Err(error) if error.is_closed() => Ok(Some(None)),
            Err(error) => Err(error),
        })?;
        match found {
            Some(Some(array)) => wrap(py, array),
            Some(None) => Ok(false.into_pyobject(py)?.to_owned().into_any()),
            None => Ok(py.None().into_bound(py)),
        }
    }

    fn try_receive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.found(py, |receiver| receiver.try_receive())?;
        Ok(found.unwrap_or_else(|| py.None().into_bound(py)))
    }

    #[getter]
    fn missed(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.0).missed())
    }
}

impl _Receiver {
    /// What a call finds that does not wait: an array, or False if the channel is closed. Another
    /// thread that waits has the receiver, so this finds nothing then.
    fn found<'py>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&mut Receiver) -> crossdock::Result<Option<crossdock::DArray>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Ok(mut receiver) = self.0.try_lock() else { return Ok(None) };
        match call(&mut receiver) {
            Ok(found) => found.map(|array| wrap(py, array)).transpose(),
            Err(error) if error.is_closed() => Ok(Some(false.into_pyobject(py)?.to_owned().into_any())),
            Err(error) => Err(error).raise(),
        }
    }
}
