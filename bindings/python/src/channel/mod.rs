//! The parts of `crossdock.Channel` that Rust has. The class with its documentation is in
//! `python/crossdock/_channel.py`.

mod receiver;
mod sender;

use std::os::fd::AsRawFd as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

pub(crate) use self::receiver::Receiver;
pub(crate) use self::sender::{Loan, Sender};
use crate::descriptors::duplicated;
use crate::errors::Raise;
use crate::object::{downcast, wrap};

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

    /// The channel in the memory of a descriptor, which remains the caller's.
    #[staticmethod]
    fn open_fd(descriptor: i32) -> PyResult<Self> {
        Channel::open_fd(duplicated(descriptor)?).raise().map(Self)
    }

    /// The descriptor of the memory, which remains the channel's.
    fn fileno(&self) -> PyResult<i32> {
        Ok(self.0.fd().raise()?.as_raw_fd())
    }

    /// The channel as an array, which `multiprocessing` sends.
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap(py, self.0.to_array().raise()?)
    }

    fn sender(&self) -> PyResult<Sender> {
        self.0.sender().raise().map(Sender::new)
    }

    fn receiver(&self) -> PyResult<Receiver> {
        self.0.receiver().raise().map(Receiver::new)
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
