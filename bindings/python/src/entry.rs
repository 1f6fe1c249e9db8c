//! Entry of all slots: tracks which threads hold the GIL, and turns panics into exceptions.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::exceptions::{PyRuntimeError, PySystemError};
use pyo3::ffi;
use pyo3::prelude::*;

thread_local! {
    /// How many active calls from the interpreter this thread is in. It holds the GIL in each.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is known to hold the GIL. (It may hold it in ways that are not counted.)
pub(crate) fn is_attached() -> bool {
    DEPTH.with(|depth| depth.get() > 0)
}

/// Proof that this thread holds the GIL while the value lives.
pub(crate) struct Attached(());

impl Attached {
    /// # Safety
    ///
    /// The thread holds the GIL, and releases it only under an [`Away`] while the value lives.
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
    // SAFETY: PyO3's token proves that this thread holds the GIL; code that releases it meanwhile
    // creates an `Away` first.
    unsafe { Attached::new() }
}

/// Marks that this thread has released the GIL while the value lives, whatever calls it is in.
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

/// The value that a slot returns after an error.
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

/// Proof that the interpreter called this function, so that this thread holds the GIL.
///
/// # Invariants
///
/// 1. This thread holds the GIL while the value lives, except under an [`Away`].
#[derive(Clone, Copy)]
pub(crate) struct Called(());

impl Called {
    /// # Safety
    ///
    /// 1. The interpreter called the function that creates the value, with the GIL held.
    /// 2. The value does not outlive that call.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }

    /// Runs the body of a slot. An error or a panic becomes a Python exception.
    #[inline]
    pub(crate) fn enter<R: Failed>(self, body: impl FnOnce(Python<'_>) -> PyResult<R>) -> R {
        // SAFETY: Called 1: this thread holds the GIL while `self` lives, which is until this
        // function returns.
        let _attached = unsafe { Attached::new() };
        // PyO3 counts this attachment, too, so that dropped references are released at once.
        let run = || Python::attach(|py| body(py).unwrap_or_else(|error| raised(py, error)));
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| panicked(&*panic))
    }

    /// Like [`Called::enter`], for latency-critical slots. `body` neither creates nor drops PyO3
    /// references (`Py`, `PyErr`), except for an error that it passes to [`fail`].
    #[inline(always)]
    pub(crate) fn enter_fast<R: Failed>(self, body: impl FnOnce(Python<'_>) -> R) -> R {
        // SAFETY: Called 1: this thread holds the GIL while `self` lives, which is until this
        // function returns.
        let py = unsafe { Python::assume_attached() };
        catch_unwind(AssertUnwindSafe(|| body(py))).unwrap_or_else(|panic| panicked(&*panic))
    }
}

/// Runs the body of a function that foreign code calls without the GIL. A panic becomes an error.
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

/// The pending exception, or a `SystemError` if a call failed without one.
pub(crate) fn fetch(py: Python<'_>) -> PyErr {
    PyErr::take(py).unwrap_or_else(|| PySystemError::new_err("a call failed without an exception"))
}
