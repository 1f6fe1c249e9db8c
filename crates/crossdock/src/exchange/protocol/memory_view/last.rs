//! The last refusal of each thread, for callers whose functions return only true or false.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::advice::{Explanation, Words};
use crate::error::{Advice, Error};

/// The number of refusals stored so far, by all threads: a thread compares it to find which of its
/// own followed a point. It orders nothing else.
static REFUSALS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static LAST: RefCell<Option<KeptRefusal>> = const { RefCell::new(None) };
}

struct KeptRefusal {
    number: u64,
    why: Explanation,
    /// The text for C, once it was asked for.
    text: Option<CString>,
}

/// A point in the sequence of refusals.
#[derive(Clone, Copy)]
pub(super) struct Mark(u64);

/// The current point. This load is the only cost of reasons for calls that succeed.
#[inline]
pub(super) fn mark() -> Mark {
    Mark(REFUSALS.load(Ordering::Relaxed))
}

/// The last refusal of this thread, if it followed a mark of this thread.
#[cold]
pub(super) fn since(mark: Mark) -> Option<Explanation> {
    read(|kept| (kept.number >= mark.0).then(|| kept.why.clone())).flatten()
}

fn read<T>(read: impl FnOnce(&KeptRefusal) -> T) -> Option<T> {
    let last = |last: &RefCell<Option<KeptRefusal>>| last.try_borrow().ok()?.as_ref().map(read);
    LAST.try_with(last).ok().flatten()
}

/// Stores a refusal, which replaces the one before.
#[cold]
#[inline(never)]
pub(super) fn keep(error: &Error) {
    keep_refusal(error.to_explanation());
}

/// Stores a caller's reason as the thread's last refusal: for functions that a binding adds to
/// those of the hub.
#[cold]
pub fn keep_refusal(why: Explanation) {
    // A thread that is ending has no storage for it.
    let _ending = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            let number = REFUSALS.fetch_add(1, Ordering::Relaxed);
            *last = Some(KeptRefusal { number, why, text: None });
        }
    });
}

/// The reason for this thread's last refusal: of [`get`](super::hub::get),
/// [`register`](super::register) and the other functions that refuse, or of a
/// [`release`](super::hub::release) that did nothing. `None` if there was no refusal; successful
/// calls do not change it. In Rust's words.
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
    read(|kept| kept.why.in_words(Advice::in_rust).to_string())
}

/// As [`last_refusal`], in these words, as a C string that is valid until the next refusal of this
/// thread or its end; or null.
pub fn last_refusal_ptr(words: Words) -> *const c_char {
    let text = |last: &RefCell<Option<KeptRefusal>>| {
        let mut last = last.try_borrow_mut().ok()?;
        let KeptRefusal { why, text, .. } = last.as_mut()?;
        Some(text.get_or_insert_with(|| c_string(why, words)).as_ptr())
    };
    LAST.try_with(text).ok().flatten().unwrap_or(ptr::null())
}

fn c_string(why: &Explanation, words: Words) -> CString {
    let mut text = why.in_words(words).to_string().into_bytes();
    text.retain(|&byte| byte != 0);
    CString::new(text).unwrap_or_default()
}
