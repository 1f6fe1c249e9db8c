//! Errors about type strings and literals of dtypes.

use crate::error::{Error, Kind};

pub(super) fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}

/// The beginning of a text from outside, for errors.
pub(super) fn shorten(text: &str) -> String {
    let mut letters = text.chars();
    let mut short: String = letters.by_ref().take(40).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}
