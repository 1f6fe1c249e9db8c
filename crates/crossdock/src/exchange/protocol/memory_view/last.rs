//! The last refusal of each thread, for callers whose functions return no more than a yes or no.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;

/// How many refusals were kept, by all threads: for a thread to tell which of its own came after a point. Nothing else is ordered by it.
static REFUSALS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static LAST: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

struct Kept {
    number: u64,
    text: CString,
}

/// A point in the row of refusals.
#[derive(Clone, Copy)]
pub(super) struct Mark(u64);

/// Now. Of all that is done for reasons, the one thing that those pay who are not refused: a load.
#[inline]
pub(super) fn mark() -> Mark {
    Mark(REFUSALS.load(Ordering::Relaxed))
}

/// Why this thread was refused last, if that was after a mark of its own.
#[cold]
pub(super) fn since(mark: Mark) -> Option<String> {
    read(|kept| (kept.number >= mark.0).then(|| kept.text.to_string_lossy().into_owned())).flatten()
}

fn read<T>(read: impl FnOnce(&Kept) -> T) -> Option<T> {
    let last = |last: &RefCell<Option<Kept>>| last.try_borrow().ok()?.as_ref().map(read);
    LAST.try_with(last).ok().flatten()
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
            let number = REFUSALS.fetch_add(1, Ordering::Relaxed);
            *last = Some(Kept { number, text });
        }
    });
}

/// Why this thread was refused last: what [`get`](super::hub::get), [`register`](super::register)
/// and the others that say no answered, or why [`release`](super::hub::release) did nothing. `None`
/// where nothing was ever refused; what succeeds meanwhile does not change it.
///
/// ```
/// use crossdock::bindings::memory_view::{self, View};
///
/// let mut view = View::EMPTY;
/// // SAFETY: a struct that the hub did not fill in is refused.
/// assert!(!unsafe { memory_view::release(&mut view) });
/// assert!(memory_view::last_refusal().unwrap().contains("released"));
/// ```
pub fn last_refusal() -> Option<String> {
    read(|kept| kept.text.to_string_lossy().into_owned())
}

/// As [`last_refusal`], as a C string that is valid until this thread is refused something else, or ends; or null.
pub fn last_refusal_ptr() -> *const c_char {
    read(|kept| kept.text.as_ptr()).unwrap_or(ptr::null())
}
