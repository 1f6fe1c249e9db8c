//! Errors as values: a kind to branch on, and a sentence for people.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::fmt::{self, Display, Write};
use std::ptr::NonNull;

use crossdock::bindings::Explanation;
use crossdock::view::Refusal;
use crossdock::{Error, Rejected};

use crate::guard::answer;
use crate::handle::try_box;
use crate::words::{table_words, words};

/// Why a call failed, on its way to the guard.
pub(crate) enum Failure {
    /// The library returned an error.
    Library(Error),
    /// The library returned an error about a column or a batch.
    Table(Error),
    /// The call itself is wrong: a kind and a sentence.
    Call(i32, Cow<'static, str>),
}

/// A result whose error is reported to C.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// An argument that is none of the constants in the header.
    #[cold]
    pub(crate) fn argument(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Call(XD_ERROR_ARGUMENT, text.into())
    }

    /// A null pointer where an object is required.
    #[cold]
    pub(crate) fn null(name: impl std::fmt::Display) -> Self {
        Self::argument(format!("the argument `{name}` is null"))
    }

    /// A kind of the library, with a sentence of this crate.
    #[cold]
    pub(crate) fn of_kind(kind: i32, text: impl Into<Cow<'static, str>>) -> Self {
        Self::Call(kind, text.into())
    }

    /// An error about a column or a batch, whose advice names their functions.
    #[cold]
    pub(crate) fn of_table(error: Error) -> Self {
        Self::Table(error)
    }

    /// The fact and the advice, for the thread's last refusal.
    pub(crate) fn into_explanation(self) -> Explanation {
        match self {
            Self::Library(error) | Self::Table(error) => {
                Explanation::new(error.fact().to_string(), error.advice())
            }
            Self::Call(_, text) => text.into_owned().into(),
        }
    }

    fn kind(&self) -> i32 {
        match self {
            Self::Library(error) | Self::Table(error) => kind_of(error),
            Self::Call(kind, _) => *kind,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.in_words(words).fmt(f),
            Self::Table(error) => error.in_words(table_words).fmt(f),
            Self::Call(_, text) => f.write_str(text),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Library(refusal.into())
    }
}

impl<T> From<Rejected<T>> for Failure {
    fn from(rejected: Rejected<T>) -> Self {
        Self::Library(rejected.error)
    }
}

macro_rules! kinds {
    ($($name:ident = $number:literal, $word:literal $(, $asks:path)?;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: i32 = $number;
        )*

        /// The word for a kind; null for an unknown number.
        fn word(kind: i32) -> Option<&'static CStr> {
            match kind {
                $($name => Some($word),)*
                _ => None,
            }
        }

        /// The kind of an error of the library.
        pub(crate) fn kind_of(error: &Error) -> i32 {
            $($(if $asks(error) {
                return $name;
            })?)*
            XD_ERROR_INTERNAL
        }
    };
}

// In the order in which an error is tested: a fault is also an I/O error.
kinds! {
    XD_ERROR_NONE = 0, c"none";
    XD_ERROR_ARGUMENT = 1, c"argument";
    XD_ERROR_BOUNDS = 2, c"bounds", Error::is_bounds;
    XD_ERROR_OVERFLOW = 3, c"overflow", Error::is_overflow;
    XD_ERROR_SHAPE = 4, c"shape", Error::is_shape;
    XD_ERROR_DTYPE = 5, c"dtype", Error::is_dtype;
    XD_ERROR_VALUE = 6, c"value", Error::is_value;
    XD_ERROR_LAYOUT = 7, c"layout", Error::is_layout;
    XD_ERROR_ALIGNMENT = 8, c"alignment", Error::is_alignment;
    XD_ERROR_READ_ONLY = 9, c"read-only", Error::is_read_only;
    XD_ERROR_CONFLICT = 10, c"conflict", Error::is_conflict;
    XD_ERROR_CLOSED = 11, c"closed", Error::is_closed;
    XD_ERROR_EXHAUSTED = 12, c"exhausted", Error::is_exhausted;
    XD_ERROR_PLACE = 13, c"place", Error::is_place;
    XD_ERROR_DEVICE = 14, c"device", Error::is_device;
    XD_ERROR_REFUSED = 15, c"refused", Error::is_refused;
    XD_ERROR_MALFORMED = 16, c"malformed", Error::is_malformed;
    XD_ERROR_UNSUPPORTED = 17, c"unsupported", Error::is_unsupported;
    XD_ERROR_FAULT = 18, c"fault", Error::is_fault;
    XD_ERROR_IO = 19, c"io", Error::is_io;
    XD_ERROR_OUT_OF_MEMORY = 20, c"out of memory", Error::is_out_of_memory;
    XD_ERROR_INTERNAL = 21, c"internal";
}

