//! Bytes that somebody owns.

use std::ffi::c_void;

use crossdock::buffer::Buffer;
use crossdock::memory::{Birth, Place};

use crate::error::{Failure, Result};
use crate::foreign::{given, items};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::lease::Lease;

/// `XD_BIRTH_SOLE` of the header.
pub const XD_BIRTH_SOLE: i32 = 1;
/// `XD_BIRTH_CONSTANT` of the header.
pub const XD_BIRTH_CONSTANT: i32 = 2;
/// `XD_BIRTH_ALIASED` of the header.
pub const XD_BIRTH_ALIASED: i32 = 3;

/// `void release(void *context)`.
pub type Release = unsafe extern "C" fn(context: *mut c_void);

/// The owner of adopted memory.
///
/// # Invariants
///
/// 1. The function may be called with the context on any thread, and is so by the drop alone.
struct Owner {
    release: Option<Release>,
    context: *mut c_void,
}

// SAFETY: Owner 1.
unsafe impl Send for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: Owner 1.
            unsafe { release(self.context) };
        }
    }
}

// ===== made

/// New bytes, all zero.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_alloc(nbytes: usize, error: ErrorOut<'_>) -> Handle<Buffer> {
    fallible(error, || hand_over(Buffer::zeroed(nbytes)?))
}

/// A copy of the caller's bytes.
///
/// # Safety
///
/// As the header says of lists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_buffer_copy(
    bytes: *const c_void,
    nbytes: usize,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || {
        // SAFETY: the caller's word.
        let bytes = unsafe { items::<u8>(bytes.cast(), nbytes, "bytes") }?;
        hand_over(Buffer::copy_from_slice(bytes)?)
    })
}

/// The caller's memory, in place.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_buffer_adopt(
    data: *mut c_void,
    nbytes: usize,
    birth: i32,
    release: Option<Release>,
    context: *mut c_void,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    // Owner 1: the caller's word. It is there before anything can fail, so that whatever happens releases once.
    let owner = Owner { release, context };
    fallible(error, move || {
        let birth = birth_of(birth)?;
        let release = move || drop(owner);
        // SAFETY: the caller's word.
        hand_over(unsafe { Buffer::from_foreign(data.cast(), nbytes, Place::CPU, birth, release) }?)
    })
}

fn birth_of(number: i32) -> Result<Birth> {
    match number {
        XD_BIRTH_SOLE => Ok(Birth::Sole),
        XD_BIRTH_CONSTANT => Ok(Birth::Constant),
        XD_BIRTH_ALIASED => Ok(Birth::Aliased),
        other => Err(Failure::argument(format!(
            "the argument `birth` is {other}: it is {XD_BIRTH_SOLE} for memory that nobody else touches, {XD_BIRTH_CONSTANT} for \
             what nobody writes, {XD_BIRTH_ALIASED} for what others may write"
        ))),
    }
}

/// A handle on part of the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_slice(
    buffer: Option<&Buffer>,
    offset: usize,
    nbytes: usize,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || {
        let buffer = given(buffer, "buffer")?;
        // What does not fit a word lies behind every end.
        hand_over(buffer.slice(offset..offset.saturating_add(nbytes))?)
    })
}

/// A handle on the same bytes that never permits to write.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_readonly(buffer: Option<&Buffer>, error: ErrorOut<'_>) -> Handle<Buffer> {
    fallible(error, || hand_over(given(buffer, "buffer")?.try_clone()?.into_readonly()))
}

/// Another handle.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_clone(buffer: Option<&Buffer>, error: ErrorOut<'_>) -> Handle<Buffer> {
    fallible(error, || hand_over(given(buffer, "buffer")?.try_clone()?))
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_free(buffer: Handle<Buffer>) {
    answer(|| drop(buffer));
}

// ===== asked

/// How many bytes there are.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_nbytes(buffer: Option<&Buffer>) -> usize {
    answer(|| buffer.map_or(0, Buffer::nbytes))
}

/// Whether this handle refuses to write.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_is_readonly(buffer: Option<&Buffer>) -> bool {
    answer(|| buffer.is_some_and(Buffer::is_readonly))
}

/// Where the first byte is. It gives no permission to touch it.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_address(buffer: Option<&Buffer>) -> usize {
    answer(|| buffer.map_or(0, Buffer::address))
}

/// Permission to touch the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_lease(buffer: Option<&Buffer>, kind: i32, error: ErrorOut<'_>) -> Handle<Lease> {
    fallible(error, || hand_over(Lease::of_buffer(given(buffer, "buffer")?, kind)?))
}
