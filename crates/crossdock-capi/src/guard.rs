//! The one door between C and the library.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crossdock::bindings::memory_view;

use crate::error::{Failure, Result, XD_ERROR_INTERNAL, XdError};

/// C's `xd_error_t **error`: null, or where the error goes. Null is put there where there is none, so that it need not be
/// initialised.
pub type ErrorOut<'a> = Option<&'a mut MaybeUninit<Option<NonNull<XdError>>>>;

/// Runs what can fail. Where it does, the error goes to `error`, and what C gets is nothing: null, 0, false.
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

/// Runs what has no error to give: a query, which answers null with nothing.
#[inline]
pub(crate) fn answer<T: Default>(body: impl FnOnce() -> T) -> T {
    caught(|| Ok(body())).unwrap_or_default()
}

/// Runs what says no by nothing, and why by [`last_refusal`](memory_view::last_refusal): the functions of the original protocol.
#[inline]
pub(crate) fn refusable<T: Default>(body: impl FnOnce() -> Result<T>) -> T {
    caught(body).unwrap_or_else(|failure| {
        memory_view::keep_refusal(&failure);
        T::default()
    })
}

/// As [`refusable`] for what has no answer yet. What nearly every call does stands before the door, where it needs no frame of its own:
/// it cannot panic, and gives up where it does not know.
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

/// C does not unwind: a panic is an error there. (Its message was written to standard error by then, as panics do.)
#[inline]
fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves behind is reached again through shared handles alone, whose state is in atomic words.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message");
    Failure::of_kind(XD_ERROR_INTERNAL, format!("a defect of Crossdock: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{xd_error_free, xd_error_kind};

    #[test]
    fn a_panic_becomes_an_error() {
        let mut slot = MaybeUninit::uninit();
        let result: usize = fallible(Some(&mut slot), || panic!("seven {}", "of nine"));
        // SAFETY: `fallible` wrote it.
        let thrown = unsafe { slot.assume_init() }.expect("an error");
        // SAFETY: just made, and nobody else has it.
        let error = unsafe { thrown.as_ref() };
        assert_eq!((result, xd_error_kind(Some(error))), (0, XD_ERROR_INTERNAL));
        assert!(error.message().to_string_lossy().contains("seven of nine"));
        // SAFETY: as above; it is not used any more.
        unsafe { xd_error_free(thrown.as_ptr()) };
        assert_eq!(fallible::<usize>(None, || panic!("nobody listens")), 0);
        assert_eq!(answer::<usize>(|| panic!("nobody can")), 0);
    }

    #[test]
    fn success_says_that_there_is_no_error() {
        let mut slot = MaybeUninit::uninit();
        assert_eq!(fallible(Some(&mut slot), || Ok(7)), 7);
        // SAFETY: `fallible` wrote it.
        assert!(unsafe { slot.assume_init() }.is_none());
    }
}
