//! The C struct of Arrow's C Stream interface, as it lies in memory. Source: `arrow/c/abi.h` of
//! Arrow 26.

use core::ffi::{c_char, c_int, c_void};

use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};

/// Columns of one type, one after the other, each of which is asked for. Its functions are called
/// by one thread at a time.
#[derive(Debug)]
#[repr(C)]
pub struct ArrowArrayStream {
    /// Fills in the type of all columns. Gives 0, or a number as `errno` has them.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// Fills in the next column, or one that is released where there is no more. Gives 0, or a
    /// number as `errno` has them.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// What the last call failed of, ended by NUL, until the next one; or null.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Frees what the struct refers to, and marks it as released. Called once. Columns stay.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// The producer's own.
    pub private_data: *mut c_void,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<ArrowArrayStream>() == 40 && offset_of!(ArrowArrayStream, get_schema) == 0);
    assert!(offset_of!(ArrowArrayStream, get_next) == 8);
    assert!(offset_of!(ArrowArrayStream, get_last_error) == 16);
    assert!(offset_of!(ArrowArrayStream, release) == 24 && offset_of!(ArrowArrayStream, private_data) == 32);
};
