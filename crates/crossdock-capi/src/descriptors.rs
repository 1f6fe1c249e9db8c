//! Descriptors that lead to memory, and sockets that carry them. Only POSIX systems have them.

use std::ffi::c_char;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crossdock::buffer::Buffer;
use crossdock::exchange::protocol::shm::{self, Description, ReceiveOptions};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::error::{Failure, Result, XD_ERROR_IO, XD_ERROR_UNSUPPORTED};
use crate::export::policy_of;
use crate::foreign::{emptied, given, string, text};
use crate::guard::{ErrorOut, fallible};
use crate::handle::{Handle, hand_over};
use crate::lease::request_of;

// ===== arguments

/// A descriptor of the caller, which stays the caller's.
///
/// # Errors
///
/// `argument` for a negative number.
///
/// # Safety
///
/// The number is negative, or the caller keeps the descriptor open while the result is used.
pub(crate) unsafe fn borrowed<'a>(fd: i32, name: &str) -> Result<BorrowedFd<'a>> {
    if fd < 0 {
        return Err(Failure::argument(format!(
            "the argument `{name}` is {fd}; a descriptor is not negative"
        )));
    }
    // SAFETY: the check above excludes -1; `# Safety`: the caller keeps it open.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// A duplicate of a descriptor of the caller.
///
/// # Errors
///
/// As [`borrowed`]; `io` if the system has none left.
///
/// # Safety
///
/// As [`borrowed`], for the call.
pub(crate) unsafe fn duplicated(fd: i32) -> Result<OwnedFd> {
    // SAFETY: `# Safety`: the caller keeps it open during the call.
    let fd = unsafe { borrowed(fd, "fd") }?;
    fd.try_clone_to_owned().map_err(|error| {
        let text = format!("descriptor {} could not be duplicated: {error}", fd.as_raw_fd());
        Failure::of_kind(XD_ERROR_IO, text)
    })
}

/// A socket of the caller, which is not closed.
///
/// # Safety
///
/// As [`borrowed`].
unsafe fn socket_of(fd: i32) -> Result<ManuallyDrop<UnixStream>> {
    // SAFETY: `# Safety`: the caller keeps the descriptor open.
    let fd = unsafe { borrowed(fd, "socket") }?;
    // SAFETY: `ManuallyDrop` never closes the descriptor, so that it stays the caller's; operations
    // on one that is no Unix socket fail in the system.
    Ok(ManuallyDrop::new(unsafe { UnixStream::from_raw_fd(fd.as_raw_fd()) }))
}

// ===== memory

/// The descriptor behind shared memory or a mapped file, and the place of the bytes in it.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_fd(
    buffer: Option<&Buffer>,
    fd: Option<&mut MaybeUninit<i32>>,
    offset: Option<&mut MaybeUninit<u64>>,
    error: ErrorOut<'_>,
) -> bool {
    let (fd, offset) = (emptied(fd, -1), emptied(offset, 0));
    fallible(error, || {
        let (buffer, fd) = (given(buffer, "buffer")?, given(fd, "fd")?);
        let (found, at) = buffer.descriptor().ok_or_else(|| {
            let nbytes = buffer.nbytes();
            let text = format!(
                "no descriptor leads to these {nbytes} bytes: allocate them by `xd_buffer_shared`, or in a \
                pool of `xd_pool_shareable`"
            );
            Failure::of_kind(XD_ERROR_UNSUPPORTED, text)
        })?;
        *fd = found.as_raw_fd();
        if let Some(offset) = offset {
            *offset = at;
        }
        Ok(true)
    })
}

/// Shared memory of another process, by its descriptor.
///
/// # Safety
///
/// `fd` is negative, or stays open during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_buffer_map_fd(
    fd: i32,
    offset: u64,
    nbytes: usize,
    writable: bool,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || {
        // SAFETY: `# Safety`: `fd` is negative, or stays open during the call.
        hand_over(Buffer::map_shared(unsafe { duplicated(fd) }?, offset, nbytes, writable)?)
    })
}

// ===== descriptors and descriptions

/// A descriptor for another process, and the description of the array in it.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_to_fd(
    array: Option<&XdArray>,
    lease: i32,
    flags: u32,
    fd: Option<&mut MaybeUninit<i32>>,
    error: ErrorOut<'_>,
) -> *mut c_char {
    let fd = emptied(fd, -1);
    fallible(error, || {
        let (array, fd) = (array_of(array, "array")?, given(fd, "fd")?);
        let exported = shm::export(array, &request_of(lease)?.copy(policy_of(flags, 0)?))?;
        let description = string(exported.description().to_text()?)?;
        *fd = exported.into_fd().into_raw_fd();
        Ok(description)
    })
}

/// The array that a descriptor leads to.
///
/// # Safety
///
/// 1. `fd` is negative, or stays open during the call.
/// 2. `description` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_fd(
    fd: i32,
    description: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        // SAFETY: clause 2: null or a C string that nothing writes during the call.
        let description: Description = unsafe { text(description, "description") }?.parse()?;
        // SAFETY: clause 1: `fd` is negative, or stays open during the call.
        hand_over_array(shm::import(unsafe { duplicated(fd) }?, &description)?)
    })
}

// ===== sockets

/// Sends an array to another process.
///
/// # Safety
///
/// `socket` is negative, or stays open during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_send(
    array: Option<&XdArray>,
    socket: i32,
    lease: i32,
    flags: u32,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let array = array_of(array, "array")?;
        // SAFETY: `# Safety`: `socket` is negative, or stays open during the call.
        let socket = unsafe { socket_of(socket) }?;
        let exported = shm::export(array, &request_of(lease)?.copy(policy_of(flags, 0)?))?;
        shm::send(&socket, &exported)?;
        Ok(true)
    })
}

/// Receives an array of another process; null without an error at the end.
///
/// # Safety
///
/// `socket` is negative, or stays open during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_receive(
    socket: i32,
    most_nbytes: u64,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        // SAFETY: `# Safety`: `socket` is negative, or stays open during the call.
        let socket = unsafe { socket_of(socket) }?;
        let options = match most_nbytes {
            0 => ReceiveOptions::new(),
            most => ReceiveOptions::new().most_nbytes(most),
        };
        shm::receive_with(&socket, &options)?.map_or(Ok(None), hand_over_array)
    })
}
