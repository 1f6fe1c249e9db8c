//! Pointer arguments from C: outputs, inputs, and text.

use std::ffi::{CStr, c_char, c_void};

use crate::status::{Result, Status};

/// An output of the caller.
///
/// # Invariants
///
/// 1. Null, or valid for a write of a `T` during the call. The caller in C guarantees this, of the
///    argument itself or of an address that another argument holds.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes the value; `INVALID_VALUE` for null.
    pub(crate) fn set(self, value: T) -> Result {
        if self.0.is_null() { Err(Status::INVALID_VALUE) } else { self.set_if_wanted(value) }
    }

    /// Writes the value, unless the pointer is null.
    pub(crate) fn set_if_wanted(self, value: T) -> Result {
        if !self.0.is_null() {
            // SAFETY: the pointer is not null by the check above, so it is valid for an unaligned
            // write of a `T` (Out 1).
            unsafe { self.0.write_unaligned(value) };
        }
        Ok(())
    }
}

impl<T> Out<T> {
    /// An output at an address that another argument holds.
    pub(crate) fn at(pointer: *mut T) -> Self {
        Self(pointer)
    }
}

impl Out<c_void> {
    /// For a value whose type another argument determines.
    pub(crate) fn of<T>(self) -> Out<T> {
        Out(self.0.cast())
    }
}

/// An input of one or several values.
///
/// # Invariants
///
/// 1. Null, or valid during the call for reads of as many `T` as other arguments state. The caller
///    in C guarantees this, of the argument itself or of an address that another argument holds.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The value at an index.
    pub(crate) fn get(&self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let at = self.0.wrapping_add(index);
        // SAFETY: the pointer is not null by the check above, and the functions of the driver pass
        // indices below the stated count only, so the value is readable (In 1).
        Ok(unsafe { at.read_unaligned() })
    }

    /// An input at an address that another argument holds.
    pub(crate) fn at(pointer: *const T) -> Self {
        Self(pointer)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// A C string.
///
/// # Invariants
///
/// 1. Null, or a C string during the call, as the caller in C guarantees.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(crate) fn get(&self) -> Result<String> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null by the check above, so it is a C string, which is copied
        // during the call (Text 1).
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// An output for text.
///
/// # Invariants
///
/// 1. Null, or valid for writes of as many bytes as the argument beside it states, as the caller in
///    C guarantees.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Room(*mut c_char);

impl Room {
    /// Writes as much of the text as fits, and a terminating zero.
    pub(crate) fn fill(self, room: usize, text: &str) -> Result {
        if self.0.is_null() || room == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let bytes = &text.as_bytes()[..text.len().min(room - 1)];
        let to = self.0.cast::<u8>();
        // SAFETY: the pointer is valid for `room` bytes (Room 1), which are more than `bytes`; the
        // text is this crate's own and does not overlap them.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        let end = to.wrapping_add(bytes.len());
        // SAFETY: `bytes` has at most `room - 1` bytes, so `end` is within the `room` bytes that
        // are valid for writes (Room 1).
        unsafe { end.write(0) };
        Ok(())
    }
}

/// A function of the program, called by a stream.
///
/// # Invariants
///
/// 1. Null, or a function that may be called once, on any thread, with the argument beside it. The
///    caller in C guarantees this.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct HostFunction(Option<unsafe extern "C" fn(*mut c_void)>);

/// The argument of the function, sent to the thread that calls it.
struct Data(*mut c_void);

// SAFETY: the pointer is only passed to the function, which may be called with it on any thread
// (HostFunction 1).
unsafe impl Send for Data {}

impl HostFunction {
    /// The call to make.
    pub(crate) fn with(self, data: *mut c_void) -> Result<impl FnOnce() + Send> {
        let function = self.0.ok_or(Status::INVALID_VALUE)?;
        let data = Data(data);
        Ok(move || {
            let Data(data) = { data };
            // SAFETY: the function is not null by the check above, and this closure calls it once,
            // with the argument that it belongs to (HostFunction 1).
            unsafe { function(data) }
        })
    }
}