/// `xd_error_t`: an error that C owns.
pub struct XdError {
    kind: i32,
    /// Ends with a zero, and has no other.
    message: Cow<'static, [u8]>,
}

/// Returned where there is no memory for an error; never freed.
static OUT_OF_MEMORY: XdError = XdError {
    kind: XD_ERROR_OUT_OF_MEMORY,
    message: Cow::Borrowed(b"out of memory, even for saying of what\0"),
};

impl XdError {
    /// The failure as an error that C owns: a box, or the static for memory exhaustion.
    #[cold]
    pub(crate) fn throw(failure: &Failure) -> NonNull<Self> {
        let mut text = Text(Vec::new());
        let error = match write!(text, "{failure}\0") {
            Ok(()) => try_box(Self { kind: failure.kind(), message: Cow::Owned(text.0) }),
            Err(fmt::Error) => return NonNull::from(&OUT_OF_MEMORY),
        };
        error.map_or(NonNull::from(&OUT_OF_MEMORY), |error| NonNull::from(Box::leak(error)))
    }

    /// The sentence.
    pub fn message(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.message).unwrap_or_default()
    }
}

/// A text that grows by fallible allocation.
struct Text(Vec<u8>);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The kind of an error; `XD_ERROR_NONE` for null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_error_kind(error: Option<&XdError>) -> i32 {
    answer(|| error.map_or(XD_ERROR_NONE, |error| error.kind))
}

/// The sentence of an error; empty for null. Valid as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn xd_error_message(error: Option<&XdError>) -> *const c_char {
    answer(|| error.map_or(c"", XdError::message).as_ptr())
}

/// One word for a kind of error; null for an unknown number.
#[unsafe(no_mangle)]
pub extern "C" fn xd_error_kind_name(kind: i32) -> *const c_char {
    answer(|| word(kind).map_or(std::ptr::null(), CStr::as_ptr))
}

/// Frees an error. Null is fine.
///
/// # Safety
///
/// The error is null, or was returned by a function of this library and is not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_error_free(error: *mut XdError) {
    answer(|| {
        if !error.is_null() && !std::ptr::eq(error, &OUT_OF_MEMORY) {
            // SAFETY: `# Safety` says that a function of this library returned it, and the checks
            // above exclude null and the static: any other error is a box that `throw` leaked.
            drop(unsafe { Box::from_raw(error) });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock::buffer::Buffer;

    #[test]
    fn the_library_s_kinds_have_numbers_and_words() {
        let error = Buffer::from_vec(vec![0u8; 4]).unwrap().slice(3..9).unwrap_err();
        let text = error.to_string();
        let thrown = XdError::throw(&error.into());
        // SAFETY: `throw` returned it, as a leaked box or the static; only this test has the
        // pointer, and it frees the error below.
        let error = unsafe { thrown.as_ref() };
        assert_eq!(xd_error_kind(Some(error)), XD_ERROR_BOUNDS);
        assert_eq!(error.message().to_str().unwrap(), text);
        // SAFETY: the error came from `throw` and is freed only here; `error` is not used after
        // this line.
        unsafe { xd_error_free(thrown.as_ptr()) };
        for kind in XD_ERROR_NONE..=XD_ERROR_INTERNAL {
            assert!(word(kind).is_some(), "{kind}");
        }
        assert!(xd_error_kind_name(99).is_null());
    }

    #[test]
    fn what_is_out_of_memory_is_never_freed() {
        // SAFETY: `xd_error_free` compares the pointer with the static first, and neither reads nor
        // frees it.
        unsafe { xd_error_free(&raw const OUT_OF_MEMORY as *mut XdError) };
        assert_eq!(OUT_OF_MEMORY.message().count_bytes() + 1, OUT_OF_MEMORY.message.len());
    }
}
