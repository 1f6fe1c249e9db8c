//! The number of threads that share large work.

use crossdock::bindings::threads;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::Raise as _;
use crate::parameters::integer;

/// Set the number of threads that share large copies, casts, fills and comparisons.
///
/// The thread that calls a function is one of them. The others start with the first large work and
/// end after half a second without.
///
/// In a process that was forked after the import, work stays on one thread, whatever the number.
///
/// Parameters
/// ----------
/// n : int
///     From 1 to 1024. With 1, no thread is started. By default it is the environment variable
///     ``CROSSDOCK_THREADS``, or the number of cores, at most 16.
///
/// Raises
/// ------
/// ValueError
///     If the number is not from 1 to 1024.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> before = crossdock.get_num_threads()
/// >>> crossdock.set_num_threads(1)
/// >>> crossdock.get_num_threads()
/// 1
/// >>> crossdock.set_num_threads(before)
#[pyfunction]
#[pyo3(signature = (n, /))]
pub(crate) fn set_num_threads(#[pyo3(from_py_with = integer)] n: isize) -> PyResult<()> {
    let number = usize::try_from(n)
        .map_err(|_| PyValueError::new_err(format!("{n} threads: the number must be positive")))?;
    threads::set_num_threads(number).raise()
}

/// The number of threads that share large copies, casts, fills and comparisons.
///
/// It is 1 in a process that was forked after the import.
///
/// Returns
/// -------
/// int
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.get_num_threads() >= 1
/// True
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    threads::num_threads()
}
