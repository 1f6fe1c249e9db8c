//! Opens files: recognises the format, and calls its reader.

use std::path::Path;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::files::contents::Contents;
use crate::exchange::files::format::Format;
use crate::exchange::files::options::{Expected, OpenOptions};
use crate::exchange::files::readahead::PageByPage;
use crate::exchange::files::target::{Selected, Target};
use crate::exchange::files::{first_bytes, magic, npy, raw, shown, source};

/// Opens an array of a file of any format, read-only: in place if the file holds the elements as
/// they are in memory, and decoded otherwise.
///
/// The path names a file of one array, or a view of it, or an array of several: `photo.npy`,
/// `photo.npy[::2, ..., 0]`, `trades.npz:prices`, `trades.npz:prices[::2].bid`. The name and the
/// view begin at the first colon or bracket that follows the name of an existing file; the longest
/// name of a file wins, so that every file can be opened by its path. [`DArray::at`] describes the
/// syntax of a view.
///
/// A mapped array is aliased memory, since another process can write the file: elements are read
/// one by one ([`DArray::get`]) or under a Pin lease; with `unsafe`
/// [`assume_constant`](crate::buffer::Buffer::assume_constant), as slices. [`OpenOptions::mapped`]
/// reads the file into private memory instead.
///
/// If the file shrinks while it is mapped, access to the missing part ends the process (SIGBUS), as
/// with any map. [`OpenOptions::guarded`] reads zeros there instead, and copies fail with
/// `is_fault`.
///
/// ```
/// use crossdock::{Array, exchange::files, memory::copied_bytes};
/// # let path = std::env::temp_dir().join(format!("crossdock-open-{}.npy", std::process::id()));
/// files::save(&path, &Array::from_vec(vec![1.5f64, 2.5, 3.5], [3])?.into())?;
/// let before = copied_bytes();
/// let array = crossdock::open(&path)?;
/// assert_eq!((array.shape(), array.get(&[2])?.as_f64()), (&[3][..], Some(3.5)));
/// let part = crossdock::open(format!("{}[1:]", path.display()))?;
/// assert_eq!(part.shape(), [2]);
/// assert_eq!(copied_bytes(), before);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// `is_unsupported` for a file of several arrays without a name, which it lists ([`open_all`] opens
/// them), for an unknown format, which it names if it can, and for a format whose feature is off;
/// otherwise as [`OpenOptions::open_all`].
pub fn open(path: impl AsRef<Path>) -> Result<DArray> {
    OpenOptions::new().open(path)
}

/// Opens a file of any format, read-only, and lists its arrays, named if the format has names.
///
/// # Errors
///
/// As [`OpenOptions::open_all`].
pub fn open_all(path: impl AsRef<Path>) -> Result<Contents> {
    OpenOptions::new().open_all(path)
}

