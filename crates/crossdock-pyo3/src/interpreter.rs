//! What all extensions of an interpreter share: the list of claims, in the interpreter's dictionary
//! for extensions.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyCFunction, PyDict, PyString};

use crate::capsule::{capsule, pointer};
use crate::claims::{NAME, TABLE, Table, end_those_of_other_threads};
use crate::entry::fetch;

/// The list of claims: that of the first extension that needed one.
pub(crate) fn claims(py: Python<'_>) -> PyResult<&'static Table> {
    static FOUND: PyOnceLock<&'static Table> = PyOnceLock::new();
    FOUND.get_or_try_init(py, || found(py)).copied()
}

fn found(py: Python<'_>) -> PyResult<&'static Table> {
    let shared = dictionary(py)?;
    let name = PyString::new(py, &NAME.to_string_lossy());
    let own = capsule(py, (&raw const TABLE).cast_mut(), Some(NAME), None)?;
    // The first one stays, whichever thread it came from.
    let first = shared.call_method1("setdefault", (name, &own))?;
    if first.is(&own) {
        at_fork(py)?;
    }
    // SAFETY: `first` is a live object, and `py` proves that this thread holds the GIL.
    let table = unsafe { pointer::<Table>(first.as_ptr(), Some(NAME)) };
    // SAFETY: a capsule of this name points to the static table of an extension (Table 1), which
    // CPython never unloads.
    Ok(table.map_or(&TABLE, |table| unsafe { &*table }))
}

/// Lets a forked child forget the claims of threads that it does not have.
fn at_fork(py: Python<'_>) -> PyResult<()> {
    // Not on Windows, where no process forks.
    let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? else { return Ok(()) };
    let clear = PyCFunction::new_closure(py, None, None, |_, _| end_those_of_other_threads())?;
    register.call((), Some(&[("after_in_child", clear)].into_py_dict(py)?))?;
    Ok(())
}

/// The interpreter's dictionary for extensions.
fn dictionary(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    // SAFETY: this thread holds the GIL, so it has a current interpreter.
    let interpreter = unsafe { ffi::PyInterpreterState_Get() };
    // SAFETY: `interpreter` is the current interpreter, and the GIL is held.
    let found = unsafe { ffi::PyInterpreterState_GetDict(interpreter) };
    // SAFETY: a borrowed reference to a dictionary that lives as long as the interpreter, or null.
    let found = unsafe { Bound::from_borrowed_ptr_or_opt(py, found) }.ok_or_else(|| fetch(py))?;
    Ok(found.cast_into()?)
}
