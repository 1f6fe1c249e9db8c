//! The C struct of Arrow's C Stream interface. Source: `arrow/c/abi.h` of Arrow 26.

use core::ffi::{c_char, c_int, c_void};

use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};

/// A sequence of columns of one type; the consumer requests each. One thread at a time calls its
/// functions.
#[must_use = "what is not given to a consumer is released by its `release`"]
#[derive(Debug)]
#[repr(C)]
pub struct ArrowArrayStream {
    /// Fills in the type of all columns. Returns 0, or a code of `errno`.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// Fills in the next column, or a released one at the end. Returns 0, or a code of `errno`.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// The reason why the last call failed, ended by NUL, valid until the next call; or null.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Frees what the struct refers to, and marks it as released. Called once. Columns outlive it.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// The producer's private data.
    pub private_data: *mut c_void,
}

/// A sequence of columns of one type in the memory of one kind of device; otherwise as
/// [`ArrowArrayStream`].
#[must_use = "what is not given to a consumer is released by its `release`"]
#[derive(Debug)]
#[repr(C)]
pub struct ArrowDeviceArrayStream {
    /// The kind of device of all columns, with DLPack's numbers.
    pub device_type: i32,
    /// Fills in the type of all columns. Returns 0, or a code of `errno`.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowDeviceArrayStream, *mut ArrowSchema) -> c_int>,
    /// Fills in the next column, or a released one at the end. Returns 0, or a code of `errno`.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowDeviceArrayStream, *mut ArrowDeviceArray) -> c_int>,
    /// The reason why the last call failed, ended by NUL, valid until the next call; or null.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowDeviceArrayStream) -> *const c_char>,
    /// Frees what the struct refers to, and marks it as released. Called once. Columns outlive it.
    pub release: Option<unsafe extern "C" fn(*mut ArrowDeviceArrayStream)>,
    /// The producer's private data.
    pub private_data: *mut c_void,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<ArrowArrayStream>() == 40 && offset_of!(ArrowArrayStream, get_schema) == 0);
    assert!(offset_of!(ArrowArrayStream, get_next) == 8);
    assert!(offset_of!(ArrowArrayStream, get_last_error) == 16);
    assert!(offset_of!(ArrowArrayStream, release) == 24 && offset_of!(ArrowArrayStream, private_data) == 32);
    assert!(size_of::<ArrowDeviceArrayStream>() == 48);
    assert!(offset_of!(ArrowDeviceArrayStream, device_type) == 0);
    assert!(offset_of!(ArrowDeviceArrayStream, get_schema) == 8);
    assert!(offset_of!(ArrowDeviceArrayStream, get_next) == 16);
    assert!(offset_of!(ArrowDeviceArrayStream, get_last_error) == 24);
    assert!(offset_of!(ArrowDeviceArrayStream, release) == 32);
    assert!(offset_of!(ArrowDeviceArrayStream, private_data) == 40);
};
