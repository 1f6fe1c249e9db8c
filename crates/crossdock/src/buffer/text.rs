//! Bytes as text.

use crate::error::{Error, Kind, Result, try_with_capacity};

/// The hexadecimal digits of `nbytes` bytes, which `feed` passes on piece by piece.
pub(crate) fn hex_of(
    nbytes: usize,
    feed: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()>,
) -> Result<String> {
    let nbytes = nbytes.checked_mul(2).ok_or_else(|| Error::out_of_memory(usize::MAX, 1))?;
    let mut text = try_with_capacity(nbytes)?;
    text.resize(nbytes, 0);
    let mut rest = text.as_mut_slice();
    feed(&mut |chunk| {
        let (digits, behind) = std::mem::take(&mut rest).split_at_mut(2 * chunk.len());
        rest = behind;
        match faster_hex::hex_encode_upper(chunk, digits) {
            Ok(_) => Ok(true),
            Err(error) => Err(Error::new(Kind::Bounds, error.to_string())),
        }
    })?;
    String::from_utf8(text)
        .map_err(|error| Error::caused(Kind::Malformed, "a digit is not one of ASCII", error))
}

pub(crate) fn not_utf8(error: std::str::Utf8Error) -> Error {
    let at = error.valid_up_to();
    Error::caused(Kind::Malformed, format!("byte {at} is not valid UTF-8"), error)
}
