//! Saves arrays: finds the requested format, and calls its writer.

use std::io::{BufWriter, Write};
use std::path::Path;

use crate::array::DArray;
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::files::format::Format;
use crate::exchange::files::outgoing::{OutgoingArray, outgoing};
use crate::exchange::files::{new_file, npy, raw, shown};
use crate::layout::Order;

/// Enough to amortise the call; larger pieces bypass this buffer.
const BUFFER: usize = 64 << 10;

/// Saves an array in the format that the ending of the path names. A format with names uses the
/// name of the file, without the ending. Copies, and counts, [`DArray::nbytes`].
///
/// The file appears, or is replaced in one step, when all of it is on disk; on failure, an existing
/// file is unchanged. Arrays that map the old file keep its bytes. A symbolic link stays, and its
/// target is replaced; a pipe or a device is written directly.
///
/// ```
/// use crossdock::{Array, exchange::files};
/// # let path = std::env::temp_dir().join(format!("crossdock-save-{}.npy", std::process::id()));
/// files::save(&path, &Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3])?.into())?;
/// assert_eq!(files::open(&path)?.get(&[1, 2])?.as_i64(), Some(6));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`SaveOptions::save_all`].
pub fn save(path: impl AsRef<Path>, array: &DArray) -> Result<()> {
    SaveOptions::new().save(path, array)
}

/// How to save arrays. An option that the format does not have is refused.
///
/// ```
/// # #[cfg(feature = "npz")] {
/// use crossdock::{Array, exchange::files::{self, SaveOptions}};
/// # let path = std::env::temp_dir().join(format!("crossdock-save-all-{}.npz", std::process::id()));
/// let (prices, sizes) = (Array::from_vec(vec![1.5, 2.5], [2])?, Array::from_vec(vec![3u32], [1])?);
/// let arrays = [("prices", prices.into()), ("sizes", sizes.into())];
/// SaveOptions::new().deflated(true).save_all(&path, &arrays)?;
/// assert_eq!(files::open_all(&path)?.names().collect::<Vec<_>>(), ["prices", "sizes"]);
/// assert!(SaveOptions::new().create_new(true).save_all(&path, &arrays).is_err());
/// # std::fs::remove_file(&path)?;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    format: Option<Format>,
    create_new: bool,
    order: Option<Order>,
    deflated: bool,
    quality: Option<u8>,
    metadata: Vec<(String, String)>,
}

impl SaveOptions {
    /// The format that the path names, replacing an existing file; row-major order for raw files,
    /// stored members for `.npz` files, quality 90 for JPEG images, and no texts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects this format for any path.
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Refuses to replace a file: `is_io` (`AlreadyExists`) if the file exists, also if another
    /// process creates it meanwhile.
    pub fn create_new(mut self, create_new: bool) -> Self {
        self.create_new = create_new;
        self
    }

    /// The order of the elements of a raw file. Other formats record the order, or have only one.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Deflates the arrays of an `.npz` file, as `numpy.savez_compressed` does. The default stores
    /// them, so that they can be opened in place.
    pub fn deflated(mut self, deflated: bool) -> Self {
        self.deflated = deflated;
        self
    }

    /// The quality of a JPEG image, from 1 to 100.
    pub fn quality(mut self, quality: u8) -> Self {
        self.quality = Some(quality);
        self
    }

    /// Adds a text to a `.safetensors` file. Keys are unique.
    pub fn metadata(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.metadata.push((key.into(), text.into()));
        self
    }

    /// Saves an array: see [`save`](crate::exchange::files::save).
    ///
    /// # Errors
    ///
    /// As [`SaveOptions::save_all`].
    pub fn save(&self, path: impl AsRef<Path>, array: &DArray) -> Result<()> {
        let path = path.as_ref();
        let name = path.file_stem().map_or_else(|| "array".into(), |stem| stem.to_string_lossy());
        self.save_all(path, &[(name, array.clone())])
    }

