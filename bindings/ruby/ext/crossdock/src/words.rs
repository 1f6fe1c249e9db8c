//! What to do about an error, in Ruby's words: the names are those of the gem's signatures.

use crossdock::bindings::Advice;

/// Ruby's words for each advice, which follow the fact and a semicolon.
pub(crate) fn words(advice: Advice) -> &'static str {
    match advice {
        Advice::AwaitWork => "wait for it",
        Advice::CastOnCpu => "copy it to the CPU, and cast it there with `cast`",
        Advice::CastOrPickChannels => "cast it with `cast`, or pick channels by an index",
        Advice::ConvertByteOrder => "cast it with `cast` to the same type without < or >",
        Advice::ConvertElements => "convert the elements",
        Advice::Copy
        | Advice::ReadByValueOrCopy
        | Advice::RequestAnyStride
        | Advice::ShareOrCopy
        | Advice::SharePinOrCopy => "copy it with `copy`",
        Advice::CopyElements => "copy the elements with `to_a`",
        Advice::CopyThere => "copy it there",
        Advice::CopyToCpu | Advice::CopyToCpuOrExportDevice => "copy it to the CPU",
        Advice::CopyToShared => "copy it into shared memory with `to_shared_memory`",
        Advice::CopyToWrite => "copy it with `copy` to write it",
        Advice::CreateOnCpu => "create it on the CPU, and copy it there",
        Advice::Decompress => "decompress it first, as with the library zlib",
        Advice::Dequantize => "use a file of unquantized weights",
        Advice::DescribeRaw => "read its bytes, and describe them with `Crossdock::Array.from_string`",
        Advice::EnableFormat => "install the gem with support for it",
        Advice::FillNulls => "fill them, or leave them out",
        Advice::OpenColumns => "read it with the gem red-arrow, and import its columns with `from_arrow`",
        Advice::OpenFits => "save its arrays as .npy",
        Advice::OpenHdf5 => "save its datasets as .npy, as with h5py in Python",
        Advice::OpenImage => "save it as PNG",
        Advice::OpenMatlab => "save its arrays as .npy, as with SciPy in Python",
        Advice::OpenNetCdf => "read it with the gem ruby-netcdf, or save its variables as .npy",
        Advice::OpenNifti => "save its array as .npy, as with nibabel in Python",
        Advice::OpenPickle => "load it in Python, if its source is trusted, and save its arrays as .npy",
        Advice::OpenTable => "parse it with the library csv, and pass its rows to `Crossdock::Array[]`",
        Advice::OpenTiff => "decode it with RMagick, or save it as PNG",
        Advice::OpenAsFile => "read and write the file with `Crossdock.open` and `save`",
        Advice::OpenAsTable => "open the file without a name, as a table (`Crossdock.open`)",
        Advice::ImportIndirect => "import the object with `Crossdock.view`",
        Advice::InsertAxis => "insert an axis with the index `:new`",
        Advice::InsertAxisOrWhole => {
            "insert an axis with the index `:new`, or export it with `to_arrow(whole: true)`"
        }
        Advice::MapToWrite => "map it, or write to the copy",
        Advice::NullsBeside => {
            "fill them, leave them out, or import the truth values beside them with `from_arrow(column, as: :masked)`"
        }
        Advice::OneField => "export one field at a time with `field`",
        Advice::PinShareOrSeal => "lend it with `share_memory`, or copy it with `to_shared_memory`",
        Advice::RaiseOpenLimit => "save it in smaller parts",
        Advice::RaiseReceiveLimit => "let the peer send it in parts",
        Advice::RegisterCuda | Advice::RegisterOpenCl => "use memory of the CPU",
        Advice::RegisterProducer => "register one with `Crossdock.register`",
        Advice::SetFormat => "end the name so, or name the format with `save(path, format: :npy)`",
        Advice::SubArraysAsAxes => "make axes of them",
        Advice::TakeColumns => {
            "import them one by one with `from_arrow(column, as: :columns)`, or as records with `from_arrow(column, as: :records)`"
        }
        Advice::TakeChildren => "import them one by one with `from_arrow(column, as: :columns)`",
        Advice::TrustConsumer => "copy it with `copy`, or vouch for the consumer with `trust_readonly: true`",
        Advice::TrustLegacyConsumer => {
            "export the versioned struct, copy it with `copy`, or vouch for the consumer with `trust_readonly: true`"
        }
        Advice::ViewAsUint8 => "view them as uint8 with `view_as(:uint8)`",
    }
}
