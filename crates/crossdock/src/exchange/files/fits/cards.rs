//! The header of a unit of a FITS file: cards of 80 letters, in blocks.

use crate::error::{Error, Kind, Result};
use crate::exchange::files::fields::Fields;

/// The bytes of a block. Headers and data fill whole ones.
pub(super) const BLOCK: u64 = 2880;

/// The bytes of a card.
const CARD: usize = 80;

/// A longer header is refused.
const MOST_BLOCKS: usize = 1 << 12;

/// The cards that describe the data: keys, and values as they are spelt.
#[derive(Debug)]
pub(super) struct Cards(Vec<(String, String)>);

impl Cards {
    /// Reads a header, up to the block with its end.
    pub(super) fn read(fields: &mut Fields) -> Result<Self> {
        let mut cards = Vec::new();
        for _ in 0..MOST_BLOCKS {
            let block = fields.bytes(BLOCK as usize, "a header")?;
            for card in block.chunks_exact(CARD) {
                let (key, rest) = card.split_at(8);
                let key = String::from_utf8_lossy(key.trim_ascii_end()).into_owned();
                if key == "END" && rest.trim_ascii().is_empty() {
                    return Ok(Self(cards));
                }
                if let Some(value) = rest.strip_prefix(b"= ") {
                    cards.push((key, value_of(&String::from_utf8_lossy(value))));
                }
            }
        }
        Err(malformed(format!("a header has no END in {} bytes", MOST_BLOCKS as u64 * BLOCK)))
    }

    /// A value without its quotes.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|card| card.0 == key).map(|card| card.1.as_str())
    }

    /// A whole number.
    ///
    /// # Errors
    ///
    /// `is_malformed` for another value.
    pub(super) fn integer(&self, key: &str) -> Result<Option<i64>> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(malformed(format!("{key} is {text:?}, and not a whole number"))),
        }
    }

    /// A number of elements or bytes that the header must have.
    pub(super) fn count(&self, key: &str) -> Result<u64> {
        let number = self.integer(key)?.ok_or_else(|| malformed(format!("its header has no {key}")))?;
        u64::try_from(number).map_err(|_| malformed(format!("{key} is {number}")))
    }

    /// A number with a fraction, with `D` for its exponent, too.
    pub(super) fn float(&self, key: &str) -> Option<f64> {
        self.text(key)?.replace(['D', 'd'], "e").parse().ok()
    }
}

/// The value of a card: up to the comment, or what is in quotes, where two of them stand for one.
fn value_of(field: &str) -> String {
    let field = field.trim();
    let Some(quoted) = field.strip_prefix('\'') else {
        return field.split('/').next().unwrap_or_default().trim().to_owned();
    };
    let (mut text, mut letters) = (String::new(), quoted.chars().peekable());
    while let Some(letter) = letters.next() {
        if letter == '\'' && letters.next_if_eq(&'\'').is_none() {
            break;
        }
        text.push(letter);
    }
    text.trim_end().to_owned()
}

pub(super) fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_standard_spells_them() {
        for (field, value) in [
            ("                 -32 / bits", "-32"),
            ("'SCI     '           / a name", "SCI"),
            ("'O''HARA / x'", "O'HARA / x"),
            ("''", ""),
            ("                   T", "T"),
            ("1.5D3", "1.5D3"),
        ] {
            assert_eq!(value_of(field), value, "{field}");
        }
        let cards = Cards(vec![("BZERO".into(), "3.2768D4".into())]);
        assert_eq!((cards.float("BZERO"), cards.float("BSCALE")), (Some(32768.0), None));
        assert!(cards.integer("BZERO").unwrap_err().is_malformed());
    }
}
