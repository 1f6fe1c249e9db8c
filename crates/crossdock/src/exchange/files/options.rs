//! How a file is opened, whatever its format.

use std::fmt::Display;
use std::fs::File;
use std::path::Path;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::contents::Contents;
use crate::exchange::files::format::Format;
use crate::exchange::files::{magic, npy, shown, source};
use crate::memory::MapOptions;

/// The most bytes that one array may take when it is decompressed, unless another limit is set: 16 GiB.
const LIMIT: u64 = 16 << 30;

/// How to open a file of arrays.
///
/// ```
/// use crossdock::{Array, element::Value, exchange::files::{self, npy}};
/// # let path = std::env::temp_dir().join(format!("crossdock-options-{}.npy", std::process::id()));
/// npy::save(&path, &Array::from_vec(vec![1u8, 2, 3], [3])?.into())?;
/// files::OpenOptions::new().writable(true).open(&path)?.set(&[0], &Value::from(9))?;
/// assert_eq!(crossdock::open(&path)?.get(&[0])?.as_i64(), Some(9));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    writable: bool,
    guarded: bool,
    verified: bool,
    limit: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { writable: false, guarded: false, verified: false, limit: LIMIT }
    }
}

impl OpenOptions {
    /// Read-only, unguarded and unverified, with at most 16 GiB for what is decompressed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the arrays be written, and with them the file. Formats that compress or keep checksums refuse it.
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// Guards against the file shrinking while it is mapped: see [`MapOptions::guarded`].
    pub fn guarded(mut self, guarded: bool) -> Self {
        self.guarded = guarded;
        self
    }

    /// Compares every array with its checksum as the file is opened: see
    /// [`Entry::verify`](crate::exchange::files::Entry::verify). Reads the whole file, where
    /// opening reads only headers otherwise. Damaged arrays are listed in [`Contents::refused`].
    pub fn verified(mut self, verified: bool) -> Self {
        self.verified = verified;
        self
    }

    /// The most bytes that one array may take when it is decompressed: a small file can claim a very large one. What is opened in
    /// place is as large as it is in the file, and knows no limit.
    pub fn limit(mut self, nbytes: u64) -> Self {
        self.limit = nbytes;
        self
    }

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
        let file = source::open(path, self.writable).map_err(|error| error.within(shown(path)))?;
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
        if self.writable && !matches!(format, Format::Npy | Format::Safetensors) {
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

    pub(super) fn map(&self, file: File) -> Result<Buffer> {
        Buffer::map(file, MapOptions::new().writable(self.writable).guarded(self.guarded))
    }

    #[cfg(any(feature = "npz", feature = "png", feature = "jpeg"))]
    pub(super) fn decoded_limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }
}

/// As many of the first [`magic::NBYTES`] bytes as there are.
fn first_bytes(buffer: &Buffer) -> Result<Vec<u8>> {
    let mut bytes = vec![0; buffer.nbytes().min(magic::NBYTES)];
    buffer.pin()?.copy_out(0, &mut bytes)?;
    Ok(bytes)
}
