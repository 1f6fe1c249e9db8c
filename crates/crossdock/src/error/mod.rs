//! The error type. The kind is private and tested by predicates; the text has the numbers, and
//! advice is a value beside it.
//!
//! Reasons: `DESIGN.md`, "An error keeps its kind private".

use std::fmt;

use advice::InWords;
pub(crate) use advice::{Advice, Explanation};

pub(crate) mod advice;
pub(crate) mod similar;

/// What went wrong, in one sentence with its numbers; and what to do about it, where that is known.
///
/// Predicates ([`Error::is_bounds`] and its siblings) test the kind, so a kind can be split later
/// without breaking callers. If a lease was in the way, [`std::error::Error::source`] is the
/// [`Conflict`](crate::memory::Conflict).
///
/// ```
/// use crossdock::buffer::Buffer;
///
/// let buffer = Buffer::from_vec(vec![1u8, 2, 3])?;
/// let error = buffer.slice(2..9).unwrap_err();
/// assert!(error.is_bounds());
/// assert!(error.to_string().contains('9'));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct Error(ErrorRepr);

enum ErrorRepr {
    /// A variant of its own, since creating it must not allocate.
    OutOfMemory {
        nbytes: usize,
        align: usize,
    },
    Full(Box<ErrorDetails>),
}

struct ErrorDetails {
    kind: Kind,
    text: ErrorText,
    /// Rendered after the text, by each language in its own words.
    advice: Option<Advice>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

enum ErrorText {
    Words(String),
    /// Formatted when it is displayed, so that creating it allocates only its box.
    Limit {
        limit: u64,
        used: u64,
        requested: u64,
    },
}

/// The kinds of [`Error`]. Private to the crate: the public interface is the predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bounds,
    Overflow,
    Shape,
    DType,
    Value,
    Layout,
    Alignment,
    ReadOnly,
    Conflict,
    Closed,
    Exhausted,
    Place,
    Device,
    Refused,
    Malformed,
    Unsupported,
    Io,
    Fault,
    OutOfMemory,
}

