//! Opens files: finds out which format one has, and calls the reader of that format.

use std::fmt::Display;
use std::fs::File;
use std::path::Path;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::contents::Contents;
use crate::exchange::files::format::Format;
use crate::exchange::files::options::OpenOptions;
use crate::exchange::files::{magic, npy, shown, source};

/// Opens the one array of a file, read-only, whatever its format: in place where it lies there as it is, which copies nothing, and decoded
/// otherwise.
///
/// The memory of a map is aliased, since anyone may write the file: elements are read one by one ([`DArray::get`]) or under a
/// Pin lease.
///
/// ```
/// use crossdock::{Array, exchange::files::npy};
/// # let path = std::env::temp_dir().join(format!("crossdock-open-{}.npy", std::process::id()));
/// npy::save(&path, &Array::from_vec(vec![1.5f64, 2.5, 3.5], [3])?.into())?;
/// let array = crossdock::open(&path)?;
/// assert_eq!((array.shape(), array.get(&[2])?.as_f64()), (&[3][..], Some(3.5)));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// `is_unsupported` for a file of several arrays, which it names ([`open_all`] gives them), for a format that is none of those above,
/// which it names where it can, and for one whose feature is off; otherwise as the format's own functions.
pub fn open(path: impl AsRef<Path>) -> Result<DArray> {
    OpenOptions::new().open(path)
}

/// Opens a file, read-only, whatever its format, and finds out what is in it: arrays, each under a name where the format has names.
///
/// # Errors
///
/// As [`open`], but for how many arrays there are.
pub fn open_all(path: impl AsRef<Path>) -> Result<Contents> {
    OpenOptions::new().open_all(path)
}

/// Opens a file that has to be of this format.
#[cfg(any(feature = "npz", feature = "safetensors", feature = "png", feature = "jpeg"))]
pub(super) fn open_as(path: &Path, format: Format) -> Result<Contents> {
    let contents = open_all(path)?;
    if contents.format() != format {
        let text = format!("a {} file, where a {format} file was expected", contents.format());
        return Err(Error::new(Kind::Unsupported, text).within(shown(path)));
    }
    Ok(contents)
}

impl OpenOptions {
    /// Opens the one array of a file: see [`open`](crate::exchange::files::open).
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open_all`], and `is_unsupported`, naming the arrays, where there are several.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<DArray> {
        let path = path.as_ref();
        let within = |error: Error| error.within(shown(path));
        self.open_all(path)?.into_array().map_err(within)
    }

    /// Opens a file and finds out what is in it: see [`open_all`](crate::exchange::files::open_all).
    ///
    /// # Errors
    ///
    /// Each names the path. `is_io` where the system does not open or map the file; `is_unsupported` for a format that is
    /// none of ours, for one that cannot be written in place where that is asked for, and for a directory, a pipe or a device; otherwise as
    /// the function `from_buffer` of the format.
    pub fn open_all(&self, path: impl AsRef<Path>) -> Result<Contents> {
        let path = path.as_ref();
        let file = source::open(path, self.is_writable()).map_err(|error| error.within(shown(path)))?;
        self.open_file(file, shown(path))
    }

    /// Opens a file that is open already, for writing too if the arrays are to be writable. `name` stands in front of errors.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open_all`].
    pub fn open_file(&self, file: File, name: impl Display) -> Result<Contents> {
        // The whole file is one mapping, so that the offset of an array's descriptor is the one in the file.
        self.map(file).and_then(|buffer| self.read(buffer)).map_err(|error| error.within(name))
    }

    /// What is in the bytes of a file, wherever they came from. In place where [`OpenOptions::open_all`] is.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open_all`], without a path.
    pub fn read(&self, buffer: Buffer) -> Result<Contents> {
        let start = first_bytes(&buffer)?;
        // What is empty is taken for an `.npy` file, which says best what is missing.
        let format = Format::of(&start).or(start.is_empty().then_some(Format::Npy));
        let Some(format) = format else {
            return Err(Error::new(
                Kind::Unsupported,
                format!("not a file of arrays that can be opened here: {}", magic::describe(&start)),
            ));
        };
        format.check_built()?;
        if self.is_writable() && !matches!(format, Format::Npy | Format::Safetensors) {
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "a {format} file cannot be written in place, since it is compressed or has checksums: open it for reading only"
                ),
            ));
        }
        let contents = match format {
            Format::Npy => npy::read(buffer).map(|(array, rest)| Contents::of_array(format, array, rest)),
            #[cfg(feature = "npz")]
            Format::Npz => crate::exchange::files::npz::read(buffer, self.limit),
            #[cfg(feature = "safetensors")]
            Format::Safetensors => crate::exchange::files::safetensors::read(buffer),
            #[cfg(feature = "png")]
            Format::Png => crate::exchange::files::png::read(buffer, self.limit),
            #[cfg(feature = "jpeg")]
            Format::Jpeg => crate::exchange::files::jpeg::read(buffer, self.limit),
            // Never told by its bytes, or refused above.
            _ => Err(Error::new(Kind::Unsupported, format!("a {format} file, which says nothing of itself"))),
        }?;
        if self.verified { contents.verified() } else { Ok(contents) }
    }
}

/// As many of the first [`magic::NBYTES`] bytes as there are.
fn first_bytes(buffer: &Buffer) -> Result<Vec<u8>> {
    let mut bytes = vec![0; buffer.nbytes().min(magic::NBYTES)];
    buffer.pin()?.copy_out(0, &mut bytes)?;
    Ok(bytes)
}
