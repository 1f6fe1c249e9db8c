//! The library's errors as Ruby exceptions, of the class that a Ruby program expects.

use std::error::Error as _;
use std::path::Path;
use std::{fmt, io};

use crossdock::view::{Offer, Reason, Refusal, Request};
use magnus::error::{ErrorType, IntoError};
use magnus::value::{Lazy, ReprValue};
use magnus::{Error, ExceptionClass, Integer, IntoValue, RModule, Ruby, Value, prelude::*};

use crate::words::words;

/// The system's error number for a lack of memory.
pub(crate) const ENOMEM: i32 = 12;

/// `Crossdock`.
pub(crate) static CROSSDOCK: Lazy<RModule> = Lazy::new(|ruby| {
    // The constant and its value are this extension's.
    ruby.class_object().const_get("Crossdock").unwrap_or_else(|_| ruby.module_kernel())
});

static ERROR: Lazy<ExceptionClass> = Lazy::new(|ruby| class(ruby, "Error"));
static REFUSAL: Lazy<ExceptionClass> = Lazy::new(|ruby| class(ruby, "Refusal"));

/// Looks up the classes that are used later.
pub(crate) fn init(ruby: &Ruby) {
    Lazy::force(&CROSSDOCK, ruby);
    Lazy::force(&ERROR, ruby);
    Lazy::force(&REFUSAL, ruby);
}

fn class(ruby: &Ruby, name: &str) -> ExceptionClass {
    ruby.get_inner(&CROSSDOCK).const_get(name).unwrap_or_else(|_| ruby.exception_standard_error())
}

/// The reason why a method fails: an error of the library, or an exception that Ruby raised
/// already.
pub(crate) enum Failure {
    Ours(crossdock::Error),
    Refused(Refusal),
    Raised(Error),
    /// A system error, and the object that it concerns.
    System(io::Error, &'static str),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<crossdock::Error> for Failure {
    fn from(error: crossdock::Error) -> Self {
        Self::Ours(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Raised(error)
    }
}

impl Failure {
    /// A wrong type: Ruby's `TypeError`.
    pub(crate) fn of_type(ruby: &Ruby, text: impl Into<String>) -> Self {
        Self::Raised(Error::new(ruby.exception_type_error(), text.into()))
    }

    /// A wrong argument: Ruby's `ArgumentError`.
    pub(crate) fn argument(ruby: &Ruby, text: impl Into<String>) -> Self {
        Self::Raised(Error::new(ruby.exception_arg_error(), text.into()))
    }

    /// A number that an element of that dtype cannot represent: Ruby's `RangeError`.
    pub(crate) fn misfit(
        ruby: &Ruby,
        number: impl ReprValue + fmt::Display,
        dtype: impl fmt::Display,
    ) -> Self {
        const LONGEST: usize = 40;
        let digits = number.to_string();
        let text = match digits.len() {
            0..=LONGEST => format!("{digits} does not fit {dtype}"),
            length if Integer::from_value(number.as_value()).is_some() => {
                format!("an Integer of {length} digits does not fit {dtype}")
            }
            length => format!("an instance of {} of {length} digits does not fit {dtype}", number.class()),
        };
        Self::Raised(Error::new(ruby.exception_range_error(), text))
    }

    /// The same error with the place of its cause in front: `element [1, 0]: …`. Only errors that
    /// concern a value are changed.
    pub(crate) fn within(self, ruby: &Ruby, place: impl fmt::Display) -> Self {
        let concerned = [
            ruby.exception_type_error(),
            ruby.exception_arg_error(),
            ruby.exception_range_error(),
            ruby.exception_encoding_error(),
        ];
        let error = self.into_error(ruby);
        if !concerned.iter().any(|&class| error.is_kind_of(class)) {
            return Self::Raised(error);
        }
        Self::Raised(placed(error, place))
    }

    /// The library's error with the name of a file in front.
    pub(crate) fn of_file(ruby: &Ruby, error: &crossdock::Error, path: &Path) -> Self {
        let name = path.display();
        Self::Raised(match errno(error) {
            Some(errno) => system_call(ruby, errno, &format!("{name}: {}", text(error))),
            None => placed(ours(ruby, error), name),
        })
    }

    /// A failed allocation of this many bytes: Ruby's `NoMemoryError`.
    pub(crate) fn no_memory(ruby: &Ruby, nbytes: usize) -> Self {
        Self::Raised(Error::new(ruby.exception_no_mem_error(), format!("no memory for {nbytes} bytes")))
    }

    /// An index out of range: Ruby's `IndexError`.
    pub(crate) fn index(ruby: &Ruby, text: impl Into<String>) -> Self {
        Self::Raised(Error::new(ruby.exception_index_error(), text.into()))
    }

    /// A refused export or import: `Crossdock::Refusal`.
    pub(crate) fn refused(ruby: &Ruby, text: impl Into<String>) -> Self {
        Self::Raised(Error::new(ruby.get_inner(&REFUSAL), text.into()))
    }

    /// Whether it is a `Crossdock::Refusal`, also one that Ruby code raised.
    pub(crate) fn is_refusal(&self, ruby: &Ruby) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::Raised(error) => error.is_kind_of(ruby.get_inner(&REFUSAL)),
            Self::Ours(_) | Self::System(..) => false,
        }
    }

    /// The library's error, also if it is the cause of a refusal.
    pub(crate) fn cause(&self) -> Option<&crossdock::Error> {
        match self {
            Self::Ours(error) => match refusal_behind(error) {
                Some(refusal) => failed(refusal),
                None => Some(error),
            },
            Self::Refused(refusal) => failed(refusal),
            Self::Raised(_) | Self::System(..) => None,
        }
    }

