//! Entry of all slots: turns panics into exceptions; and whether a thread holds the GIL.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use pyo3::exceptions::{PyRuntimeError, PySystemError};
use pyo3::ffi;
use pyo3::prelude::*;

/// Whether this thread holds the GIL, which other libraries may take and release, too: its thread
/// state is the current one.
///
/// False where the interpreter has no function for that, and in a sub-interpreter.
pub(crate) fn is_attached() -> bool {
    static CURRENT: OnceLock<Option<CurrentState>> = OnceLock::new();
    let Some(current) = CURRENT.get_or_init(current_state) else { return false };
    // SAFETY: Python documents `PyGILState_GetThisThreadState` as callable on any thread; it
    // returns null for one that Python does not know.
    let own = unsafe { ffi::PyGILState_GetThisThreadState() };
    // SAFETY: the function reads one pointer, on any thread. The pointer is only compared: before
    // 3.12 it is the state of whichever thread holds the GIL.
    !own.is_null() && ptr::eq(own, unsafe { current() })
}

/// The current thread state, or null, without a check that there is one.
type CurrentState = unsafe extern "C" fn() -> *mut ffi::PyThreadState;

/// The interpreter's function, which every CPython has under one of two names, and which is not in
/// its stable interface.
#[cfg(unix)]
fn current_state() -> Option<CurrentState> {
    use std::ffi::{CStr, c_void};
    use std::mem::transmute;

    const NAMES: [&CStr; 2] = [c"PyThreadState_GetUnchecked", c"_PyThreadState_UncheckedGet"];
    let named = |name: &CStr| {
        // SAFETY: `name` is a C string.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
    };
    let found = NAMES.into_iter().map(named).find(|found| !found.is_null())?;
    // SAFETY: CPython defines both names as a function of this type.
    Some(unsafe { transmute::<*mut c_void, CurrentState>(found) })
}

/// The system has no list of the names in all libraries of a process: only CPython's is searched,
/// whose name has the version in it.
#[cfg(windows)]
fn current_state() -> Option<CurrentState> {
    use std::mem::transmute;

    use windows_sys::Win32::System::LibraryLoader::{
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
        GetModuleHandleExW, GetProcAddress,
    };
    use windows_sys::core::{PCSTR, s};

    const NAMES: [PCSTR; 2] = [s!("PyThreadState_GetUnchecked"), s!("_PyThreadState_UncheckedGet")];

    let mut library = ptr::null_mut();
    let how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    let inside = (&raw const ffi::PyBaseObject_Type).cast();
    // SAFETY: with the first flag the call accepts any address, and it writes one handle to
    // `library`.
    if unsafe { GetModuleHandleExW(how, inside, &raw mut library) } == 0 {
        return None;
    }
    // SAFETY: `library` is CPython's, which is never unloaded, and `name` is a C string.
    let found = NAMES.into_iter().find_map(|name| unsafe { GetProcAddress(library, name) })?;
    // SAFETY: CPython defines both names as a function of this type.
    Some(unsafe { transmute::<unsafe extern "system" fn() -> isize, CurrentState>(found) })
}

/// The value that a slot returns after an error.
pub(crate) trait Failed: Sized {
    const FAILED: Self;
}

impl Failed for *mut ffi::PyObject {
    const FAILED: Self = ptr::null_mut();
}

/// Of a call that may leave the answer to another function.
impl Failed for Option<*mut ffi::PyObject> {
    const FAILED: Self = Some(ptr::null_mut());
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
/// 1. This thread holds the GIL while the value lives, except where PyO3 releases it meanwhile.
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
