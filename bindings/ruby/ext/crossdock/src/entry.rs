//! The door for functions that Ruby, or an extension in C, calls without anything of `magnus` between.

use std::panic::{AssertUnwindSafe, catch_unwind};

use magnus::Ruby;
use magnus::error::IntoError;
use magnus::rb_sys::resume_error;

use crate::error::Result;

/// Runs what may fail: errors and panics become exceptions, which are raised when nothing is left to drop.
///
/// To be called on a thread of Ruby's, by a function that has nothing to drop itself.
pub(crate) fn entered<T>(body: impl FnOnce(&Ruby) -> Result<T>) -> T {
    // SAFETY: called by Ruby, on a thread of its own.
    let ruby = unsafe { Ruby::get_unchecked() };
    let error =
        match catch_unwind(AssertUnwindSafe(|| body(&ruby).map_err(|failure| failure.into_error(&ruby)))) {
            Ok(Ok(value)) => return value,
            Ok(Err(error)) => error,
            Err(_) => magnus::Error::new(
                ruby.exception_fatal(),
                "the extension crossdock panicked: this is a defect of it",
            ),
        };
    // SAFETY: nothing is left on the stack that would have to be dropped.
    unsafe { resume_error(error) }
}
