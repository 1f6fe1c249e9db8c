//! Arrays in files, opened in place where they lie there as they are.
//!
//! | format | feature | open | write |
//! |---|---|---|---|
//! | [`npy`]: NumPy's `.npy`, one array | | mapped, nothing copied | as it lies where it is contiguous, else row-major |
#![cfg_attr(
    feature = "npz",
    doc = "| [`npz`]: NumPy's `.npz`, several under names | `npz` | stored: mapped; deflated: inflated once | stored, aligned; or deflated |"
)]
#![cfg_attr(
    feature = "safetensors",
    doc = "| [`safetensors`]: tensors under names, and texts | `safetensors` | mapped, nothing copied (packed elements are unpacked once) | little-endian, aligned |"
)]
#![cfg_attr(
    feature = "png",
    doc = "| [`png`]: an image | `png` | decoded once | gathered once where it is not contiguous |"
)]
#![cfg_attr(
    feature = "jpeg",
    doc = "| [`jpeg`]: an image, with loss | `jpeg` | decoded once | gathered once where it is not contiguous |"
)]
//! | [`raw`]: elements and nothing else | | mapped, by a description | in either order |
//!
//! [`open`] and [`open_all`] tell formats apart by their first bytes, never by the name of the file. What is mapped is aliased memory, since anyone
//! may write a file; [`Entry::copied_because`] says which arrays have to be decoded, and what was decoded is counted by
//! [`copied_bytes`](crate::memory::copied_bytes).

mod contents;
mod elements;
mod format;
#[cfg(feature = "jpeg")]
pub mod jpeg;
mod magic;
mod new_file;
pub mod npy;
#[cfg(feature = "npz")]
pub mod npz;
mod open;
mod options;
#[cfg(any(feature = "npz", feature = "safetensors", feature = "png", feature = "jpeg"))]
mod pinned;
#[cfg(any(feature = "png", feature = "jpeg"))]
mod pixels;
#[cfg(feature = "png")]
pub mod png;
pub mod raw;
#[cfg(feature = "safetensors")]
pub mod safetensors;
mod source;

use std::path::Path;

pub use contents::{Contents, Entry};
pub use format::Format;
pub use new_file::NewFile;
pub use open::{open, open_all};
pub use options::OpenOptions;

/// A path for error messages, which end up on terminals and in logs: unchanged, except that
/// characters that a terminal would act on are escaped.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        // A leading combining mark would be escaped, too, so the text is escaped behind another
        // character.
        let behind = String::from_iter(['x', letter]);
        match letter {
            '\'' | '"' | '\\' => safe.push(letter),
            _ => safe.extend(behind.escape_debug().skip(1)),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_a_path_as_it_is_and_escapes_what_a_terminal_acts_on() {
        let plain = "/tmp/größe e\u{301} 大小 'a' \"b\" c\\d";
        assert_eq!(shown(Path::new(plain)), plain);
        let error = open("/missing\u{1b}[2J\u{9b}m\u{202e}\n/a").unwrap_err().to_string();
        assert!(error.starts_with(r"/missing\u{1b}[2J\u{9b}m\u{202e}\n/a: "), "{error}");
    }
}
