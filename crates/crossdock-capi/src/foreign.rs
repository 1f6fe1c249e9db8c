//! Arguments from C: texts, lists of numbers, and handles that must not be null.

use std::ffi::{CStr, CString, c_char};
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crossdock::Error;

use crate::error::{Failure, Result, XD_ERROR_BOUNDS, XD_ERROR_MALFORMED, XD_ERROR_UNSUPPORTED};
use crate::guard::answer;

/// The maximum rank of any array, and of any list of axes read from C, so that the list fits on the
/// stack.
pub(crate) const MAX_RANK: usize = crossdock::layout::MAX_RANK;

/// The object of an argument that must not be null.
///
/// # Errors
///
/// `argument`, with its name, for null.
#[inline]
pub(crate) fn given<T>(argument: Option<T>, name: impl fmt::Display) -> Result<T> {
    argument.ok_or_else(|| Failure::null(name))
}

/// Fails if a struct of Arrow is null, once an import has released the other one.
///
/// # Errors
///
/// As [`given`]: for `schema`, or for the second struct under the name of its argument.
pub(crate) fn check_both<S, A>(schema: *mut S, array: *mut A, name: &str) -> Result<()> {
    given(NonNull::new(schema), "schema")?;
    given(NonNull::new(array), name)?;
    Ok(())
}

/// # Errors
///
/// `argument` for bits of the argument with this name that are not among `known`.
pub(crate) fn known_bits(flags: u32, known: u32, name: &str) -> Result<()> {
    match flags & !known {
        0 => Ok(()),
        unknown => Err(Failure::argument(format!(
            "the argument `{name}`, {flags:#x}, has unknown bits {unknown:#x}"
        ))),
    }
}

/// A text in UTF-8 that ends with a zero.
///
/// # Errors
///
/// `argument` for null, `malformed` for what is not UTF-8.
///
/// # Safety
///
/// The pointer is null, or to a C string that nothing writes for as long as the result is used.
pub(crate) unsafe fn text<'a>(ptr: *const c_char, name: impl fmt::Display) -> Result<&'a str> {
    if ptr.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: `# Safety`: the pointer, which is not null by the check above, is to a C string that
    // nothing writes while the result is used.
    let text = unsafe { CStr::from_ptr(ptr) };
    text.to_str().map_err(|error| {
        let text = format!("the argument `{name}` is not UTF-8 from byte {} on", error.valid_up_to());
        Failure::of_kind(XD_ERROR_MALFORMED, text)
    })
}

/// As [`text`], or nothing for null.
///
/// # Errors
///
/// `malformed` for what is not UTF-8.
///
/// # Safety
///
/// As [`text`].
pub(crate) unsafe fn optional_text<'a>(ptr: *const c_char, name: &str) -> Result<Option<&'a str>> {
    if ptr.is_null() {
        return Ok(None);
    }
    // SAFETY: `# Safety` is that of `text`.
    unsafe { text(ptr, name) }.map(Some)
}

/// A list of `len` items. The pointer to an empty list may be null.
///
/// # Errors
///
/// `argument` for null, or for more bytes than can be addressed.
///
/// # Safety
///
/// The pointer is null, or to `len` initialised items that nothing writes for as long as the result
/// is used.
pub(crate) unsafe fn items<'a, T>(ptr: *const T, len: usize, name: &str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if ptr.is_null() {
        return Err(Failure::null(name));
    }
    if !ptr.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::argument(format!("the argument `{name}` cannot have {len} items")));
    }
    // SAFETY: the checks above show that the pointer is not null and aligned, and that the list is
    // at most `isize::MAX` bytes; `# Safety`: it is to `len` initialised items, unwritten while the
    // result is used.
    Ok(unsafe { std::slice::from_raw_parts(ptr, len) })
}

/// The name of an item of a list. Only an error writes it.
pub(crate) struct Item<'a>(pub(crate) &'a str, pub(crate) usize);

impl fmt::Display for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.0, self.1)
    }
}

/// Lengths of axes, or indices: non-negative numbers, on the stack.
pub(crate) struct Lengths {
    list: [usize; MAX_RANK],
    rank: usize,
}

