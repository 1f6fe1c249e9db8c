//! The last refusal of each thread, for callers whose functions return no more than a yes or no.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt;
use std::ptr;

use crate::error::Error;

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Keeps the text of a refusal, which replaces the one before.
#[cold]
#[inline(never)]
pub(super) fn keep(error: &Error) {
    keep_refusal(error);
}

/// Keeps a reason of the caller's as that of the thread's last refusal: for who puts functions of his own beside those of the hub.
#[cold]
pub fn keep_refusal(why: &dyn fmt::Display) {
    let mut text = why.to_string().into_bytes();
    text.retain(|&byte| byte != 0);
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending has no place for it any more.
    let _ending = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = Some(text);
        }
    });
}

/// Why this thread was refused last: what [`get`](super::get), [`register`](super::register) and the others that say no answered, or
/// why [`release`](super::release) did nothing. `None` where nothing was ever refused; what succeeds meanwhile does not change it.
///
/// ```
/// use crossdock::exchange::protocol::memory_view::{self, View};
///
/// let mut view = View::EMPTY;
/// // SAFETY: a struct that the hub did not fill in is refused.
/// assert!(!unsafe { memory_view::release(&mut view) });
/// assert!(memory_view::last_refusal().unwrap().contains("released"));
/// ```
pub fn last_refusal() -> Option<String> {
    let text = |last: &RefCell<Option<CString>>| {
        let last = last.try_borrow().ok()?;
        last.as_ref().map(|text| text.to_string_lossy().into_owned())
    };
    LAST.try_with(text).ok().flatten()
}

/// As [`last_refusal`], as a C string that is valid until this thread is refused something else, or ends; or null.
pub fn last_refusal_ptr() -> *const c_char {
    let text = |last: &RefCell<Option<CString>>| {
        let last = last.try_borrow().ok()?;
        last.as_ref().map(|text| text.as_ptr())
    };
    LAST.try_with(text).ok().flatten().unwrap_or(ptr::null())
}
