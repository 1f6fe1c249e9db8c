//! Arbitrary bytes as a FITS file: an error, or arrays in place, in the bytes of the file.

use crossdock::buffer::Buffer;
use crossdock::exchange::files::{Format, OpenOptions};
use crate::mapped;

fuzz_target!(|bytes: &[u8]| {
    let buffer = Buffer::from_vec(bytes.to_vec()).expect("memory for a file");
    let range = buffer.as_ptr().addr()..buffer.as_ptr().addr() + buffer.nbytes();
    match OpenOptions::new().format(Format::Fits).read(buffer) {
        Ok(contents) => mapped(&contents, range),
        Err(error) => assert!(error.is_malformed() || error.is_unsupported(), "{error:?}"),
    }
});