/// A [`Result`](std::result::Result) whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self(ErrorRepr::Full(Box::new(ErrorDetails {
            kind,
            text: ErrorText::Words(text.into()),
            advice: None,
            source: None,
        })))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn caused(
        kind: Kind,
        text: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self(ErrorRepr::Full(Box::new(ErrorDetails {
            kind,
            text: ErrorText::Words(text.into()),
            advice: None,
            source: Some(source.into()),
        })))
    }

    /// `nbytes` bytes at a multiple of `align` could not be allocated. Does not allocate.
    #[cold]
    #[doc(hidden)]
    pub fn out_of_memory(nbytes: usize, align: usize) -> Self {
        Self(ErrorRepr::OutOfMemory { nbytes, align })
    }

    /// As [`Error::out_of_memory`], with a driver's text: for implementers of a device.
    #[cold]
    pub fn no_memory(text: impl Into<String>) -> Self {
        Self::new(Kind::OutOfMemory, text)
    }

    /// A device, or work on it, failed: for implementers of a device. `text` is one sentence in
    /// lower case with its numbers, including the driver's error number.
    #[cold]
    pub fn device(text: impl Into<String>) -> Self {
        Self::new(Kind::Device, text)
    }

    /// A device does not support a request: for implementers of a device. For a failure, see
    /// [`Error::device`].
    #[cold]
    pub fn unsupported(text: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, text)
    }

    /// A request is out of bounds: for implementers of a device.
    #[cold]
    pub fn bounds(text: impl Into<String>) -> Self {
        Self::new(Kind::Bounds, text)
    }

    /// Memory is on another place than the required one: for implementers of a device.
    #[cold]
    pub fn place(text: impl Into<String>) -> Self {
        Self::new(Kind::Place, text)
    }

    /// The address of memory is not a multiple of the required alignment: for implementers of a
    /// device.
    #[cold]
    pub fn alignment(text: impl Into<String>) -> Self {
        Self::new(Kind::Alignment, text)
    }

    /// Data from outside is invalid: for implementers of a device.
    #[cold]
    pub fn malformed(text: impl Into<String>) -> Self {
        Self::new(Kind::Malformed, text)
    }

    /// The same error with advice. (Running out of memory has none.)
    #[cold]
    pub(crate) fn advising(mut self, advice: impl Into<Option<Advice>>) -> Self {
        if let ErrorRepr::Full(inner) = &mut self.0 {
            inner.advice = advice.into();
        }
        self
    }

    /// The same kind, text and advice again, without the source: for a failure that is reported
    /// more than once, like that of an [`Event`](crate::device::Event).
    #[cold]
    pub fn again(&self) -> Self {
        match &self.0 {
            ErrorRepr::OutOfMemory { nbytes, align } => Self::out_of_memory(*nbytes, *align),
            ErrorRepr::Full(inner) => Self::new(inner.kind, inner.text.to_string()).advising(inner.advice),
        }
    }

    /// The limit of a pool or a device, `limit` bytes in use, is exceeded. If allocating this
    /// message fails, the error is a plain out-of-memory error.
    #[cold]
    pub(crate) fn limit(limit: u64, used: u64, requested: usize, align: usize) -> Self {
        let text = ErrorText::Limit { limit, used, requested: requested as u64 };
        match try_box(ErrorDetails { kind: Kind::OutOfMemory, text, advice: None, source: None }) {
            Ok(inner) => Self(ErrorRepr::Full(inner)),
            Err(_) => Self::out_of_memory(requested, align),
        }
    }

    /// Prefixes the text with where the error arose: `context: text`. The advice stays.
    ///
    /// ```
    /// use crossdock::Error;
    ///
    /// let error = Error::device("error 719").within("copying 100 bytes from cpu to gpu:0");
    /// assert_eq!(error.to_string(), "copying 100 bytes from cpu to gpu:0: error 719");
    /// assert!(error.is_device());
    /// ```
    #[cold]
    pub fn within(self, context: impl fmt::Display) -> Self {
        match self.0 {
            ErrorRepr::OutOfMemory { .. } => self,
            ErrorRepr::Full(mut inner) => {
                let (context, text) = (format!("{context}: "), inner.text.to_string());
                // The same context many times over, as of nested lists, says no more than once.
                inner.text = ErrorText::Words(match text.starts_with(&context) {
                    true => text,
                    false => context + &text,
                });
                Self(ErrorRepr::Full(inner))
            }
        }
    }

    /// The text without the advice.
    #[doc(hidden)]
    pub fn fact(&self) -> impl fmt::Display {
        ErrorFact(self)
    }

    /// What to do about it, if that is known: for bindings, which have their own words.
    #[doc(hidden)]
    pub fn advice(&self) -> Option<Advice> {
        match &self.0 {
            ErrorRepr::OutOfMemory { .. } => None,
            ErrorRepr::Full(inner) => inner.advice,
        }
    }

    /// The text, and the advice in the words of a language.
    #[doc(hidden)]
    pub fn in_words(&self, words: advice::Words) -> impl fmt::Display {
        InWords { fact: ErrorFact(self), advice: self.advice(), words }
    }

    /// The text and the advice, without the kind.
    pub(crate) fn to_explanation(&self) -> Explanation {
        Explanation::new(self.fact().to_string(), self.advice())
    }

    fn kind(&self) -> Kind {
        match &self.0 {
            ErrorRepr::OutOfMemory { .. } => Kind::OutOfMemory,
            ErrorRepr::Full(inner) => inner.kind,
        }
    }

    /// An index, a range or a byte extent is out of bounds.
    pub fn is_bounds(&self) -> bool {
        self.kind() == Kind::Bounds
    }

    /// A size, a stride or an offset does not fit into a machine word.
    pub fn is_overflow(&self) -> bool {
        self.kind() == Kind::Overflow
    }

    /// Ranks or shapes do not match.
    pub fn is_shape(&self) -> bool {
        self.kind() == Kind::Shape
    }

    /// The element type is another one than the requested one, or has no such field.
    pub fn is_dtype(&self) -> bool {
        self.kind() == Kind::DType
    }

    /// A value does not fit into the element to which it is written.
    pub fn is_value(&self) -> bool {
        self.kind() == Kind::Value
    }

    /// Strides cannot describe the requested view, or the array has another order than the
    /// requested one.
    pub fn is_layout(&self) -> bool {
        self.kind() == Kind::Layout
    }

    /// The address or a stride is not a multiple of the element's alignment.
    pub fn is_alignment(&self) -> bool {
        self.kind() == Kind::Alignment
    }

    /// A write is requested, but only reads are permitted.
    pub fn is_read_only(&self) -> bool {
        self.kind() == Kind::ReadOnly
    }

    /// A lease, another handle, or the memory's origin prevents the access.
    pub fn is_conflict(&self) -> bool {
        self.kind() == Kind::Conflict
    }

    /// A reader or writer was closed, and has released its memory.
    pub fn is_closed(&self) -> bool {
        self.kind() == Kind::Closed
    }

    /// An allocation has more handles or leases than it can count.
    pub fn is_exhausted(&self) -> bool {
        self.kind() == Kind::Exhausted
    }

    /// The memory is on a device that the CPU cannot address.
    pub fn is_place(&self) -> bool {
        self.kind() == Kind::Place
    }

    /// A device or its driver failed, or in-flight work on it did.
    pub fn is_device(&self) -> bool {
        self.kind() == Kind::Device
    }

    /// A producer refused a request, or a receiver refused the size. See
    /// [`Refusal`](crate::view::Refusal).
    pub fn is_refused(&self) -> bool {
        self.kind() == Kind::Refused
    }

    /// Bytes or a descriptor from outside break the rules of their format.
    pub fn is_malformed(&self) -> bool {
        self.kind() == Kind::Malformed
    }

    /// Valid, but not supported.
    pub fn is_unsupported(&self) -> bool {
        self.kind() == Kind::Unsupported
    }

    /// The operating system reported an error; the source is the [`std::io::Error`], if there is
    /// one.
    pub fn is_io(&self) -> bool {
        matches!(self.kind(), Kind::Io | Kind::Fault)
    }

    /// A mapped file shrank: bytes read from the map since then are not reliable. (`is_io` is true,
    /// too.)
    pub fn is_fault(&self) -> bool {
        self.kind() == Kind::Fault
    }

    /// An allocation failed, or it would exceed the limit of a pool.
    pub fn is_out_of_memory(&self) -> bool {
        self.kind() == Kind::OutOfMemory
    }
}

