//! Whether bytes are text.

use std::ops::Range;

use crate::error::{Error, Kind};
use crate::table::text::TextBytes;

/// How many elements are checked at once.
pub(crate) const TEXT_BLOCK: usize = 4096;

/// Whether the bytes are UTF-8.
#[inline]
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// The error for bytes of an element that are not UTF-8.
#[cold]
pub(crate) fn not_text(bytes: &[u8], index: usize) -> Error {
    let error = std::str::from_utf8(bytes).err();
    let at = error.map_or(0, |error| error.valid_up_to());
    let text = format!("byte {at} of element {index} is not valid UTF-8");
    match error {
        Some(error) => Error::caused(Kind::Malformed, text, error),
        None => Error::new(Kind::Malformed, text),
    }
}

impl TextBytes {
    /// Whether the offsets of a block of elements obey the rules and, if `expects_text`, all of its
    /// elements are UTF-8, null or not: their bytes together are, and each begins with a character.
    /// False if that cannot be told at once: for views, and memory that another party may write.
    pub(crate) fn is_block_correct(&self, block: Range<usize>, expects_text: bool) -> bool {
        let Some((offsets, bytes)) = self.in_memory(block) else { return false };
        if !offsets.increase_within(bytes.len()) {
            return false;
        }
        let Some((start, end)) = offsets.ends() else { return false };
        let text = &bytes[start..end];
        !expects_text || text.is_ascii() || is_text(text) && offsets.begin_characters(&bytes[..end])
    }
}
