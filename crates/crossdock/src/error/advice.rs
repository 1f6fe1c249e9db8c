//! Advice: what a caller can do about an error, as a value beside the fact.
//!
//! The text of an error is a fact that reads the same in every language; each language renders the
//! advice in its own words, by one exhaustive `match`. Rust's words are here.
//!
//! Reasons: `DESIGN.md`, "An error keeps its kind private".

use std::fmt;

/// Defines the enum and the list of its variants together, so that the list is complete.
macro_rules! advice {
    ($($(#[$doc:meta])* $name:ident => $rust:literal,)*) => {
        /// A way out of an error. Each language has its own words for it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Advice {
            $($(#[$doc])* $name,)*
        }

        impl Advice {
            /// Every advice, for tests of the words.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The words for Rust programs.
            pub fn in_rust(self) -> &'static str {
                match self {
                    $(Self::$name => $rust,)*
                }
            }
        }
    };
}

advice! {
    /// Wait for in-flight work of a device.
    AwaitWork => "wait for it (`Buffer::events` lists it)",
    /// Convert on the CPU what no kernel of the device converts.
    CastOnCpu => "copy it to the CPU (`copy_to`), and cast it there",
    /// Convert the elements, or pick channels, to save an image.
    CastOrPickChannels => "cast it (`cast`), or pick channels (`slice`)",
    /// Convert elements to native byte order.
    ConvertByteOrder => "convert it (`to_byte_order`)",
    /// Convert the elements of another library's tensor, or request their type.
    ConvertElements => "convert them, or ask for the type that they have",
    /// Copy the array.
    Copy => "copy it (`to_order`)",
    /// Copy the elements, where their memory itself was to be taken.
    CopyElements => "read it and copy the elements (`read()?.to_vec()`)",
    /// Copy the array to the requested device.
    CopyThere => "copy it there (`copy_to`)",
    /// Copy the array to memory of the CPU.
    CopyToCpu => "copy it to the CPU (`copy_to`)",
    /// Copy the array to memory of the CPU, or use Arrow's interface for devices.
    CopyToCpuOrExportDevice => "copy it to the CPU (`copy_to`), or export it by `export_device`",
    /// Copy the array into shared memory.
    CopyToShared => "copy it into shared memory (`to_shared`), or send the descriptor by other means",
    /// Copy read-only memory, to write the copy.
    CopyToWrite => "read it or pin it, or write to a copy (`to_order`)",
    /// Create the array in memory of the CPU, then copy it to the device.
    CreateOnCpu => "create it on the CPU, and copy it there (`copy_to`)",
    /// Decompress a file before it is opened.
    Decompress => "decompress it first",
    /// Decode quantized elements by another library.
    Dequantize => "dequantize it by a library of GGML, or use a file of unquantized weights",
    /// Describe the contents of a file without a header.
    DescribeRaw => "describe its contents (`OpenOptions::raw`)",
    /// Build with support for a file format.
    EnableFormat => "enable the feature of crossdock with the name of the format",
    /// Fill null elements, or leave them out.
    FillNulls => "fill them, or leave them out",
    /// Read packed elements by the readers of this library.
    OpenAsFile => "read and write the file by `exchange::files`, which unpacks and packs them",
    /// Open the file of a column as a table.
    OpenAsTable => "open the file as a table (`OpenOptions::open_table`)",
    /// Open a file of columns by a library of Arrow.
    OpenColumns => "read it with the crates of Arrow, and import its columns (`exchange::protocol::arrow`)",
    /// Open a FITS file by another library.
    OpenFits => "read it with a crate for FITS files",
    /// Open an HDF5 file by another library.
    OpenHdf5 => "read it with a crate for HDF5 files",
    /// Decode an image by another library.
    OpenImage => "decode it with the crate image, or save it as PNG",
    /// Open a MATLAB file by another library.
    OpenMatlab => "read it with the crate matfile",
    /// Open a netCDF file by another library.
    OpenNetCdf => "read it with the crate netcdf",
    /// Open a NIfTI file by another library.
    OpenNifti => "read it with the crate nifti",
    /// Open a pickle in Python.
    OpenPickle => "load it in Python, if its source is trusted, and save its arrays as .npy or .npz",
    /// Decode a TIFF image by another library.
    OpenTiff => "decode it with the crate tiff",
    /// Open a table by another library.
    OpenTable => "parse it with the crate csv",
    /// Import an array behind pointers by the function for these.
    ImportIndirect => "import it by `DArray::from_indirect`",
    /// Insert an axis.
    InsertAxis => "insert an axis (`insert_axis`)",
    /// Insert an axis, or export the array as one row.
    InsertAxisOrWhole => "insert an axis (`insert_axis`), or export it whole (`ExportOptions::whole`)",
    /// Map a file to write it, or do not request write access.
    MapToWrite => "map it, or open it without `writable`: the copy can be written",
    /// Import the nulls of a column as a second array.
    NullsBeside =>
        "fill them, leave them out, or import the truth values beside them (`into_array_with_validity`)",
    /// Export one field of records at a time.
    OneField => "export one field at a time (`field`)",
    /// Request a lease that reaches another process, or seal the memory.
    PinShareOrSeal => "request a pin or share lease, or seal the memory (`into_sealed`) to be read",
    /// Open a file with a higher limit on decoded bytes.
    RaiseOpenLimit => "raise the limit with which it is opened (`OpenOptions::limit`)",
    /// Receive with a higher limit.
    RaiseReceiveLimit => "raise `most_nbytes` for a peer that is trusted",
    /// Read the elements by value, or copy the array.
    ReadByValueOrCopy => "read elements by value, or copy the array (`to_order`)",
    /// Register the devices of CUDA.
    RegisterCuda => "call `crossdock_cuda::register()`",
    /// Register the devices of OpenCL.
    RegisterOpenCl => "call `crossdock_opencl::register()`",
    /// Register a producer.
    RegisterProducer => "register one (`view::register`), or pass what implements `Producer` to `view`",
    /// Request a matrix with strides of any length.
    RequestAnyStride => "ask for a matrix with strides of any length (`Dyn`)",
    /// Name the format of a new file.
    SetFormat => "set the format (`SaveOptions::format`)",
    /// Access overlapping elements without exclusivity, or copy the array.
    ShareOrCopy => "share it (`share`), or copy it (`to_order`)",
    /// Access memory that another owner may write by a lease that permits it, or copy it.
    SharePinOrCopy => "share it (`share`), pin it (`pin`) or copy it (`to_order`)",
    /// Make axes of the elements that are arrays.
    SubArraysAsAxes => "make axes of them",
    /// Import the columns of a struct one by one, or as records.
    TakeColumns => "import them one by one (`into_columns`), or as records (`into_records`)",
    /// Convert the children of a struct one by one, or to records.
    TakeChildren => "take its children one by one, or make records of them (`DArray::from_columns`)",
    /// Vouch for a consumer that it does not write.
    TrustConsumer => "copy it (`to_order`), or vouch for the consumer (`trust_readonly`)",
    /// Use DLPack's versioned struct, or vouch for a consumer of the legacy one.
    TrustLegacyConsumer =>
        "export the versioned struct, copy the array (`to_order`), or vouch for the consumer (`trust_legacy_readonly`)",
    /// View truth values of a byte as numbers.
    ViewAsUint8 => "view them as uint8 (`view_as`)",
}

/// The words of a language for each advice.
pub type Words = fn(Advice) -> &'static str;

/// A fact, and the advice in the words of one language: `fact; advice`.
pub(crate) struct InWords<F> {
    pub(crate) fact: F,
    pub(crate) advice: Option<Advice>,
    pub(crate) words: Words,
}

impl<F: fmt::Display> fmt::Display for InWords<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fact.fmt(f)?;
        match self.advice {
            Some(advice) => write!(f, "; {}", (self.words)(advice)),
            None => Ok(()),
        }
    }
}

