//! Runs blocking work without Ruby's lock.

use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use magnus::rb_sys::protect;
use rb_sys::VALUE;

use crate::error::Result;

struct Job<F, R> {
    work: Option<F>,
    result: Option<std::thread::Result<R>>,
}

/// Runs work that uses no Ruby object, while other threads may run Ruby code.
///
/// # Errors
///
/// An exception that was raised in this thread (`Thread#raise`, a signal) before the work began.
pub(crate) fn without_lock<F: FnOnce() -> R, R>(work: F) -> Result<R> {
    unsafe extern "C" fn run<F: FnOnce() -> R, R>(job: *mut c_void) -> *mut c_void {
        // SAFETY: `job` is the local variable of `without_lock`, which waits for this function and
        // does not use it meanwhile.
        let job = unsafe { &mut *job.cast::<Job<F, R>>() };
        if let Some(work) = job.work.take() {
            job.result = Some(catch_unwind(AssertUnwindSafe(work)));
        }
        core::ptr::null_mut()
    }
    let mut job = Job { work: Some(work), result: None };
    loop {
        let data = (&raw mut job).cast();
        // SAFETY: `data` points to a local variable that outlives the call; `run` gets the type
        // that it expects, and the function raises nothing.
        unsafe { rb_sys::rb_thread_call_without_gvl2(Some(run::<F, R>), data, None, data) };
        match job.result {
            Some(Ok(result)) => return Ok(result),
            Some(Err(panic)) => resume_unwind(panic),
            // Something interrupted the thread before the work began, and is raised now.
            None => protect(|| {
                // SAFETY: this thread holds Ruby's lock again, and `protect` catches what the
                // function raises.
                unsafe { rb_sys::rb_thread_check_ints() };
                rb_sys::Qnil as VALUE
            })?,
        };
    }
}
