//! All fuzz targets in one program: what they share, the library above all, is compiled and linked
//! once. `CROSSDOCK_FUZZ_TARGET` names the one that runs.

#![no_main]

use std::sync::LazyLock;

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

        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), targets::$name::run)),*];
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

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = std::env::var("CROSSDOCK_FUZZ_TARGET").expect("CROSSDOCK_FUZZ_TARGET names a target");
    let found = TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("there is no target `{wanted}`")).1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));
