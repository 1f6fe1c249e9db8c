//! Memory with an owner.

use std::ffi::c_void;

use crossdock::buffer::Buffer;
use crossdock::memory::{Birth, Place};

use crate::backing::{XD_BACKING_OTHER, backing_of, number_of_birth};
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

/// The owner of a context that the caller passed: that of adopted memory, or of functions.
///
/// # Invariants
///
/// 1. Any thread may call `release`, and the functions that the caller passed beside it, with the
///    context, until `release` is called. Only `drop` calls `release`.
pub(crate) struct CallerContext {
    pub(crate) context: *mut c_void,
    pub(crate) release: Option<Release>,
}

// SAFETY: CallerContext 1: any thread may call the functions with the context.
unsafe impl Send for CallerContext {}
// SAFETY: CallerContext 1: any thread may call the functions with the context.
unsafe impl Sync for CallerContext {}

impl Drop for CallerContext {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: CallerContext 1: any thread may call it with this context, and only this drop
            // calls it, once.
            unsafe { release(self.context) };
        }
    }
}

// ===== creation

/// New bytes, all zero.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_alloc(nbytes: usize, error: ErrorOut<'_>) -> Handle<Buffer> {
    fallible(error, || hand_over(Buffer::zeroed(nbytes)?))
}

/// A copy of the caller's bytes.
///
/// # Safety
///
/// `bytes` is null or points to `nbytes` bytes that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_buffer_copy(
    bytes: *const c_void,
    nbytes: usize,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || {
        // SAFETY: `# Safety`: `bytes` is null or points to `nbytes` bytes, which nothing writes
        // during the call; the slice is copied here.
        let bytes = unsafe { items::<u8>(bytes.cast(), nbytes, "bytes") }?;
        hand_over(Buffer::copy_from_slice(bytes)?)
    })
}

/// The caller's memory, zero-copy.
///
/// # Safety
///
/// Until `release` is called, or for ever if it is null:
///
/// 1. `data` points to `nbytes` initialised bytes, valid for reads, and unless `birth` is
///    `XD_BIRTH_CONSTANT` for writes.
/// 2. If `birth` is `XD_BIRTH_SOLE`, the bytes are accessed through the buffer only; if
///    `XD_BIRTH_CONSTANT`, nothing writes them; if `XD_BIRTH_ALIASED`, other parties may write them
///    outside this program's memory model or atomically.
/// 3. `release` is null, or may be called once with `context` on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_buffer_adopt(
    data: *mut c_void,
    nbytes: usize,
    birth: i32,
    release: Option<Release>,
    context: *mut c_void,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    // Clause 3 of `# Safety` is CallerContext 1. The owner exists before anything can fail, so that
    // `release` is called once on every path.
    let owner = CallerContext { context, release };
    fallible(error, move || {
        let birth = birth_of(birth)?;
        let release = move || drop(owner);
        // SAFETY: clauses 1 and 2 of `# Safety` are the contract of `from_foreign` for host memory
        // of this birth, until the closure drops `owner`.
        hand_over(unsafe { Buffer::from_foreign(data.cast(), nbytes, Place::CPU, birth, release) }?)
    })
}

fn birth_of(number: i32) -> Result<Birth> {
    match number {
        XD_BIRTH_SOLE => Ok(Birth::Sole),
        XD_BIRTH_CONSTANT => Ok(Birth::Constant),
        XD_BIRTH_ALIASED => Ok(Birth::Aliased),
        other => Err(Failure::argument(format!(
            "the argument `birth` is {other}; it must be {XD_BIRTH_SOLE} (no other code accesses the \
            memory), {XD_BIRTH_CONSTANT} (no code writes it) or {XD_BIRTH_ALIASED} (other code may write \
            it)"
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
        // Saturates, because a sum that overflows lies beyond every end.
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

// ===== queries

/// How many bytes there are.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_nbytes(buffer: Option<&Buffer>) -> usize {
    answer(|| buffer.map_or(0, Buffer::nbytes))
}

/// Whether this handle is read-only.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_is_readonly(buffer: Option<&Buffer>) -> bool {
    answer(|| buffer.is_some_and(Buffer::is_readonly))
}

/// The address of the first byte. It grants no access.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_address(buffer: Option<&Buffer>) -> usize {
    answer(|| buffer.map_or(0, Buffer::address))
}

/// A lease of the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_lease(buffer: Option<&Buffer>, kind: i32, error: ErrorOut<'_>) -> Handle<Lease> {
    fallible(error, || hand_over(Lease::of_buffer(given(buffer, "buffer")?, kind)?))
}

/// The kind of memory; `XD_BACKING_OTHER` for null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_backing(buffer: Option<&Buffer>) -> i32 {
    answer(|| buffer.map_or(XD_BACKING_OTHER, |buffer| backing_of(buffer.backing())))
}

/// Which other parties may access the memory; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_birth(buffer: Option<&Buffer>) -> i32 {
    answer(|| buffer.map_or(0, |buffer| number_of_birth(buffer.birth())))
}

/// The bytes that the handle keeps alive.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_retained_nbytes(buffer: Option<&Buffer>) -> usize {
    answer(|| buffer.map_or(0, Buffer::retained_nbytes))
}
