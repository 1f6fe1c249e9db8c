//! The door of all slots: what comes from the interpreter enters here, and no panic leaves.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::exceptions::{PyRuntimeError, PySystemError};
use pyo3::ffi;
use pyo3::prelude::*;

thread_local! {
    /// How many calls from the interpreter this thread is in, each of which holds it.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread holds the interpreter for sure. (It may hold it without our knowing.)
pub(crate) fn is_attached() -> bool {
    DEPTH.with(|depth| depth.get() > 0)
}

/// This thread holds the interpreter while it lives.
pub(crate) struct Attached(());

impl Attached {
    /// # Safety
    ///
    /// The thread holds the interpreter, and does not let go of it while this lives, but under an [`Away`].
    #[inline]
    pub(crate) unsafe fn new() -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self(())
    }
}

impl Drop for Attached {
    #[inline]
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// For functions that PyO3 calls.
pub(crate) fn attached(_: Python<'_>) -> Attached {
    // SAFETY: PyO3's token says so; who lets go of the interpreter meanwhile says that as well, by `Away`.
    unsafe { Attached::new() }
}

/// This thread has let go of the interpreter while this lives, whatever calls it is in.
pub(crate) struct Away(usize);

impl Away {
    pub(crate) fn new() -> Self {
        Self(DEPTH.with(|depth| depth.replace(0)))
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(self.0));
    }
}

/// What a slot returns when it failed.
pub(crate) trait Failed: Sized {
    const FAILED: Self;
}

impl Failed for *mut ffi::PyObject {
    const FAILED: Self = ptr::null_mut();
}

impl Failed for c_int {
    const FAILED: Self = -1;
}

impl Failed for isize {
    const FAILED: Self = -1;
}

/// The interpreter has called: proof that this thread holds it.
///
/// # Invariants
///
/// 1. It does so for as long as this lives, but under an [`Away`].
#[derive(Clone, Copy)]
pub(crate) struct Called(());

impl Called {
    /// # Safety
    ///
    /// A function that the interpreter has called makes it, and keeps it to itself.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }

    /// Runs what a slot does. An error, or a panic, becomes the interpreter's exception.
    #[inline]
    pub(crate) fn enter<R: Failed>(self, body: impl FnOnce(Python<'_>) -> PyResult<R>) -> R {
        // SAFETY: Called 1.
        let _attached = unsafe { Attached::new() };
        // Counted by PyO3 as well, so that references which go are given back at once.
        let run = || Python::attach(|py| body(py).unwrap_or_else(|error| raised(py, error)));
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| panicked(&*panic))
    }

    /// As [`Called::enter`], for what has no time to lose. `body` neither makes nor drops references of PyO3's (`Py`, `PyErr`), but for
    /// an error that goes to [`fail`].
    #[inline(always)]
    pub(crate) fn enter_fast<R: Failed>(self, body: impl FnOnce(Python<'_>) -> R) -> R {
        // SAFETY: Called 1.
        let py = unsafe { Python::assume_attached() };
        catch_unwind(AssertUnwindSafe(|| body(py))).unwrap_or_else(|panic| panicked(&*panic))
    }
}

/// Runs what a function does that others call without the interpreter. A panic becomes an error.
pub(crate) fn guarded<T>(body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(defect(&*panic)))
}

/// Raises an error out of [`Called::enter_fast`].
#[cold]
#[inline(never)]
pub(crate) fn fail<R: Failed>(error: impl FnOnce(Python<'_>) -> PyErr) -> R {
    Python::attach(|py| raised(py, error(py)))
}

#[cold]
fn raised<R: Failed>(py: Python<'_>, error: PyErr) -> R {
    error.restore(py);
    R::FAILED
}

#[cold]
fn panicked<R: Failed>(panic: &(dyn Any + Send)) -> R {
    let text = defect(panic);
    Python::attach(|py| {
        PyRuntimeError::new_err(text).restore(py);
    });
    R::FAILED
}

fn defect(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("a defect of crossdock: {}", text.unwrap_or("it panicked"))
}

/// What an exception is, where a call failed without saying why.
pub(crate) fn fetch(py: Python<'_>) -> PyErr {
    PyErr::take(py).unwrap_or_else(|| PySystemError::new_err("a call failed without an exception"))
}
