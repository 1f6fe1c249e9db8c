//! Errors in templates: their offset and cause.

use crate::element::dialect::pack::component::{Component, MAX_ITEM_SIZE};
use crate::error::{Error, Kind};
use std::fmt;

/// The offset and the cause of an invalid template. Two machine words, without allocation.
///
/// It becomes an [`Error`] by `?`: `is_overflow` if an item would exceed the address space,
/// otherwise `is_malformed`.
///
/// ```
/// use crossdock::bindings::dialect::pack;
///
/// let error = pack::parse(b"ccc4a").unwrap_err();
/// assert_eq!(error.offset(), 4);
/// assert!(crossdock::Error::from(error).is_malformed());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatError {
    offset: usize,
    cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// An unknown letter.
    Unknown(u8),
    /// A letter, and a modifier that it does not take.
    Modifier(u8, u8),
    /// A letter with two byte orders.
    TwoOrders(u8),
    /// The item ends beyond [`MAX_ITEM_SIZE`].
    Overflow,
    /// No memory for this many components.
    OutOfMemory { components: u32 },
}

impl FormatError {
    #[cold]
    pub(super) fn new(offset: usize, cause: Cause) -> Self {
        Self { offset, cause }
    }

    /// The offset of the invalid part in the template: of its letter, also if a modifier or the
    /// count is invalid.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |byte: u8| byte.escape_ascii();
        write!(f, "byte {} of the item format: ", self.offset)?;
        match self.cause {
            Cause::Unknown(byte) => write!(f, "'{}' is not a letter of pack templates", show(byte)),
            Cause::Modifier(letter, mark) => {
                write!(f, "'{}' does not take the modifier '{}'", show(letter), show(mark))
            }
            Cause::TwoOrders(letter) => {
                write!(f, "'{}' has two byte orders; give one", show(letter))
            }
            Cause::Overflow => {
                write!(f, "the item is larger than {MAX_ITEM_SIZE} bytes, the size of the address space")
            }
            Cause::OutOfMemory { components } => write!(f, "no memory for {components} components"),
        }
    }
}

impl std::error::Error for FormatError {}

impl From<FormatError> for Error {
    #[cold]
    fn from(error: FormatError) -> Self {
        let kind = match error.cause {
            Cause::OutOfMemory { components } => {
                let nbytes = (components as usize).saturating_mul(size_of::<Component>());
                return Self::out_of_memory(nbytes, align_of::<Component>());
            }
            Cause::Overflow => Kind::Overflow,
            _ => Kind::Malformed,
        };
        Self::new(kind, error.to_string())
    }
}