impl OpenOptions {
    /// Opens one array of a file: the one with this [name](OpenOptions::name), the one that the
    /// text behind the path names (see [`open`]), or the only one.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open_all`] and [`Entry::open`](crate::exchange::files::Entry::open);
    /// `is_bounds` for a name that is not in the file; `is_unsupported`, naming the arrays, if
    /// there are several and no name is set.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<DArray> {
        let target = Target::new(path.as_ref().as_os_str())?;
        let contents = self.open_all(target.path())?;
        let selected = match &self.name {
            Some(name) => contents.get(name).map(|entry| Selected::One(entry, target.rest().to_owned())),
            None => target.select(&contents),
        };
        let opened = selected.and_then(|selected| match selected {
            Selected::One(entry, view) if view.is_empty() => entry.open(),
            Selected::One(entry, view) => entry.open()?.at(&view),
            Selected::All => contents.single()?.open(),
        });
        opened.map_err(|error| error.within(shown(target.path())))
    }

    /// Opens a file and lists its arrays: see [`open_all`](crate::exchange::files::open_all).
    ///
    /// # Errors
    ///
    /// Each names the path. `is_io` if the system does not open, map or read the file;
    /// `is_unsupported` for an unknown format, for another one than the expected one, for one that
    /// cannot be written in place if that is requested, and for a directory, a pipe or a device;
    /// otherwise as the function `from_buffer` of the format.
    pub fn open_all(&self, path: impl AsRef<Path>) -> Result<Contents> {
        let path = path.as_ref();
        let opened = self
            .check()
            .and_then(|()| source::open(path, self.writes_file()))
            .and_then(|file| self.load(file))
            .and_then(|buffer| {
                let headers = PageByPage::begin(&buffer);
                let contents = self.listed(buffer)?;
                // The entries keep the map.
                if let (Some(headers), false) = (headers, contents.entries().is_empty()) {
                    headers.end();
                }
                self.verified_if_asked(contents)
            });
        opened.map_err(|error| error.within(shown(path)))
    }

    /// The contents of the bytes of a file, in place where [`OpenOptions::open_all`] is. The buffer
    /// already is mapped, guarded and writable, or not: those options have no effect.
    ///
    /// ```
    /// use crossdock::{Array, buffer::Buffer, exchange::files::{Format, OpenOptions, npy}};
    ///
    /// let mut bytes = Vec::new();
    /// npy::write(&mut bytes, &Array::from_vec(vec![1.5f32, 2.5], [2])?.into())?;
    /// let contents = OpenOptions::new().read(Buffer::from_vec(bytes)?)?;
    /// assert_eq!((contents.format(), contents.single()?.shape()), (Format::Npy, &[2][..]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open_all`], without a path.
    pub fn read(&self, buffer: Buffer) -> Result<Contents> {
        self.listed(buffer).and_then(|contents| self.verified_if_asked(contents))
    }

    fn verified_if_asked(&self, contents: Contents) -> Result<Contents> {
        if self.verified { contents.verified() } else { Ok(contents) }
    }

    /// The contents, of which only the headers are read.
    fn listed(&self, buffer: Buffer) -> Result<Contents> {
        let format = match &self.expected {
            Expected::Raw(description) => {
                let array = raw::from_buffer(buffer, description)?;
                return Ok(Contents::of_array(Format::Raw, array, 0));
            }
            Expected::Format(Format::Raw) => {
                return Err(Error::new(Kind::Unsupported, "a raw file does not say what it holds")
                    .advising(Advice::DescribeRaw));
            }
            Expected::Format(format) => expected(*format, &first_bytes(&buffer)?)?,
            Expected::Any => told(&first_bytes(&buffer)?)?,
        };
        format.check_built()?;
        if self.writes_file() && matches!(format, Format::Npz | Format::Png | Format::Jpeg | Format::Torch) {
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "a {format} file cannot be written in place, since it is compressed or has checksums"
                ),
            )
            .advising(Advice::CopyToWrite));
        }
        match format {
            Format::Npy => npy::read(buffer).map(|(array, rest)| Contents::of_array(format, array, rest)),
            #[cfg(feature = "npz")]
            Format::Npz => crate::exchange::files::npz::read(buffer, self.limit),
            #[cfg(feature = "safetensors")]
            Format::Safetensors => crate::exchange::files::safetensors::read(buffer),
            #[cfg(feature = "png")]
            Format::Png => crate::exchange::files::png::read(buffer, self.limit),
            #[cfg(feature = "jpeg")]
            Format::Jpeg => crate::exchange::files::jpeg::read(buffer, self.limit),
            Format::Tiff => crate::exchange::files::tiff::read(buffer),
            Format::Gguf => crate::exchange::files::gguf::read(buffer),
            Format::Nifti => crate::exchange::files::nifti::read(buffer),
            Format::Pnm => crate::exchange::files::pnm::read(buffer),
            Format::Fits => crate::exchange::files::fits::read(buffer),
            Format::Mat => crate::exchange::files::mat::read(buffer),
            #[cfg(feature = "torch")]
            Format::Torch => crate::exchange::files::torch::read(buffer, self.limit),
            #[cfg(feature = "arrow-ipc")]
            Format::Arrow => crate::exchange::files::arrow_ipc::entries::contents(&self.read_table(buffer)?),
            // No bytes are recognised as a raw file, and `raw` was handled above.
            _ => Err(Error::new(
                Kind::Unsupported,
                format!("it is a {format} file, which does not describe its contents"),
            )),
        }
    }
}

/// The format of a file with these first bytes.
fn told(start: &[u8]) -> Result<Format> {
    // The reader of `.npy` files has the best error for an empty file.
    let format = magic::format(start).or(start.is_empty().then_some(Format::Npy));
    format.ok_or_else(|| {
        let found = magic::describe(start);
        let text = format!(
            "it is not an array file of a supported format (npy, npz, safetensors, PNG, JPEG, TIFF, GGUF, NIfTI, PGM, PPM, FITS, MATLAB, PyTorch, Arrow IPC): {}",
            found.fact()
        );
        Error::new(Kind::Unsupported, text).advising(found.advice())
    })
}

/// The expected format. If the first bytes match no format, the reader of the expected one has the
/// best error.
fn expected(format: Format, start: &[u8]) -> Result<Format> {
    match magic::format(start) {
        Some(other) if other != format => Err(Error::new(
            Kind::Unsupported,
            format!(
                "it is {} {other} file, but {} {format} file was expected",
                other.article(),
                format.article()
            ),
        )),
        _ => Ok(format),
    }
}