    /// An error that concerns the library alone: `Crossdock::Error`.
    pub(crate) fn ours(ruby: &Ruby, text: impl Into<String>) -> Self {
        Self::Raised(Error::new(ruby.get_inner(&ERROR), text.into()))
    }
}

impl IntoError for Failure {
    fn into_error(self, ruby: &Ruby) -> Error {
        match self {
            Self::Raised(error) => error,
            Self::Refused(refusal) => refused(ruby, &refusal),
            Self::Ours(error) => ours(ruby, &error),
            Self::System(error, text) => system_call(ruby, error.raw_os_error().unwrap_or(0), text),
        }
    }
}

fn refusal_behind(error: &crossdock::Error) -> Option<&Refusal> {
    error.source().and_then(|source| source.downcast_ref::<Refusal>())
}

/// The same error with a position in front.
fn placed(error: Error, place: impl fmt::Display) -> Error {
    match error.error_type() {
        ErrorType::Error(class, text) => Error::new(*class, format!("{place}: {text}")),
        ErrorType::Exception(exception) => {
            let text = format!("{place}: {exception}");
            match exception.funcall::<_, _, magnus::Exception>("exception", (text,)) {
                Ok(placed) => placed.into(),
                Err(_) => error,
            }
        }
        ErrorType::Jump(_) => error,
    }
}

/// The error behind a failed export or import.
fn failed(refusal: &Refusal) -> Option<&crossdock::Error> {
    match refusal.reason() {
        Reason::Failed(error) => Some(error),
        _ => None,
    }
}

/// The text of an error, with the advice in Ruby's words.
pub(crate) fn text(error: &crossdock::Error) -> String {
    error.in_words(words).to_string()
}

fn ours(ruby: &Ruby, error: &crossdock::Error) -> Error {
    if let Some(refusal) = refusal_behind(error) {
        return refused(ruby, refusal);
    }
    if let Some(errno) = errno(error) {
        return system_call(ruby, errno, &text(error));
    }
    let class = if error.is_bounds() {
        ruby.exception_index_error()
    } else if error.is_overflow() || error.is_value() {
        ruby.exception_range_error()
    } else if error.is_shape() {
        ruby.exception_arg_error()
    } else if error.is_dtype() {
        ruby.exception_type_error()
    } else if error.is_read_only() {
        ruby.exception_frozen_error()
    } else if error.is_closed() || error.is_io() {
        ruby.exception_io_error()
    } else if error.is_out_of_memory() {
        ruby.exception_no_mem_error()
    } else if error.is_refused() || error.is_conflict() {
        ruby.get_inner(&REFUSAL)
    } else {
        ruby.get_inner(&ERROR)
    };
    Error::new(class, text(error))
}

/// The system's error number, if a system call failed.
pub(crate) fn errno(error: &crossdock::Error) -> Option<i32> {
    if !error.is_io() {
        return None;
    }
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return io.raw_os_error();
        }
        source = error.source();
    }
    None
}

/// `Errno::ENOENT` and the like; for a lack of memory `NoMemoryError`, as elsewhere in Ruby.
fn system_call(ruby: &Ruby, errno: i32, text: &str) -> Error {
    if errno == ENOMEM {
        return Error::new(ruby.exception_no_mem_error(), text.to_owned());
    }
    let made: std::result::Result<magnus::Exception, Error> =
        ruby.exception_system_call_error().funcall("new", (text, errno));
    made.map_or_else(|error| error, Error::from)
}

/// A `Crossdock::Refusal` with what was requested and what was offered.
///
/// (A lack of memory or of descriptors is raised as elsewhere: `NoMemoryError`, `Errno::EMFILE`.)
fn refused(ruby: &Ruby, refusal: &Refusal) -> Error {
    if let Some(error) = failed(refusal)
        && (error.is_out_of_memory() || errno(error).is_some())
    {
        return ours(ruby, error);
    }
    with_details(ruby, refusal).unwrap_or_else(|error| error)
}

fn with_details(ruby: &Ruby, refusal: &Refusal) -> std::result::Result<Error, Error> {
    let exception = ruby.get_inner(&REFUSAL).new_instance((refusal.in_words(words).to_string(),))?;
    let asked = refusal.asked().map(|asked| asked_as_hash(ruby, asked)).transpose()?;
    let offer = refusal.offer().map(|offer| offer_as_hash(ruby, offer)).transpose()?;
    exception.funcall::<_, _, Value>("fill_in", (asked, offer, refusal.would_copy()))?;
    Ok(exception.into())
}

fn asked_as_hash(ruby: &Ruby, asked: &Request) -> std::result::Result<Value, Error> {
    let hash = ruby.hash_new();
    hash.aset(ruby.to_symbol("lease"), ruby.to_symbol(asked.lease().to_string()))?;
    if let Some(order) = asked.wanted_order() {
        hash.aset(ruby.to_symbol("order"), order.to_string())?;
    }
    if let Some(dtype) = asked.wanted_dtype() {
        hash.aset(ruby.to_symbol("dtype"), dtype.to_string())?;
    }
    Ok(hash.as_value())
}

fn offer_as_hash(ruby: &Ruby, offer: &Offer) -> std::result::Result<Value, Error> {
    let hash = ruby.hash_new();
    hash.aset(ruby.to_symbol("dtype"), offer.dtype.to_string())?;
    hash.aset(ruby.to_symbol("shape"), offer.shape.clone().into_value_with(ruby))?;
    hash.aset(ruby.to_symbol("strides"), offer.strides.clone().into_value_with(ruby))?;
    hash.aset(ruby.to_symbol("readonly"), offer.readonly)?;
    Ok(hash.as_value())
}