/// Quotes untrusted text for an error message, with control characters escaped. A long text is
/// truncated, and marked with an ellipsis and its full length.
#[cold]
pub(crate) fn short(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?} ({} bytes)", format!("{}…", &text[..end]), text.len()),
    }
}

/// Untrusted text for messages, which appear on terminals and in logs: characters that a terminal
/// would act on are escaped.
pub(crate) fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        // A leading combining mark would be escaped, too, so the letter is escaped after another
        // character.
        let behind = String::from_iter(['x', letter]);
        match letter {
            '\'' | '"' | '\\' => safe.push(letter),
            _ => safe.extend(behind.escape_debug().skip(1)),
        }
    }
    safe
}

/// The text of a system error for a message: without ` (os error 2)`, and in lower case like the
/// rest of the sentence. The number stays in the source of the [`Error`].
pub fn system_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    let Some(number) = error.raw_os_error() else { return text };
    let text = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text);
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        // An abbreviation such as RPC keeps its capitals.
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    }
}

/// An empty vector with capacity for `len` elements, or an error if they cannot be allocated.
pub(crate) fn try_with_capacity<T>(len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    match vec.try_reserve_exact(len) {
        Ok(()) => Ok(vec),
        Err(_) => Err(Error::out_of_memory(len.saturating_mul(size_of::<T>()), align_of::<T>())),
    }
}

