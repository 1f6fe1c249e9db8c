//! The format of a message with a description. Its first byte carries the descriptor.
//!
//! | bytes | contents |
//! |---|---|
//! | 0..8 | `XDOCKSHM` |
//! | 8..12 | the version, 1 |
//! | 12..16 | the number of bytes that follow, 1 to [`MOST_TEXT_NBYTES`] |
//! | 16.. | the description's text, UTF-8 |
//!
//! Numbers are little-endian.

use crate::error::{Error, Kind, Result};

/// The bytes before the text.
pub(super) const HEAD_NBYTES: usize = 16;

/// The limit of what is read, and allocated, for another process's message. A record of some ten
/// thousand fields fits.
pub(super) const MOST_TEXT_NBYTES: usize = 1 << 20;

const MAGIC: [u8; 8] = *b"XDOCKSHM";
const VERSION: u32 = 1;

/// A whole message.
///
/// # Errors
///
/// `is_unsupported` for a text that no receiver would accept.
pub(super) fn write(text: &str) -> Result<Vec<u8>> {
    if text.len() > MOST_TEXT_NBYTES {
        return Err(Error::new(
            Kind::Unsupported,
            format!(
                "the array's description has {} bytes, and a message holds {MOST_TEXT_NBYTES}; send one \
                field of it",
                text.len()
            ),
        ));
    }
    let mut bytes = Vec::with_capacity(HEAD_NBYTES + text.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    Ok(bytes)
}

/// The number of bytes of text that follow the head.
///
/// # Errors
///
/// `is_malformed` for bytes that are not a head, `is_unsupported` for another version.
pub(super) fn read_head(head: &[u8; HEAD_NBYTES]) -> Result<usize> {
    let [magic, numbers] = [&head[..8], &head[8..]];
    if magic != MAGIC {
        let text =
            format!("a message with an array must begin with {:?}, not {:?}", shown(&MAGIC), shown(magic));
        return Err(Error::new(Kind::Malformed, text));
    }
    let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| numbers[at + byte]));
    let (version, nbytes) = (number(0), number(4) as usize);
    if version != VERSION {
        let text = format!("the message has version {version}; only {VERSION} is supported");
        return Err(Error::new(Kind::Unsupported, text));
    }
    if nbytes == 0 || nbytes > MOST_TEXT_NBYTES {
        let text = format!(
            "the message announces a description of {nbytes} bytes; 1 to {MOST_TEXT_NBYTES} are \
                permitted"
        );
        return Err(Error::new(Kind::Malformed, text));
    }
    Ok(nbytes)
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
