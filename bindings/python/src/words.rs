//! What to do about an error, in Python's words: the names are those of the wheel's stub.

use crossdock::bindings::Advice;

/// What to do with an object that shares no memory, such as a list.
pub(crate) const COPY_OF_ELEMENTS: &str = "crossdock.array copies what has elements";

/// What to do with one of NumPy's dates.
pub(crate) const COPY_OF_DATE: &str = "crossdock.array(obj) copies its value";

/// What to do with a Pillow image whose pixels have another layout.
pub(crate) const COPY_OF_PIXELS: &str = "crossdock.asarray(image, copy=None) copies what numpy.asarray gives";

/// What else to do with masked elements.
pub(crate) const MASK_AS_NULLS: &str = ", and crossdock.to_arrow(x.data, validity=~x.mask) makes them null";

/// What to do with several chunks of a column, and with none.
pub(crate) const EACH_CHUNK: &str = "crossdock.from_arrow(obj, chunks=True) gives an array for each";
pub(crate) const NO_CHUNK: &str = "crossdock.from_arrow(obj, chunks=True) gives an empty list";

/// What to do with elements that no array has: text, lists, bits.
pub(crate) const AS_TABLE: &str =
    "crossdock.table(obj) takes tables of any types in place, and crossdock.column(obj) columns";

/// How an array goes to Arrow that is no column, but the only row of one.
pub(crate) const AS_ONE_TENSOR: &str =
    "crossdock.to_arrow(x, whole=True) hands it over in place, as one tensor";

/// Python's words for each advice, which follow the fact and a semicolon.
pub(crate) fn words(advice: Advice) -> &'static str {
    match advice {
        Advice::AwaitWork => "synchronize the device in the library that uses it",
        Advice::CastOnCpu => "copy it with `to_device(\"cpu\")`, and convert it there with `astype`",
        Advice::CastOrPickChannels => "convert it with `astype`, or pick channels by an index",
        Advice::ConvertByteOrder => "convert it with `astype`, as in `x.astype(\"=f8\")` for float64",
        Advice::ConvertElements => "convert the elements",
        Advice::Copy | Advice::ReadByValueOrCopy | Advice::RequestAnyStride | Advice::ShareOrCopy => {
            "copy it with `copy()`"
        }
        Advice::CopyElements => "copy the elements with `copy()`",
        Advice::CopyThere => "copy it there with `to_device`",
        Advice::CopyToCpu => "copy it with `to_device(\"cpu\")`",
        Advice::CopyToCpuOrExportDevice => {
            "copy it with `to_device(\"cpu\")`, or export it by `__arrow_c_device_array__`"
        }
        Advice::CopyToShared => "copy it into shared memory with `shared`",
        Advice::CopyToWrite => "copy it with `copy()` to write it",
        Advice::CreateOnCpu => "create it on the CPU, and copy it with `to_device`",
        Advice::Decompress => "decompress it first, as with `gzip` or `lzma`",
        Advice::Dequantize => "dequantize it with the package gguf, or use a file of unquantized weights",
        Advice::DescribeRaw => "read its bytes, and describe them with `Buffer(data).array(dtype, shape)`",
        Advice::EnableFormat => "install crossdock with support for it",
        Advice::FillNulls => "fill them, or leave them out",
        Advice::OpenColumns => "read it with pyarrow, and pass its columns to `from_arrow`",
        Advice::OpenFits => "open it with astropy, and pass the data to `asarray`",
        Advice::OpenHdf5 => "open it with h5py, and pass what a dataset reads to `asarray`",
        Advice::OpenImage => "decode it with Pillow, and pass the image to `asarray`",
        Advice::OpenMatlab => "load it with `scipy.io.loadmat`, and pass its arrays to `asarray`",
        Advice::OpenNetCdf => "open it with xarray, and pass its values to `asarray`",
        Advice::OpenNifti => "open it with nibabel, and pass the data to `asarray`",
        Advice::OpenPickle => {
            "load it with `pickle`, if its source is trusted, and save its arrays with `save`"
        }
        Advice::OpenTable => "read it with `numpy.loadtxt` or pandas, and pass the array to `asarray`",
        Advice::OpenTiff => "decode it with tifffile, and pass the array to `asarray`",
        Advice::OpenAsFile => "read the file with `open`",
        Advice::OpenAsTable => "open the file without a name, as a table (`open(path)`)",
        Advice::ImportIndirect => "import the object that exports the buffer with `asarray`",
        Advice::InsertAxis => "insert an axis with `x[None]`",
        Advice::InsertAxisOrWhole => {
            "insert an axis with `x[None]`, or export it with `to_arrow(x, whole=True)`"
        }
        Advice::MapToWrite => "map it, or write to the copy",
        Advice::NullsBeside => {
            "fill them, leave them out, or import the truth values beside them with `from_arrow(obj, validity=True)`"
        }
        Advice::OneField => "export one field at a time with `field`",
        Advice::PinShareOrSeal => "seal the memory with `shared(x, sealed=True)`",
        Advice::RaiseOpenLimit => "save it in smaller parts",
        Advice::RaiseReceiveLimit => "send it in parts",
        Advice::RegisterCuda | Advice::RegisterOpenCl => "see `devices()` for those that are there",
        Advice::RegisterProducer => "give it a protocol such as `__dlpack__`",
        Advice::SetFormat => "end the name of the file like this",
        Advice::SharePinOrCopy => {
            "copy it with `copy()`, or vouch with `frozen()` that nothing writes it any more"
        }
        Advice::SubArraysAsAxes => "make axes of them",
        Advice::TakeColumns => {
            "import them one by one with `from_arrow(obj)`, or as records with `asarray(obj, copy=None)`"
        }
        Advice::TakeChildren => "import them one by one with `from_arrow(obj)`",
        Advice::TrustConsumer => "copy it with `copy()`, or pass it by `__dlpack__`",
        Advice::TrustLegacyConsumer => {
            "request DLPack 1.0 by `__dlpack__(max_version=(1, 0))`, or copy it with `copy()`"
        }
        Advice::ViewAsUint8 => "convert them with `astype(\"uint8\")`",
    }
}

/// What may be done with a column that has nulls.
pub(crate) const OF_NULLS: &str =
    "`fill_nulls(value)` gives them a value, `mask()` tells them apart, and `to_list()` has None for them";

/// What gives such a column as an array of Python's values.
pub(crate) const AS_OBJECTS: &str = "np.asarray(x, dtype=object) has Python's values, with None for nulls";
