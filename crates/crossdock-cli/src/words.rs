//! What to do about an error, in the command's words: the options are those of its `--help`.

use crossdock::bindings::Advice;

/// The command's words for each advice, which follow the fact and a semicolon.
pub(crate) fn words(advice: Advice) -> &'static str {
    match advice {
        Advice::AwaitWork => "wait for it",
        Advice::CastOnCpu => "copy it to the CPU, and convert it there",
        Advice::CastOrPickChannels => {
            "convert it with `--dtype`, or pick channels by a view such as photo.npy[..., 0]"
        }
        Advice::ConvertByteOrder => "convert it with `--dtype`",
        Advice::ConvertElements => "convert the elements",
        Advice::Copy
        | Advice::CopyElements
        | Advice::ImportIndirect
        | Advice::ReadByValueOrCopy
        | Advice::RequestAnyStride
        | Advice::ShareOrCopy
        | Advice::SharePinOrCopy
        | Advice::TrustConsumer
        | Advice::TrustLegacyConsumer => "copy it with `crossdock convert`",
        Advice::CopyThere => "copy it there",
        Advice::CopyToCpu | Advice::CopyToCpuOrExportDevice => "copy it to the CPU",
        Advice::CopyToShared => "copy it into shared memory with `lend --copy always`",
        Advice::CopyToWrite => "copy it with `crossdock convert` to write it",
        Advice::CreateOnCpu => "create it on the CPU, and copy it there",
        Advice::Decompress => "decompress it first, as with `gunzip`, `unxz` or `unzstd`",
        Advice::Dequantize => {
            "dequantize it in Python with the package gguf, or use a file of unquantized weights"
        }
        Advice::DescribeRaw => "describe what it holds, as `--raw` 'dtype=uint16; shape=480,640'",
        Advice::EnableFormat => "build the command with support for it",
        Advice::FillNulls | Advice::NullsBeside => "fill them, or leave them out",
        Advice::OpenAsTable => "name another column, as in trades.arrow:price, or open the file in Python",
        Advice::OpenColumns => "read it in Python with pyarrow, and save its columns as .npy or .npz",
        Advice::OpenFits => "read it in Python with astropy, and save its arrays as .npy or .npz",
        Advice::OpenHdf5 => "read it in Python with h5py, and save its datasets as .npy or .npz",
        Advice::OpenImage => "convert it to PNG first, as with ImageMagick",
        Advice::OpenMatlab => "read it in Python with SciPy, and save its arrays as .npy or .npz",
        Advice::OpenNetCdf => "read it in Python with xarray, and save its variables as .npy or .npz",
        Advice::OpenNifti => "read it in Python with nibabel, and save the array as .npy",
        Advice::OpenPickle => {
            "load it in Python, if its source is trusted, and save its arrays as .npy or .npz"
        }
        Advice::OpenTable => "read it in Python with NumPy or pandas, and save the array as .npy",
        Advice::OpenTiff => {
            "convert it first to an uncompressed TIFF whose channels are interleaved, as libtiff's `tiffcp` can"
        }
        Advice::OpenAsFile => "convert the file with `crossdock convert`",
        Advice::InsertAxis | Advice::InsertAxisOrWhole => "insert an axis with the view newaxis",
        Advice::MapToWrite => "map it, or write to the copy",
        Advice::OneField => "name one field, as in points.npy:.x",
        Advice::PinShareOrSeal => "lend it without `--copy`",
        Advice::RaiseOpenLimit => "save it in smaller parts",
        Advice::RaiseReceiveLimit => "send it in parts",
        Advice::RegisterCuda | Advice::RegisterOpenCl => "use memory of the CPU",
        Advice::RegisterProducer => "use a file in a known format",
        Advice::SetFormat => "end the name so, or name the format with `--to`",
        Advice::SubArraysAsAxes => "make axes of them",
        Advice::TakeColumns | Advice::TakeChildren => "import them one by one",
        Advice::ViewAsUint8 => "convert them with `--dtype uint8`",
    }
}