/// A reason in words: a fact, which may have advice beside it. A `String` or `&str` is converted by
/// `into`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    fact: String,
    advice: Option<Advice>,
}

impl Explanation {
    /// The fact, with advice if there is any.
    pub fn new(fact: impl Into<String>, advice: impl Into<Option<Advice>>) -> Self {
        Self { fact: fact.into(), advice: advice.into() }
    }

    /// The fact.
    pub fn fact(&self) -> &str {
        &self.fact
    }

    /// The advice.
    pub fn advice(&self) -> Option<Advice> {
        self.advice
    }

    /// The fact, and the advice in the words of a language.
    pub fn in_words(&self, words: Words) -> impl fmt::Display {
        InWords { fact: &*self.fact, advice: self.advice, words }
    }
}

impl From<String> for Explanation {
    fn from(fact: String) -> Self {
        Self { fact, advice: None }
    }
}

impl From<&str> for Explanation {
    fn from(fact: &str) -> Self {
        fact.to_owned().into()
    }
}

impl fmt::Display for Explanation {
    /// In Rust's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_words(Advice::in_rust).fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::{Error, Kind};

    #[test]
    fn every_advice_has_words_that_follow_a_semicolon() {
        for &advice in Advice::ALL {
            let words = advice.in_rust();
            assert!(words.starts_with(|first: char| first.is_ascii_lowercase()), "{advice:?}: {words}");
            assert!(!words.ends_with(['.', ';', ' ']), "{advice:?}: {words}");
        }
    }

    #[test]
    fn context_and_repetition_keep_the_advice() {
        let error = Error::new(Kind::Layout, "the rows overlap").advising(Advice::Copy);
        assert_eq!(error.to_string(), "the rows overlap; copy it (`to_order`)");
        let error = error.again().within("exporting a column");
        assert_eq!(error.to_string(), "exporting a column: the rows overlap; copy it (`to_order`)");
        assert_eq!(error.fact().to_string(), "exporting a column: the rows overlap");
        assert_eq!(
            error.in_words(|_| "x.copy() copies it").to_string(),
            "exporting a column: the rows overlap; x.copy() copies it"
        );
        assert!(error.is_layout() && error.advice() == Some(Advice::Copy));
    }
}
