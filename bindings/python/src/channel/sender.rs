//! The end of a channel that sends, and its loans.

use std::sync::Mutex;
use std::time::Duration;

use crossdock::array::Casting;
use crossdock::bindings::channel::{loan_for_table, send_table_in};
use crossdock::element::DType;
use crossdock::exchange::protocol::channel::{self, Loan as CoreLoan};
use pyo3::exceptions::{PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::{duration, lock, waited};
use crate::detach::detached;
use crate::dtype::read_dtype;
use crate::errors::Raise;
use crate::object::{downcast, wrap};
use crate::shape::extents;
use crate::table::{self, NotATable, Table, TableBatches};
use crate::{nested, protocols};

/// The end of a channel that sends. `Channel.sender` returns it.
#[pyclass(frozen, module = "crossdock._channel")]
pub(crate) struct Sender(Mutex<channel::Sender>);

impl Sender {
    pub(super) fn new(sender: channel::Sender) -> Self {
        Self(Mutex::new(sender))
    }

    fn loaned(
        &self,
        py: Python<'_>,
        dtype: &DType,
        shape: &[usize],
        timeout: Option<f64>,
    ) -> PyResult<CoreLoan> {
        let timeout = duration(timeout)?;
        // Usually a slot is free. Another thread that waits has the sender.
        if let Ok(mut sender) = self.0.try_lock() {
            match sender.loan(dtype, shape, Some(Duration::ZERO)) {
                Ok(loan) => return Ok(loan),
                Err(error) if error.is_exhausted() => {}
                Err(error) => return Err(error).raise(),
            }
        }
        self.waiting(py, timeout, |sender, limit| sender.loan(dtype, shape, Some(limit)))
    }

    fn send_table(&self, py: Python<'_>, table: &Table, timeout: Option<f64>) -> PyResult<()> {
        let loan =
            self.waiting(py, duration(timeout)?, |sender, limit| loan_for_table(sender, Some(limit)))?;
        py.detach(|| send_table_in(loan, &mut TableBatches::unchecked(table))).raise()
    }

    /// The slot that `attempt` borrows, once one is free.
    fn waiting(
        &self,
        py: Python<'_>,
        timeout: Option<Duration>,
        attempt: impl Fn(&mut channel::Sender, Duration) -> crossdock::Result<CoreLoan> + Send + Sync,
    ) -> PyResult<CoreLoan> {
        let mut full = String::new();
        let loan = waited(py, timeout, |limit| match attempt(&mut lock(&self.0), limit) {
            Ok(loan) => Ok(Some(loan)),
            Err(error) if error.is_exhausted() => {
                full = error.to_string();
                Ok(None)
            }
            Err(error) => Err(error),
        })?;
        loan.ok_or_else(|| PyTimeoutError::new_err(full))
    }
}

#[pymethods]
impl Sender {
    /// Borrow a slot as an array.
    ///
    /// The result is a context manager: the ``with`` statement binds the array, and sends it at the
    /// end of the block, unless the block raises. Keep no view of the array, as of NumPy,
    /// after the block: nothing stops writes by it, and receivers would see them.
    ///
    /// Parameters
    /// ----------
    /// shape : int or tuple of int
    ///     The shape of the array. Its elements are those of an earlier message, or zero.
    /// dtype : str or dtype
    ///     The dtype of the elements.
    /// timeout : float, optional
    ///     The most seconds to wait for a free slot; by default as long as it takes.
    ///
    /// Returns
    /// -------
    /// Loan
    ///
    /// Raises
    /// ------
    /// TimeoutError
    ///     If no slot became free in time.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> channel = crossdock.Channel(4, 1000)
    /// >>> receiver, sender = channel.receiver(), channel.sender()
    /// >>> with sender.loan(3, 'int16') as x:
    /// ...     x[:] = 7
    /// >>> receiver.receive().tolist()
    /// [7, 7, 7]
    #[pyo3(
        signature = (shape, dtype=None, *, timeout=None),
        text_signature = "($self, shape, dtype='float64', *, timeout=None)"
    )]
    fn loan(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Loan> {
        let dtype = dtype.map_or(Ok(DType::F64), read_dtype)?;
        self.loaned(py, &dtype, &extents(shape)?, timeout).map(|loan| Loan(Mutex::new(Some(loan))))
    }

    /// Copy an array or a table into a slot, and send it.
    ///
    /// Parameters
    /// ----------
    /// obj : object
    ///     What :func:`array` takes, such as an array or nested lists; or a :class:`Table`, or a
    ///     table of another library, all of which must fit into a slot.
    /// timeout : float, optional
    ///     The most seconds to wait for a free slot; by default as long as it takes.
    ///
    /// Raises
    /// ------
    /// TimeoutError
    ///     If no slot became free in time.
    /// IndexError
    ///     If a slot is too small.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> channel = crossdock.Channel(4, 1000)
    /// >>> receiver, sender = channel.receiver(), channel.sender()
    /// >>> sender.send(crossdock.array([1, 2]))
    /// >>> receiver.receive().tolist()
    /// [1, 2]
    #[pyo3(signature = (obj, /, *, timeout=None))]
    fn send(&self, py: Python<'_>, obj: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        let refused = match table::table_in(obj)? {
            Ok(table) => return self.send_table(py, &table, timeout),
            Err(NotATable::Column(refused)) => return Err(refused),
            Err(NotATable::Other(refused)) => refused,
        };
        let source = match downcast(obj) {
            Some(own) => own.array.clone(),
            None if obj.is_instance_of::<PyList>() => nested::read(obj, None)?,
            None => protocols::lend_unmasked(obj).map_err(|error| refused.unwrap_or(error))?,
        };
        let loan = self.loaned(py, source.dtype(), source.shape(), timeout)?;
        detached(py, &source, |source| loan.array().assign(source, Casting::Checked)).raise()?;
        loan.send().raise()
    }
}

/// A slot on loan, as a context manager. `Sender.loan` returns it.
#[pyclass(frozen, module = "crossdock._channel")]
pub(crate) struct Loan(Mutex<Option<CoreLoan>>);

#[pymethods]
impl Loan {
    fn __enter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = lock(&self.0).as_ref().map(|loan| loan.array().clone());
        wrap(py, array.ok_or_else(ended)?)
    }

    #[pyo3(signature = (kind, _value, _traceback, /))]
    fn __exit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let loan = lock(&self.0).take();
        match kind.is_none() {
            true => loan.ok_or_else(ended)?.send_shared().raise(),
            false => Ok(()),
        }
    }
}

fn ended() -> PyErr {
    PyValueError::new_err("the loan has ended: its array was sent, or its slot given back")
}
