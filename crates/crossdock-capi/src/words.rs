//! What to do about an error, in C's words: the names are those of the header.

use crossdock::bindings::Advice;

/// As [`words`], for columns and batches, which have a function of their own to copy them.
pub(crate) fn table_words(advice: Advice) -> &'static str {
    match advice {
        Advice::Copy
        | Advice::CopyToWrite
        | Advice::ReadByValueOrCopy
        | Advice::ShareOrCopy
        | Advice::SharePinOrCopy => "copy each column with `xd_column_compact`",
        Advice::CopyToCpu => "copy the arrays of its columns to the CPU with `xd_array_to_device`",
        other => words(other),
    }
}

/// C's words for each advice, which follow the fact and a semicolon.
pub(crate) fn words(advice: Advice) -> &'static str {
    match advice {
        Advice::AwaitWork => "wait for it with `xd_array_wait`",
        Advice::CastOnCpu => {
            "copy it to the CPU with `xd_array_to_device`, and cast it there with `xd_array_cast`"
        }
        Advice::CastOrPickChannels => "cast it with `xd_array_cast`, or pick channels with `xd_array_at`",
        Advice::ConvertByteOrder => {
            "cast it with `xd_array_cast` to the dtype from `xd_dtype_with_byte_order`"
        }
        Advice::ConvertElements => "convert the elements",
        Advice::Copy | Advice::RequestAnyStride => "copy it with `xd_array_copy`",
        Advice::CopyElements => "copy the elements from a lease of `xd_array_lease`",
        Advice::CopyThere => "copy it there with `xd_array_to_device`",
        Advice::CopyToCpu => "copy it to the CPU with `xd_array_to_device`",
        Advice::CopyToCpuOrExportDevice => {
            "copy it to the CPU with `xd_array_to_device`, or export it with `xd_array_to_arrow_device`"
        }
        Advice::CopyToShared => "copy it into shared memory with `xd_array_to_shared`",
        Advice::CopyToWrite => "copy it with `xd_array_copy` to write it",
        Advice::CreateOnCpu => "create it on the CPU, and copy it there with `xd_array_to_device`",
        Advice::Decompress => "decompress it first",
        Advice::Dequantize => "dequantize it by a library of GGML, or use a file of unquantized weights",
        Advice::DescribeRaw => "read its bytes, and describe them with `xd_array_from_buffer`",
        Advice::EnableFormat => "build the library with support for it",
        Advice::FillNulls => "fill them, or leave them out",
        Advice::OpenColumns => "read it with Arrow C++, and import its columns with `xd_array_from_arrow`",
        Advice::OpenFits => "read it with CFITSIO",
        Advice::OpenHdf5 => "read it with the HDF5 library",
        Advice::OpenImage => "decode it, or save it as .npy",
        Advice::OpenMatlab => "save its arrays as .npy",
        Advice::OpenNetCdf => "read it with the netCDF library",
        Advice::OpenNifti => "read it with niftilib",
        Advice::OpenPickle => "load it in Python, if its source is trusted, and save its arrays as .npy",
        Advice::OpenTable => "parse it, or save its arrays as .npy",
        Advice::OpenTiff => "decode it with libtiff",
        Advice::OpenAsFile => "read the file with `xd_array_open`",
        Advice::OpenAsTable => "read the file with `xd_reader_open`",
        Advice::ImportIndirect => "import the object with `xd_array_from_object`",
        Advice::InsertAxis => "insert an axis with `xd_array_reshape`",
        Advice::InsertAxisOrWhole => {
            "insert an axis with `xd_array_reshape`, or export it with `XD_EXPORT_WHOLE`"
        }
        Advice::MapToWrite => "map it without `XD_OPENING_COPIED`, or write to the copy",
        Advice::NullsBeside => {
            "fill them, leave them out, or import the truth values beside them by the argument `validity` of `xd_array_from_arrow`"
        }
        Advice::OneField => "export one field at a time with `xd_array_field`",
        Advice::PinShareOrSeal => "request `XD_LEASE_PIN` or `XD_LEASE_SHARE`",
        Advice::RaiseOpenLimit => "save it in smaller parts",
        Advice::RaiseReceiveLimit => "send it in parts",
        Advice::ReadByValueOrCopy => "read elements with `xd_array_get`, or copy it with `xd_array_copy`",
        Advice::RegisterCuda => "register its driver with `xd_device_register_cuda`",
        Advice::RegisterOpenCl => "register its driver with `xd_device_register_opencl`",
        Advice::RegisterProducer => "register one with `xd_memory_view_register`",
        Advice::SetFormat => {
            "end the name of the file in that of a format, such as .npy, or set the `format` of `xd_save_options`"
        }
        Advice::ShareOrCopy => "share it with `XD_LEASE_SHARE`, or copy it with `xd_array_copy`",
        Advice::SharePinOrCopy => {
            "share it with `XD_LEASE_SHARE`, pin it with `XD_LEASE_PIN`, or copy it with `xd_array_copy`"
        }
        Advice::SubArraysAsAxes => "make axes of them",
        Advice::TakeColumns => "import them one by one, or as records with `xd_array_copy_from_arrow`",
        Advice::TakeChildren => "import them one by one",
        Advice::TrustConsumer => {
            "copy it with `xd_array_copy`, or vouch for the consumer with `XD_EXPORT_TRUST_READONLY`"
        }
        Advice::TrustLegacyConsumer => {
            "export it with `xd_array_to_dlpack`, copy it with `xd_array_copy`, or vouch for the consumer with `XD_EXPORT_TRUST_READONLY`"
        }
        Advice::ViewAsUint8 => "view them as uint8 with `xd_array_view_as`",
    }
}
