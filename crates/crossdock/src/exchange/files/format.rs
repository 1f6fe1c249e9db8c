//! The formats, and how each is recognised.

use std::fmt;
use std::path::Path;

use crate::error::{Advice, Error, Kind, Result};

/// A format of files. Opening a file recognises its format by the first bytes; [`Format::named`]
/// recognises a format by the ending of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// NumPy's file of one array.
    Npy,
    /// NumPy's archive of several arrays (feature `npz`).
    Npz,
    /// Tensors under names, with texts beside them (feature `safetensors`).
    Safetensors,
    /// An image, compressed without loss (feature `png`).
    Png,
    /// An image, compressed with loss (feature `jpeg`).
    Jpeg,
    /// An image whose pixels are not compressed; opened, and not written.
    Tiff,
    /// The weights of a model under names; opened, and not written.
    Gguf,
    /// A volume of medical imaging; opened, and not written.
    Nifti,
    /// An image as plain pixels, PGM or PPM; opened, and not written.
    Pnm,
    /// Images and tables of astronomy under names; opened, and not written.
    Fits,
    /// Variables of MATLAB under names, in its files of version 5; opened, and not written.
    Mat,
    /// A checkpoint of PyTorch: tensors under names (feature `torch`); opened, and not written.
    Torch,
    /// A table in Arrow's IPC format, as a file or a stream (feature `arrow-ipc`).
    Arrow,
    /// Elements and nothing else: the caller describes them.
    Raw,
}

struct FormatRow {
    format: Format,
    name: &'static str,
    endings: &'static [&'static str],
    /// The feature that is required and off.
    missing: Option<&'static str>,
}

macro_rules! row {
    ($format:ident, $name:literal, $endings:expr) => {
        FormatRow { format: Format::$format, name: $name, endings: $endings, missing: None }
    };
    ($format:ident, $name:literal, $endings:expr, $feature:literal) => {
        FormatRow {
            format: Format::$format,
            name: $name,
            endings: $endings,
            missing: if cfg!(feature = $feature) { None } else { Some($feature) },
        }
    };
}

const ROWS: [FormatRow; 14] = [
    row!(Npy, ".npy", &["npy"]),
    row!(Npz, ".npz", &["npz"], "npz"),
    row!(Safetensors, ".safetensors", &["safetensors"], "safetensors"),
    row!(Png, "PNG", &["png"], "png"),
    row!(Jpeg, "JPEG", &["jpg", "jpeg"], "jpeg"),
    row!(Tiff, "TIFF", &["tif", "tiff"]),
    row!(Gguf, "GGUF", &["gguf"]),
    row!(Nifti, "NIfTI", &["nii"]),
    row!(Pnm, "PGM or PPM", &["pgm", "ppm", "pnm"]),
    row!(Fits, "FITS", &["fits", "fit", "fts"]),
    row!(Mat, "MATLAB", &["mat"]),
    row!(Torch, "PyTorch", &["pt", "pth", "ckpt"], "torch"),
    row!(Arrow, "Arrow IPC", &["arrow", "feather", "arrows"], "arrow-ipc"),
    row!(Raw, "raw", &["raw", "bin"]),
];

impl Format {
    /// All of them.
    #[cfg(test)]
    const ALL: [Self; 14] = [
        Self::Npy,
        Self::Npz,
        Self::Safetensors,
        Self::Png,
        Self::Jpeg,
        Self::Tiff,
        Self::Gguf,
        Self::Nifti,
        Self::Pnm,
        Self::Fits,
        Self::Mat,
        Self::Torch,
        Self::Arrow,
        Self::Raw,
    ];

    fn row(self) -> &'static FormatRow {
        // A test asserts that every format has a row.
        ROWS.iter().find(|row| row.format == self).unwrap_or(&ROWS[0])
    }

    /// The format for the ending of a name, in lower or upper case.
    pub fn named(path: impl AsRef<Path>) -> Option<Self> {
        Self::of_ending(path.as_ref().extension()?.to_str()?)
    }

    /// The format of a file's ending, without the dot, in lower or upper case.
    #[doc(hidden)]
    pub fn of_ending(ending: &str) -> Option<Self> {
        let ending = ending.to_ascii_lowercase();
        ROWS.iter().find(|row| row.endings.contains(&&*ending)).map(|row| row.format)
    }

    /// The ending of its files' names, without the dot.
    pub fn ending(self) -> &'static str {
        self.row().endings[0]
    }

    /// Whether one file holds several arrays, each under a name.
    pub fn has_names(self) -> bool {
        matches!(
            self,
            Self::Npz | Self::Safetensors | Self::Gguf | Self::Fits | Self::Mat | Self::Torch | Self::Arrow
        )
    }

    /// Whether the format is written: other formats can only be opened.
    #[doc(hidden)]
    pub fn is_written(self) -> bool {
        matches!(self, Self::Npy | Self::Npz | Self::Safetensors | Self::Png | Self::Jpeg | Self::Raw)
    }

    /// The article before the name.
    #[doc(hidden)]
    pub fn article(self) -> &'static str {
        if self == Self::Arrow { "an" } else { "a" }
    }

    /// Fails if arrays are not written in the format.
    ///
    /// # Errors
    ///
    /// `is_unsupported`.
    pub(super) fn check_written(self) -> Result<()> {
        if self.is_written() {
            return Ok(());
        }
        let is_not = match self {
            Self::Arrow => "is written from a table, not from arrays",
            _ => "can be opened, but not written",
        };
        let article = self.article();
        let text =
            format!("{article} {self} file {is_not}; use .npy, .npz, .safetensors, .png, .jpg or .raw");
        Err(Error::new(Kind::Unsupported, text))
    }

    /// Fails if this build does not read and write the format.
    ///
    /// # Errors
    ///
    /// `is_unsupported`, naming the feature that is off.
    pub(super) fn check_built(self) -> Result<()> {
        match self.row().missing {
            None => Ok(()),
            Some(_) => {
                let article = self.article();
                let text = format!("{article} {self} file, for which this program was not built");
                Err(Error::new(Kind::Unsupported, text).advising(Advice::EnableFormat))
            }
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_row_and_an_ending_of_its_own() {
        for format in Format::ALL {
            assert_eq!(format.row().format, format);
            for ending in format.row().endings {
                assert_eq!(Format::named(format!("a.b.{}", ending.to_uppercase())), Some(format));
            }
        }
        assert_eq!(Format::named("npy"), None);
        assert_eq!(Format::named("a.npy.gz"), None);
    }
}
