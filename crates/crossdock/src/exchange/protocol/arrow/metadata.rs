//! The metadata of a schema: pairs of keys and values, as bytes.
//!
//! The number of pairs, then for each pair the length of the key, the key, the length of the value,
//! the value. Numbers are 32-bit integers in native byte order, unaligned.

use core::ffi::c_char;

use crate::error::{Error, Kind, Result};
use crate::table::Metadata;

/// The key of a column's extension type.
pub(super) const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The key of that type's own metadata.
pub(super) const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// The extension type of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extension {
    pub(super) name: String,
    pub(super) metadata: String,
}

impl Extension {
    pub(super) fn new(name: &str, metadata: String) -> Self {
        Self { name: name.to_owned(), metadata }
    }

    /// The bytes of a schema's metadata that name this type.
    pub(super) fn encode(&self) -> Box<[u8]> {
        let pairs = [(EXTENSION_NAME, &*self.name), (EXTENSION_METADATA, &*self.metadata)];
        let mut bytes = (pairs.len() as i32).to_ne_bytes().to_vec();
        for text in pairs.iter().flat_map(|&(key, value)| [key, value]) {
            // A name of this library's, or the shape of an array: short.
            bytes.extend((text.len() as i32).to_ne_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.into()
    }

    /// The extension type that metadata name, if any. Values that are not text are ignored, except
    /// the name.
    ///
    /// # Errors
    ///
    /// `is_malformed` for negative numbers, and a name that is not text.
    ///
    /// # Safety
    ///
    /// `metadata` is null, or points to as many bytes as the numbers in it announce, up to the
    /// first negative number.
    pub(super) unsafe fn decode(metadata: *const c_char) -> Result<Option<Self>> {
        if metadata.is_null() {
            return Ok(None);
        }
        let mut cursor = MetadataCursor(metadata.cast());
        // SAFETY: `# Safety`: `metadata` is not null (checked above), so it begins with the four
        // bytes that count the pairs.
        let pairs = unsafe { cursor.number("pairs") }?;
        let (mut name, mut said) = (None, String::new());
        for _ in 0..pairs {
            // SAFETY: `# Safety`: no number so far was negative (`?`), and the loop reads no more
            // pairs than were announced, so a key follows.
            let key = unsafe { cursor.text() }?;
            // SAFETY: `# Safety`: the length of the key was not negative (`?`), so the value of
            // this announced pair follows the key.
            let value = unsafe { cursor.text() }?;
            if key == EXTENSION_NAME.as_bytes() {
                name = Some(String::from_utf8(value.to_vec()).map_err(|_| {
                    Error::new(Kind::Malformed, "the name of the extension type is not UTF-8")
                })?);
            } else if key == EXTENSION_METADATA.as_bytes() {
                said = String::from_utf8_lossy(value).into_owned();
            }
        }
        Ok(name.map(|name| Self { name, metadata: said }))
    }
}

/// The bytes of a schema's metadata with these pairs; none if there are none.
///
/// # Errors
///
/// `is_overflow` beyond 31 bits.
pub(super) fn encode(pairs: &Metadata) -> Result<Option<Box<[u8]>>> {
    if pairs.is_empty() {
        return Ok(None);
    }
    let number = |len: usize| {
        let number = i32::try_from(len).map_err(|_| {
            Error::new(Kind::Overflow, format!("metadata of {len} pairs or bytes exceed 31 bits"))
        });
        number.map(i32::to_ne_bytes)
    };
    let mut bytes = number(pairs.iter().len())?.to_vec();
    for text in pairs.iter().flat_map(|(key, value)| [key, value]) {
        bytes.extend(number(text.len())?);
        bytes.extend(text);
    }
    Ok(Some(bytes.into()))
}

/// The pairs of a schema's metadata.
///
/// # Errors
///
/// `is_malformed` for negative numbers.
///
/// # Safety
///
/// The clause of [`Extension::decode`].
pub(super) unsafe fn decode(metadata: *const c_char) -> Result<Metadata> {
    if metadata.is_null() {
        return Ok(Metadata::default());
    }
    let mut cursor = MetadataCursor(metadata.cast());
    // SAFETY: `# Safety`: `metadata` is not null (checked above), so it begins with the four bytes
    // that count the pairs.
    let count = unsafe { cursor.number("pairs") }?;
    let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
    for _ in 0..count {
        // SAFETY: `# Safety`: no number so far was negative (`?`), and the loop reads no more pairs
        // than were announced, so a key follows.
        let key = unsafe { cursor.text() }?;
        // SAFETY: `# Safety`: the length of the key was not negative (`?`), so the value of this
        // announced pair follows the key.
        let value = unsafe { cursor.text() }?;
        pairs.push((key, value));
    }
    Ok(Metadata::new(pairs))
}

/// Reads bytes sequentially.
struct MetadataCursor(*const u8);

impl MetadataCursor {
    /// # Safety
    ///
    /// 1. `len` bytes can be read here.
    /// 2. They stay unchanged while the result is used.
    unsafe fn take<'a>(&mut self, len: usize) -> &'a [u8] {
        // SAFETY: clauses 1 and 2 of `# Safety`: `len` bytes can be read here, and stay unchanged
        // for `'a`; bytes need no alignment.
        let bytes = unsafe { std::slice::from_raw_parts(self.0, len) };
        self.0 = self.0.wrapping_add(len);
        bytes
    }

    /// # Safety
    ///
    /// Four bytes can be read here.
    unsafe fn number(&mut self, what: &str) -> Result<usize> {
        // SAFETY: `# Safety`: four bytes can be read here, and the line below uses them before this
        // returns.
        let bytes = unsafe { self.take(4) };
        let number = bytes.iter().rev().fold(0u32, |number, &byte| number << 8 | u32::from(byte));
        let number = if cfg!(target_endian = "little") { number } else { number.swap_bytes() } as i32;
        usize::try_from(number).map_err(|_| {
            Error::new(Kind::Malformed, format!("the metadata has {number} {what}, a negative number"))
        })
    }

    /// # Safety
    ///
    /// 1. Four bytes, a length, can be read here, and that many bytes behind it unless it is
    ///    negative.
    /// 2. They stay unchanged while the result is used.
    unsafe fn text<'a>(&mut self) -> Result<&'a [u8]> {
        // SAFETY: clause 1 of `# Safety`: a length of four bytes can be read here.
        let len = unsafe { self.number("bytes") }?;
        // SAFETY: clauses 1 and 2 of `# Safety`: the length was not negative (`?`), so `len` bytes
        // follow it, unchanged for `'a`.
        Ok(unsafe { self.take(len) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Option<Extension>> {
        // SAFETY: the numbers in the bytes of these tests count bytes that follow in the same
        // slice, or are negative.
        unsafe { Extension::decode(bytes.as_ptr().cast()) }
    }

    #[test]
    fn what_is_written_is_read() {
        let extension = Extension::new("arrow.bool8", String::new());
        assert_eq!(decode(&extension.encode()).unwrap(), Some(extension));
        let extension = Extension::new("a", "{\"shape\":[2]}".to_owned());
        // Unaligned.
        let bytes = [&[0][..], &extension.encode()].concat();
        assert_eq!(decode(&bytes[1..]).unwrap(), Some(extension));
        // SAFETY: `decode` accepts a null pointer, from which it reads nothing.
        assert_eq!(unsafe { Extension::decode(std::ptr::null()) }.unwrap(), None);
    }

    #[test]
    fn other_pairs_are_read_over_and_negative_numbers_refused() {
        let number = |number: i32| number.to_ne_bytes().to_vec();
        let pairs = [number(1), number(3), b"key".to_vec(), number(1), vec![0xff]].concat();
        assert_eq!(decode(&pairs).unwrap(), None);
        assert_eq!(decode(&number(0)).unwrap(), None);
        assert!(decode(&number(-1)).unwrap_err().to_string().contains("has -1 pairs"));
        assert!(decode(&[number(1), number(-7)].concat()).unwrap_err().to_string().contains("-7"));
        let name = [number(1), number(20), EXTENSION_NAME.into(), number(1), vec![0xff]].concat();
        assert!(decode(&name).unwrap_err().is_malformed());
    }
}
