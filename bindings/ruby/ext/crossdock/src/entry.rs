//! Entry of functions that Ruby, or an extension in C, calls without a wrapper of `magnus`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use magnus::Ruby;
use magnus::error::IntoError;
use magnus::rb_sys::resume_error;

use crate::error::Result;

/// Runs a fallible body. Errors and panics become exceptions, which are raised after everything was
/// dropped.
///
/// To be called on a Ruby thread, by a function that has nothing to drop itself.
pub(crate) fn entered<T>(body: impl FnOnce(&Ruby) -> Result<T>) -> T {
    // SAFETY: every caller is a function that Ruby, or an extension with Ruby's lock, calls on a
    // Ruby thread.
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
    // SAFETY: `body` and its result were dropped, and callers have nothing to drop, so the long
    // jump skips no destructor.
    unsafe { resume_error(error) }
}