impl Lengths {
    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.list[..self.rank]
    }
}

/// Numbers of axes, which are signed in C.
///
/// # Errors
///
/// `argument` for null; `unsupported` for more than [`MAX_RANK`] axes; `bounds` for a negative
/// number, with its axis.
///
/// # Safety
///
/// The pointer is null, or to `rank` initialised numbers that nothing writes during the call.
pub(crate) unsafe fn lengths(ptr: *const isize, rank: usize, name: &str) -> Result<Lengths> {
    if rank > MAX_RANK {
        let text = format!("{rank} axes were given; an array has at most {MAX_RANK}");
        return Err(Failure::of_kind(XD_ERROR_UNSUPPORTED, text));
    }
    // SAFETY: `# Safety`: the pointer is null, or to `rank` initialised numbers; the slice is used
    // during this call only.
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

/// Sets an optional output to nothing, so that C can read it if the function fails later.
pub(crate) fn emptied<T>(out: Option<&mut MaybeUninit<T>>, nothing: T) -> Option<&mut T> {
    out.map(|out| out.write(nothing))
}

/// Writes an optional output.
pub(crate) fn put<T>(out: Option<&mut MaybeUninit<T>>, value: T) {
    if let Some(out) = out {
        out.write(value);
    }
}

/// A text that C owns, and frees by [`xd_string_free`].
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
                format!("the text has a NUL at byte {at}, which ends text in C"),
            ))
        }
    }
}

/// The text of a value, which may be of any length, as [`string`] gives it.
///
/// # Errors
///
/// `malformed` for a text with a zero in it; `is_out_of_memory`.
pub(crate) fn shown(value: impl fmt::Display) -> Result<*mut c_char> {
    let mut text = Growing { text: String::new(), failed: None };
    let ended = write!(text, "{value}");
    match text.failed {
        Some(nbytes) => Err(Error::out_of_memory(nbytes, 1).into()),
        None => {
            ended.expect("only a lack of memory ends it");
            string(text.text)
        }
    }
}

/// A text that grows without aborting the process: where memory lacks, `failed` is the size that
/// was asked for.
struct Growing {
    text: String,
    failed: Option<usize>,
}

impl fmt::Write for Growing {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        // One byte more is for the NUL behind the text.
        if self.text.try_reserve(part.len() + 1).is_err() {
            self.failed = Some(self.text.len().saturating_add(part.len()));
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// Frees a text that a function of this library returned. Null is fine.
///
/// # Safety
///
/// The text is null, or was returned as a text that the caller owns, and is not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_string_free(text: *mut c_char) {
    answer(|| {
        if !text.is_null() {
            // SAFETY: `# Safety`: a function of this library returned the text, which `string` made
            // by `CString::into_raw`, and it is not freed yet.
            drop(unsafe { CString::from_raw(text) });
        }
    });
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crossdock::element::{DType, Value};
    use crossdock_testkit::status_of_child;

    const MIB: usize = 1 << 20;

    /// A text of 4 GiB.
    struct Long;

    impl fmt::Display for Long {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let part = "x".repeat(MIB);
            (0..4096).try_for_each(|_| f.write_str(&part))
        }
    }

    /// Limits the addresses of this process to 1 GiB.
    fn limit_addresses() -> bool {
        let limit = libc::rlimit { rlim_cur: 1 << 30, rlim_max: 1 << 30 };
        // SAFETY: `limit` is a record of the right type, which the call only reads.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) == 0 }
    }

    #[test]
    fn texts_and_elements_for_which_memory_lacks_are_errors() {
        let many = DType::subarray(&[64 * MIB], DType::U8).unwrap();
        let bytes = vec![0; many.itemsize()];
        let status = status_of_child(|| {
            let text = limit_addresses().then(|| shown(Long));
            let is_refused = matches!(text, Some(Err(Failure::Library(error))) if error.is_out_of_memory());
            is_refused && Value::read(&many, &bytes).is_err_and(|error| error.is_out_of_memory())
        });
        assert_eq!(status, 0);
    }
}
