//! The version of the library, the bytes that were copied, and the threads that share large work.

use std::ffi::{CStr, c_char};

use crossdock::bindings::threads;
use crossdock::memory::{copied_bytes, copied_bytes_here};

use crate::guard::{ErrorOut, answer, fallible};

const TEXT: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("a version has no zero in it"),
};

const fn number(text: &str) -> u32 {
    let (mut bytes, mut value) = (text.as_bytes(), 0);
    while let [digit, rest @ ..] = bytes {
        value = value * 10 + (*digit - b'0') as u32;
        bytes = rest;
    }
    value
}

const NUMBER: u32 = (number(env!("CARGO_PKG_VERSION_MAJOR")) << 16)
    | (number(env!("CARGO_PKG_VERSION_MINOR")) << 8)
    | number(env!("CARGO_PKG_VERSION_PATCH"));

/// The version of the running library, encoded as `XD_VERSION` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn xd_version() -> u32 {
    answer(|| NUMBER)
}

/// The version of the running library, as text.
#[unsafe(no_mangle)]
pub extern "C" fn xd_version_string() -> *const c_char {
    answer(|| TEXT.as_ptr())
}

/// Bytes of elements that all threads have copied since the program started.
#[unsafe(no_mangle)]
pub extern "C" fn xd_copied_bytes() -> u64 {
    answer(copied_bytes)
}

/// Bytes of elements that the calling thread has copied.
#[unsafe(no_mangle)]
pub extern "C" fn xd_copied_bytes_here() -> u64 {
    answer(copied_bytes_here)
}

/// The number of threads that share large work, the caller's among them.
#[unsafe(no_mangle)]
pub extern "C" fn xd_num_threads() -> usize {
    answer(threads::num_threads)
}

/// Sets the number of threads that share large work.
#[unsafe(no_mangle)]
pub extern "C" fn xd_set_num_threads(number: usize, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        threads::set_num_threads(number)?;
        Ok(true)
    })
}
