//! Opens and saves files of arrays, in place if the file holds the elements as they are in memory.
//!
//! | task | call |
//! |---|---|
//! | open the only array of a file of any format | [`open`] |
//! | list the arrays of a file, and open some | [`open_all`] |
//! | open by name, write in place, guard, read or describe a file | [`OpenOptions`] |
//! | save an array in the format that the path names | [`save`] |
//! | save several, or with options of a format, or to a writer | [`SaveOptions`] |
//! | decode the bytes of a file in memory | `from_buffer` of each format, [`OpenOptions::read`] |
//! | encode the bytes of a file in memory | `write` of each format, [`SaveOptions::write`] |
//!
//! ```
//! # #[cfg(all(feature = "npz", feature = "safetensors"))] {
//! use crossdock::buffer::Buffer;
//! use crossdock::exchange::files::{self, Format, OpenOptions, SaveOptions, npy};
//! use crossdock::{Array, DArray};
//! # let folder = std::env::temp_dir().join(format!("crossdock-files-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//!
//! // One array: the ending of the path names the format, and the first bytes of the file tell it.
//! let image: DArray = Array::from_vec((0..24).collect::<Vec<u16>>(), [4, 6])?.into();
//! files::save(folder.join("image.npy"), &image)?;
//! let mapped = files::open(folder.join("image.npy"))?; // in place, read-only
//! assert_eq!(mapped.get(&[3, 5])?.as_i64(), Some(23));
//!
//! // Several arrays under names, with what the format has beside them.
//! let arrays = [("image", image.clone()), ("first row", image.at("0")?)];
//! SaveOptions::new().deflated(true).save_all(folder.join("both.npz"), &arrays)?;
//! SaveOptions::new().metadata("camera", "left").save_all(folder.join("both.safetensors"), &arrays)?;
//! let contents = files::open_all(folder.join("both.safetensors"))?;
//! assert_eq!(contents.metadata(), [("camera".to_owned(), "left".to_owned())]);
//! for entry in contents.entries() {
//!     println!("{} is {} {:?}", entry.name(), entry.dtype(), entry.shape());
//! }
//! let row = OpenOptions::new().name("first row").open(folder.join("both.npz"))?; // inflated
//! assert_eq!(row.shape(), [6]);
//!
//! // Elements and nothing else.
//! files::save(folder.join("image.raw"), &image)?;
//! let described = OpenOptions::new().raw("dtype=uint16; shape=4,6".parse()?);
//! assert!(described.open(folder.join("image.raw"))?.equals(&image)?);
//!
//! // Memory of its own instead of a map; and bytes that are no file.
//! let copy = OpenOptions::new().format(Format::Npy).mapped(false).open(folder.join("image.npy"))?;
//! assert_eq!(Array::<u16, 2>::try_from(copy)?.read()?[[3, 5]], 23);
//! let mut bytes = Vec::new();
//! npy::write(&mut bytes, &image)?;
//! assert!(npy::from_buffer(Buffer::from_vec(bytes)?)?.equals(&image)?);
//! # std::fs::remove_dir_all(&folder)?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | format | feature | open | write |
//! |---|---|---|---|
//! | [`npy`]: NumPy's `.npy`, one array | | mapped, nothing copied | in its order, else row-major |
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
#![cfg_attr(
    feature = "torch",
    doc = "| PyTorch: a checkpoint of `torch.save` (`.pt`, `.pth`) | `torch` | mapped, nothing copied; the pickle is read as data | – |"
)]
#![cfg_attr(
    feature = "arrow-ipc",
    doc = "| [`arrow_ipc`]: a table in Arrow's IPC format (`.arrow`, `.feather`, `.arrows`) | `arrow-ipc` | mapped, nothing copied; compressed buffers are decoded once | by [`IpcOptions`](arrow_ipc::IpcOptions), aligned |"
)]
//! | TIFF: an image, not compressed | | mapped, nothing copied; equal pages are one more axis | – |
//! | GGUF: weights under names | | mapped, nothing copied; quantized tensors are refused by name | – |
//! | NIfTI: a volume (`.nii`) | | mapped, nothing copied; the elements as they are stored | – |
//! | FITS: images and tables under names | | mapped, nothing copied; the elements as they are stored | – |
//! | MATLAB 5: variables under names | | mapped, nothing copied; compressed ones are refused | – |
//! | PGM, PPM: an image | | mapped, nothing copied | – |
//! | [`raw`]: elements and nothing else | | mapped, by a description | in either order |
//!
//! The first bytes of a file decide its format, never its name. A mapped array is aliased memory,
//! since another process can write the file. [`Entry::copied_because`] says which arrays must be
//! decoded, and [`copied_bytes`](crate::memory::copied_bytes) counts their bytes.

#[cfg(feature = "arrow-ipc")]
pub mod arrow_ipc;
#[cfg(all(unix, feature = "arrow-ipc"))]
pub(crate) mod channel_tables;
mod contents;
pub(crate) mod elements;
mod fields;
mod fits;
mod format;
mod gguf;
#[cfg(feature = "jpeg")]
pub mod jpeg;
#[cfg(unix)]
pub(crate) mod load_set;
mod magic;
#[cfg(unix)]
pub(crate) mod map_set;
pub(crate) mod mapped;
mod mat;
pub(crate) mod new_file;
mod nifti;
pub mod npy;
#[cfg(feature = "npz")]
pub mod npz;
mod open;
mod options;
pub(crate) mod outgoing;
mod pinned_reader;
#[cfg(any(feature = "png", feature = "jpeg"))]
mod pixels;
#[cfg(feature = "png")]
pub mod png;
mod pnm;
pub mod raw;
mod readahead;
#[cfg(feature = "safetensors")]
pub mod safetensors;
mod save;
#[cfg(unix)]
mod set_tables;
mod source;
pub(crate) mod target;
mod tiff;
#[cfg(feature = "torch")]
mod torch;

use std::path::Path;

use crate::buffer::Buffer;
use crate::error::{self, Result};

pub use contents::{Contents, Entry};
pub use format::Format;
#[cfg(unix)]
pub use load_set::load_set;
#[cfg(unix)]
pub use map_set::map_set;
pub use open::{open, open_all};
pub use options::OpenOptions;
pub use save::{SaveOptions, save};

/// The first [`magic::NBYTES`] bytes, or fewer if the buffer is shorter.
fn first_bytes(buffer: &Buffer) -> Result<Vec<u8>> {
    let mut bytes = vec![0; buffer.nbytes().min(magic::NBYTES)];
    buffer.pin()?.copy_out(0, &mut bytes)?;
    Ok(bytes)
}

/// A path for error messages. Bytes that are not UTF-8 are escaped, too.
fn shown(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text += &error::shown(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
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
