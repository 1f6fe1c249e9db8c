//! All fuzz targets, in one library: [`TARGETS`]. The program `fuzz` lets libFuzzer run one of
//! them, and a test runs each on every input of its corpus.

#[cfg(test)]
mod corpora;
mod dtypes;
mod roads;

use crate::dtypes::spellings;
use crate::roads::{bytes_of, mapped, onward};

/// The body of a target, over any bytes, or over the text that they begin with.
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:block) => {
        pub(crate) fn run($bytes: &[u8]) $body
    };
    (|$text:ident: &str| $body:block) => {
        pub(crate) fn run(bytes: &[u8]) {
            let begin = |error: std::str::Utf8Error| {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("checked up to there")
            };
            let $text = std::str::from_utf8(bytes).unwrap_or_else(begin);
            $body
        }
    };
}

macro_rules! targets {
    ($($name:ident)*) => {
        #[path = "../fuzz_targets"]
        mod targets {
            $(pub(crate) mod $name;)*
        }

        /// Each target by its name: what it does with any bytes, and panics if that is wrong.
        pub const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), targets::$name::run)),*];
    };
}

targets! {
    array_interface
    arrow
    arrow_columns
    arrow_device
    arrow_format
    arrow_ipc
    arrow_stream
    buffer_import
    channel
    dialects
    dlpack_import
    dtype_text
    fits
    gguf
    hold_manifest
    hold_message
    jpeg
    lent_json
    mat
    memory_view
    nifti
    npy
    npz
    pack
    pep3118
    png
    pnm
    raw_description
    safetensors
    safetensors_header
    same_memory
    shm_descriptor
    shm_receive
    target_text
    tensor_json
    tiff
    torch
    view_text
}

// The command's descriptions, in one of the targets, find it at the root of their crate.
use targets::lent_json::{failure, order_letter};
