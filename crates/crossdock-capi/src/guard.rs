//! The guard between C and the library: no panic unwinds into C, and every failure becomes a value.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crossdock::bindings::memory_view;

use crate::error::{Failure, Result, XD_ERROR_INTERNAL, XdError};

/// C's `xd_error_t **error`: null, or where the error is written. Success writes null, so that C
/// need not initialise it.
pub type ErrorOut<'a> = Option<&'a mut MaybeUninit<Option<NonNull<XdError>>>>;

/// Runs a function that can fail. A failure writes `error` and returns the zero value: null, 0,
/// false.
#[inline]
pub(crate) fn fallible<T: Default>(error: ErrorOut<'_>, body: impl FnOnce() -> Result<T>) -> T {
    let (value, thrown) = match caught(body) {
        Ok(value) => (value, None),
        Err(failure) => (T::default(), error.is_some().then(|| XdError::throw(&failure))),
    };
    if let Some(slot) = error {
        slot.write(thrown);
    }
    value
}

/// Runs a query, which reports no error: a panic returns the zero value.
#[inline]
pub(crate) fn answer<T: Default>(body: impl FnOnce() -> T) -> T {
    caught(|| Ok(body())).unwrap_or_default()
}

/// Runs a function of the original protocol, which reports failure as a zero value and stores the
/// reason for [`last_refusal`](memory_view::last_refusal).
#[inline]
pub(crate) fn refusable<T: Default>(body: impl FnOnce() -> Result<T>) -> T {
    caught(body).unwrap_or_else(|failure| {
        memory_view::keep_refusal(failure.into_explanation());
        T::default()
    })
}

/// As [`refusable`], where `answered` is `None`. The common case runs before the guard, where it
/// needs no frame of its own: it cannot panic, and returns `None` for every other case.
#[inline(always)]
pub(crate) fn or_refusable<T: Default>(answered: Option<T>, body: impl FnOnce() -> Result<T>) -> T {
    #[inline(never)]
    fn apart<T: Default>(body: impl FnOnce() -> Result<T>) -> T {
        refusable(body)
    }
    match answered {
        Some(answer) => answer,
        None => apart(body),
    }
}

/// C does not unwind: a panic becomes an error. (The panic hook has written its message to standard
/// error by then.)
#[inline]
fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    // Unwind safety: after a panic, state is reached through shared handles only, whose state is
    // atomic.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message");
    Failure::of_kind(XD_ERROR_INTERNAL, format!("internal error in Crossdock: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{xd_error_free, xd_error_kind};

    #[test]
    fn a_panic_becomes_an_error() {
        let mut slot = MaybeUninit::uninit();
        let result: usize = fallible(Some(&mut slot), || panic!("seven {}", "of nine"));
        // SAFETY: `fallible` writes the slot on every path, so it is initialised when that call has
        // returned.
        let thrown = unsafe { slot.assume_init() }.expect("an error");
        // SAFETY: `XdError::throw` leaked a box, or points to a static; only this test has the
        // pointer, and it frees the error below.
        let error = unsafe { thrown.as_ref() };
        assert_eq!((result, xd_error_kind(Some(error))), (0, XD_ERROR_INTERNAL));
        assert!(error.message().to_string_lossy().contains("seven of nine"));
        // SAFETY: the error came from `XdError::throw` and is freed only here; `error` is not used
        // after this line.
        unsafe { xd_error_free(thrown.as_ptr()) };
        assert_eq!(fallible::<usize>(None, || panic!("no error output")), 0);
        assert_eq!(answer::<usize>(|| panic!("no answer")), 0);
    }

    #[test]
    fn success_says_that_there_is_no_error() {
        let mut slot = MaybeUninit::uninit();
        assert_eq!(fallible(Some(&mut slot), || Ok(7)), 7);
        // SAFETY: `fallible` writes the slot on every path, so it is initialised when that call has
        // returned.
        assert!(unsafe { slot.assume_init() }.is_none());
    }
}
