//! What C passes by pointer: where a value is wanted, what is to be read, and text.

use std::ffi::{CStr, c_char, c_void};

use crate::status::{Result, Status};

/// Where the caller wants a value put.
///
/// # Invariants
///
/// 1. Null, or valid for a write of a `T` while the call lasts: the word of whoever calls from C, and only they make one.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Puts the value there; `INVALID_VALUE` where there is no room for it.
    pub(crate) fn set(self, value: T) -> Result {
        if self.0.is_null() { Err(Status::INVALID_VALUE) } else { self.set_if_wanted(value) }
    }

    /// Puts the value there, if it is wanted.
    pub(crate) fn set_if_wanted(self, value: T) -> Result {
        if !self.0.is_null() {
            // SAFETY: Out 1.
            unsafe { self.0.write_unaligned(value) };
        }
        Ok(())
    }
}

impl<T> Out<T> {
    /// Where another argument says that a value is wanted.
    pub(crate) fn at(pointer: *mut T) -> Self {
        Self(pointer)
    }
}

impl Out<c_void> {
    /// For a value whose type another argument tells.
    pub(crate) fn of<T>(self) -> Out<T> {
        Out(self.0.cast())
    }
}

/// Values to be read, one or several.
///
/// # Invariants
///
/// 1. Null, or valid for reads of as many `T` as the other arguments tell, while the call lasts: the word of whoever calls from C, and
///    only they make one.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The one of that number.
    pub(crate) fn get(&self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let at = self.0.wrapping_add(index);
        // SAFETY: In 1: the caller asks for no more than it was told there are.
        Ok(unsafe { at.read_unaligned() })
    }

    /// Where another argument says that values are.
    pub(crate) fn at(pointer: *const T) -> Self {
        Self(pointer)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// Text with a NUL at its end.
///
/// # Invariants
///
/// 1. Null, or text that ends with a NUL, while the call lasts: the word of whoever calls from C, and only they make one.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(crate) fn get(&self) -> Result<String> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: Text 1.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// Room for text.
///
/// # Invariants
///
/// 1. Null, or valid for writes of as many bytes as the argument beside it tells: the word of whoever calls from C, and only they make
///    one.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Room(*mut c_char);

impl Room {
    /// Puts as much of the text there as fits beside a NUL.
    pub(crate) fn fill(self, room: usize, text: &str) -> Result {
        if self.0.is_null() || room == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let bytes = &text.as_bytes()[..text.len().min(room - 1)];
        let to = self.0.cast::<u8>();
        // SAFETY: Room 1; the text is not there.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        let end = to.wrapping_add(bytes.len());
        // SAFETY: Room 1: one byte was left.
        unsafe { end.write(0) };
        Ok(())
    }
}

/// A function of the program, and what it is called with.
///
/// # Invariants
///
/// 1. Null, or a function that may be called on any thread, once, with what the argument beside it is: the word of whoever calls from C.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct HostFunction(Option<unsafe extern "C" fn(*mut c_void)>);

/// Sent to the thread that makes the call.
struct Data(*mut c_void);

// SAFETY: it is only handed to the function (HostFunction 1).
unsafe impl Send for Data {}

impl HostFunction {
    /// The call that is to be made.
    pub(crate) fn with(self, data: *mut c_void) -> Result<impl FnOnce() + Send> {
        let function = self.0.ok_or(Status::INVALID_VALUE)?;
        let data = Data(data);
        Ok(move || {
            let Data(data) = { data };
            // SAFETY: HostFunction 1.
            unsafe { function(data) }
        })
    }
}