/// A copy of `bytes`, or an error if it cannot be allocated.
pub(crate) fn try_copied(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = try_with_capacity(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Like `Box::new`, but returns the value if the allocation fails, instead of aborting.
pub(crate) fn try_box<T>(value: T) -> std::result::Result<Box<T>, T> {
    let layout = std::alloc::Layout::new::<T>();
    if layout.size() == 0 {
        return Ok(Box::new(value));
    }
    // SAFETY: the size of `layout` is greater than 0, since the function returned above for size 0.
    let Some(block) = std::ptr::NonNull::new(unsafe { std::alloc::alloc(layout) }.cast::<T>()) else {
        return Err(value);
    };
    // SAFETY: `block` is not null, and its allocation has the size and alignment of `T`.
    unsafe { block.write(value) };
    // SAFETY: the global allocator allocated `block` with the layout of `T`, as `Box` requires; it
    // holds the value and has no other owner.
    Ok(unsafe { Box::from_raw(block.as_ptr()) })
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(text) => f.write_str(text),
            Self::Limit { limit, used, requested } => write!(
                f,
                "out of memory: {requested} bytes were requested under a limit of {limit}, of which {used} are in use"
            ),
        }
    }
}

/// An error's text without its advice.
struct ErrorFact<'a>(&'a Error);

impl fmt::Display for Error {
    /// With the advice in Rust's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_words(Advice::in_rust).fmt(f)
    }
}

impl fmt::Display for ErrorFact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.0 {
            ErrorRepr::OutOfMemory { nbytes, align } => {
                write!(f, "out of memory: {nbytes} bytes aligned to {align} could not be allocated")
            }
            ErrorRepr::Full(inner) => inner.text.fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.kind())
    }
}

/// For the traits of [`std::io`]: [`std::io::Error::get_ref`] returns the error itself, and the
/// kind is the nearest one of the standard library. Out of memory becomes the bare kind
/// [`OutOfMemory`](std::io::ErrorKind::OutOfMemory), since a wrapped error would have to be
/// allocated.
impl From<Error> for std::io::Error {
    #[cold]
    fn from(error: Error) -> Self {
        match error.0 {
            ErrorRepr::OutOfMemory { .. } => std::io::ErrorKind::OutOfMemory.into(),
            ErrorRepr::Full(_) => Self::new(error.io_kind(), error),
        }
    }
}

impl Error {
    fn io_kind(&self) -> std::io::ErrorKind {
        use std::io::ErrorKind as Io;
        match self.kind() {
            Kind::Bounds | Kind::Overflow | Kind::Shape | Kind::DType | Kind::Value => Io::InvalidInput,
            Kind::Layout | Kind::Alignment | Kind::Closed => Io::InvalidInput,
            Kind::ReadOnly => Io::PermissionDenied,
            Kind::Conflict | Kind::Exhausted => Io::ResourceBusy,
            Kind::Place | Kind::Refused | Kind::Unsupported => Io::Unsupported,
            Kind::Malformed => Io::InvalidData,
            Kind::Fault => Io::UnexpectedEof,
            Kind::OutOfMemory => Io::OutOfMemory,
            Kind::Device => Io::Other,
            Kind::Io => {
                let source = std::error::Error::source(self);
                source
                    .and_then(|source| source.downcast_ref::<std::io::Error>())
                    .map_or(Io::Other, |io| io.kind())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            ErrorRepr::OutOfMemory { .. } => None,
            ErrorRepr::Full(inner) => inner.source.as_deref().map(|source| source as _),
        }
    }
}

/// The value of a failed conversion, and the reason.
///
/// In a function whose error is [`Error`], `?` keeps the reason and drops the value.
pub struct Rejected<T> {
    /// The value that was not converted.
    pub value: T,
    /// The reason.
    pub error: Error,
}

impl<T> From<Rejected<T>> for Error {
    fn from(rejected: Rejected<T>) -> Self {
        rejected.error
    }
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl<T> std::error::Error for Rejected<T> {}
