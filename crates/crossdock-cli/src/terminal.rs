//! Escapes untrusted text for a terminal: names of files, of arrays and of their fields, and text
//! in files.
//!
//! A terminal acts on control characters, and format characters make it reorder letters or hide
//! them. Each of them is displayed as in a Python literal, so that the user sees it. All output for
//! people goes through [`shown`] line by line; JSON goes through [`json`].

use std::fmt::Write;
use std::path::Path;

/// The text on one line, with every character escaped that a terminal would act on.
pub(crate) fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match acts(letter) {
            true => escape(letter, &mut safe),
            false => safe.push(letter),
        }
    }
    safe
}

/// A path as text: bytes that are not UTF-8 are spelt as a shell's `$'\xff'` has them.
pub(crate) fn path(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Escapes a character as in a Python literal, so that a description with such a name can be typed.
fn escape(letter: char, safe: &mut String) {
    // Writing to a string cannot fail.
    let _ = match (letter, u32::from(letter)) {
        ('\n' | '\r' | '\t', _) => write!(safe, "{}", letter.escape_default()),
        (_, code @ ..=0xff) => write!(safe, "\\x{code:02x}"),
        (_, code @ ..=0xffff) => write!(safe, "\\u{code:04x}"),
        (_, code) => write!(safe, "\\U{code:08x}"),
    };
}

/// JSON with the same characters escaped as in JSON strings, so that it parses to the same text.
/// Line breaks are kept: JSON has them only between its parts.
pub(crate) fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' || !acts(letter) {
            safe.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    safe
}

/// Whether a terminal does not simply draw the character: control characters (C0, DEL, C1), and
/// format characters that change the direction of text, end a line, or are invisible.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[31m\u{9b}2J\r\n\t\u{7f}\u{202e}b\u{2066}\u{200b}\u{e0041}\u{0}";

    #[test]
    fn letters_stay_and_what_a_terminal_acts_on_is_spelt() {
        assert_eq!(shown("größe 大小 e\u{301} 🚀 \\ '\""), "größe 大小 e\u{301} 🚀 \\ '\"");
        assert_eq!(shown(HOSTILE), r"a\x1b[31m\x9b2J\r\n\t\x7f\u202eb\u2066\u200b\U000e0041\x00");
    }

    #[test]
    fn a_path_that_is_not_utf_8_keeps_its_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"gr\xc3\xb6\xdfe \n.npy");
        assert_eq!(shown(&path(Path::new(name))), r"grö\xdfe \n.npy");
    }

    #[test]
    fn json_is_read_as_the_same_text() {
        let written = serde_json::to_string_pretty(&[HOSTILE, "größe"]).unwrap();
        let safe = json(&written);
        assert!(safe.chars().all(|letter| letter == '\n' || !acts(letter)), "{safe:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), [HOSTILE, "größe"]);
    }
}
