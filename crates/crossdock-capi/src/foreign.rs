//! What C points at: texts, lists of numbers, and handles that must not be null.

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;

use crate::error::{Failure, Result, XD_ERROR_BOUNDS, XD_ERROR_MALFORMED, XD_ERROR_UNSUPPORTED};
use crate::guard::answer;

/// The most axes that any array has, and that are read from C: as many as fit on the stack.
pub(crate) const MAX_RANK: usize = crossdock::layout::MAX_RANK;

/// What an argument points to.
///
/// # Errors
///
/// `argument`, with its name, for null.
#[inline]
pub(crate) fn given<T>(argument: Option<T>, name: &str) -> Result<T> {
    argument.ok_or_else(|| Failure::null(name))
}

/// A text in UTF-8 with a zero behind it.
///
/// # Errors
///
/// `argument` for null, `malformed` for what is not UTF-8.
///
/// # Safety
///
/// The pointer is null, or to bytes with a zero behind them that nobody writes for as long as the result is used.
pub(crate) unsafe fn text<'a>(ptr: *const c_char, name: &str) -> Result<&'a str> {
    if ptr.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: the caller's word.
    let text = unsafe { CStr::from_ptr(ptr) };
    text.to_str().map_err(|error| {
        let text = format!("the argument `{name}` is not UTF-8 from byte {} on", error.valid_up_to());
        Failure::of_kind(XD_ERROR_MALFORMED, text)
    })
}

/// So many items. The pointer to none may be null.
///
/// # Errors
///
/// `argument` for null, or for more bytes than can be addressed.
///
/// # Safety
///
/// The pointer is null, or to `len` initialised items that nobody writes for as long as the result is used.
pub(crate) unsafe fn items<'a, T>(ptr: *const T, len: usize, name: &str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if ptr.is_null() {
        return Err(Failure::null(name));
    }
    if !ptr.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::argument(format!("the argument `{name}` cannot be a list of {len} items")));
    }
    // SAFETY: not null, aligned and not too long, as just checked; the rest is the caller's word.
    Ok(unsafe { std::slice::from_raw_parts(ptr, len) })
}

/// Lengths of axes, or indices: numbers that must not be negative, on the stack.
pub(crate) struct Lengths {
    list: [usize; MAX_RANK],
    rank: usize,
}

impl Lengths {
    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.list[..self.rank]
    }
}

/// Numbers of axes that C counts with a sign.
///
/// # Errors
///
/// `argument` for null; `unsupported` for more axes than arrays have; `bounds` for a negative one, with its axis.
///
/// # Safety
///
/// As [`items`].
pub(crate) unsafe fn lengths(ptr: *const isize, rank: usize, name: &str) -> Result<Lengths> {
    if rank > MAX_RANK {
        let text = format!("{rank} axes are more than the {MAX_RANK} that arrays can have");
        return Err(Failure::of_kind(XD_ERROR_UNSUPPORTED, text));
    }
    // SAFETY: the caller's word.
    let given = unsafe { items(ptr, rank, name) }?;
    let mut lengths = Lengths { list: [0; MAX_RANK], rank };
    for (axis, (number, &given)) in lengths.list.iter_mut().zip(given).enumerate() {
        *number = usize::try_from(given).map_err(|_| {
            let text = format!("the argument `{name}` is negative at axis {axis}: {given}");
            Failure::of_kind(XD_ERROR_BOUNDS, text)
        })?;
    }
    Ok(lengths)
}

/// Sets an optional output to nothing, so that C can read it whatever happens next.
pub(crate) fn emptied<T>(out: Option<&mut MaybeUninit<T>>, nothing: T) -> Option<&mut T> {
    out.map(|out| out.write(nothing))
}

/// Puts an answer where C wants it, if it does.
pub(crate) fn put<T>(out: Option<&mut MaybeUninit<T>>, value: T) {
    if let Some(out) = out {
        out.write(value);
    }
}

/// A text that C owns from now on, and gives back to [`xd_string_free`].
///
/// # Errors
///
/// `malformed` for a text with a zero in it.
pub(crate) fn string(text: String) -> Result<*mut c_char> {
    match CString::new(text) {
        Ok(text) => Ok(text.into_raw()),
        Err(error) => {
            let at = error.nul_position();
            Err(Failure::of_kind(
                XD_ERROR_MALFORMED,
                format!("the text has a zero at byte {at}, where C's texts end"),
            ))
        }
    }
}

/// Frees a text that a function of this library gave. Null is fine.
///
/// # Safety
///
/// The text is null, or from a function that says so, and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_string_free(text: *mut c_char) {
    answer(|| {
        if !text.is_null() {
            // SAFETY: made by `string` (the caller's word).
            drop(unsafe { CString::from_raw(text) });
        }
    });
}
