//! Work that waits for others, without Ruby's lock.

use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use magnus::rb_sys::protect;
use rb_sys::VALUE;

use crate::error::Result;

struct Job<F, R> {
    work: Option<F>,
    result: Option<std::thread::Result<R>>,
}

/// Runs what touches nothing of Ruby's while other threads may run Ruby code.
///
/// # Errors
///
/// What was raised in this thread (`Thread#raise`, a signal) before the work began.
pub(crate) fn without_lock<F: FnOnce() -> R, R>(work: F) -> Result<R> {
    unsafe extern "C" fn run<F: FnOnce() -> R, R>(job: *mut c_void) -> *mut c_void {
        // SAFETY: the job below, which nobody else has meanwhile.
        let job = unsafe { &mut *job.cast::<Job<F, R>>() };
        if let Some(work) = job.work.take() {
            job.result = Some(catch_unwind(AssertUnwindSafe(work)));
        }
        core::ptr::null_mut()
    }
    let mut job = Job { work: Some(work), result: None };
    loop {
        let data = (&raw mut job).cast();
        // SAFETY: called before this returns, or not at all; this form of the function raises nothing.
        unsafe { rb_sys::rb_thread_call_without_gvl2(Some(run::<F, R>), data, None, data) };
        match job.result {
            Some(Ok(result)) => return Ok(result),
            Some(Err(panic)) => resume_unwind(panic),
            // Something was raised in this thread before it began: now it is.
            None => protect(|| {
                // SAFETY: with the lock; what it raises is caught.
                unsafe { rb_sys::rb_thread_check_ints() };
                rb_sys::Qnil as VALUE
            })?,
        };
    }
}