    /// Saves arrays, each under its name. A format of one array accepts one, and drops its name.
    ///
    /// # Errors
    ///
    /// Each names the path. `is_io` if the system refuses: no permission to write the existing file
    /// or to create one in its directory, an owner that cannot be kept, a full disk.
    /// `is_unsupported` if the path leads to a directory or a socket, or if neither its ending nor
    /// the options name a format; otherwise as [`SaveOptions::write`].
    pub fn save_all<N: AsRef<str>>(&self, path: impl AsRef<Path>, arrays: &[(N, DArray)]) -> Result<()> {
        let path = path.as_ref();
        let saved = self.format.or_else(|| Format::named(path)).ok_or_else(|| {
            Error::new(
                Kind::Unsupported,
                "its ending is not that of a format; use .npy, .npz, .safetensors, .png, .jpg or .raw",
            )
            .advising(Advice::SetFormat)
        });
        let saved = saved.and_then(|format| {
            self.check(format)?;
            new_file::write(path, !self.create_new, |file| self.encode(format, file, &outgoing(arrays)))
        });
        saved.map_err(|error| error.within(shown(path)))
    }

    /// Writes the bytes of such a file; the format must be set. Writes go through a buffer of 64
    /// KiB, and bytes written before an error stay written.
    ///
    /// # Errors
    ///
    /// `is_unsupported` without a format, for a format that is not written or whose feature is off,
    /// for several arrays in a format of one, for an option that the format does not have, and for
    /// an array or a name that it cannot hold; `is_shape` for an array that is not an image, in a
    /// format of images; `is_io` if the writer fails; `is_conflict` while another party holds
    /// Write; `is_place` on a device.
    pub fn write<N: AsRef<str>>(&self, writer: impl Write, arrays: &[(N, DArray)]) -> Result<()> {
        let format = self.format.ok_or_else(|| {
            Error::new(Kind::Unsupported, "a writer has no file name that selects the format")
                .advising(Advice::SetFormat)
        })?;
        self.encode(format, writer, &outgoing(arrays))
    }

    /// Like [`SaveOptions::write`], for arrays that are converted as they are written.
    ///
    /// # Errors
    ///
    /// As [`SaveOptions::write`] and [`DArray::cast`]; `is_fault` if a guarded file shrank.
    #[doc(hidden)]
    pub fn write_outgoing<N: AsRef<str>>(
        &self,
        writer: impl Write,
        arrays: &[(N, OutgoingArray)],
    ) -> Result<()> {
        let format = self.format.unwrap_or(Format::Raw);
        self.encode(format, writer, arrays)
    }

    fn encode<N: AsRef<str>>(
        &self,
        format: Format,
        writer: impl Write,
        arrays: &[(N, OutgoingArray)],
    ) -> Result<()> {
        self.check(format)?;
        let writer = BufWriter::with_capacity(BUFFER, writer);
        match (format, arrays) {
            #[cfg(feature = "npz")]
            (Format::Npz, _) => crate::exchange::files::npz::encode(writer, arrays, self.deflated),
            #[cfg(feature = "safetensors")]
            (Format::Safetensors, _) => {
                crate::exchange::files::safetensors::encode(writer, arrays, &self.metadata)
            }
            (Format::Npy, [(_, array)]) => npy::encode(writer, array),
            #[cfg(feature = "png")]
            (Format::Png, [(_, array)]) => crate::exchange::files::png::write(writer, &array.to_array()?),
            #[cfg(feature = "jpeg")]
            (Format::Jpeg, [(_, array)]) => {
                crate::exchange::files::jpeg::encode(writer, &array.to_array()?, self.quality)
            }
            (Format::Raw, [(_, array)]) => raw::encode(writer, array, self.order.unwrap_or(Order::RowMajor)),
            _ => {
                let text = format!("a {format} file holds one array, but {} were given", arrays.len());
                Err(Error::new(Kind::Unsupported, text))
            }
        }
    }

    /// Refuses a format that is not written, and an option that the format does not have.
    fn check(&self, format: Format) -> Result<()> {
        format.check_written()?;
        format.check_built()?;
        let options = [
            ("an option for the order of elements", self.order.is_some(), Format::Raw),
            ("an option to deflate arrays", self.deflated, Format::Npz),
            ("an option for the quality", self.quality.is_some(), Format::Jpeg),
            ("an option for texts", !self.metadata.is_empty(), Format::Safetensors),
        ];
        match options.into_iter().find(|&(_, is_set, owner)| is_set && owner != format) {
            None => Ok(()),
            Some((what, _, owner)) => Err(Error::new(
                Kind::Unsupported,
                format!(
                    "a {format} file does not have {what}, only a {owner} file has; leave the option out"
                ),
            )),
        }
    }
}
