//! What the driver tells of platforms, devices and its other objects.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use opencl_sys::*;

use crate::driver::Driver;
use crate::error::check;
use crossdock::{Error, Result};

type Info = unsafe extern "C" fn(*mut c_void, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;

/// What can be asked about.
#[derive(Clone, Copy)]
pub(crate) enum Subject {
    Platform(cl_platform_id),
    Device(cl_device_id),
    Context(cl_context),
    Queue(cl_command_queue),
    Memory(cl_mem),
    Event(cl_event),
}

impl Subject {
    fn ask(self, driver: &Driver) -> (Info, *mut c_void, &'static str) {
        match self {
            Self::Platform(id) => (driver.get_platform_info, id, "clGetPlatformInfo"),
            Self::Device(id) => (driver.get_device_info, id, "clGetDeviceInfo"),
            Self::Context(raw) => (driver.get_context_info, raw, "clGetContextInfo"),
            Self::Queue(raw) => (driver.get_queue_info, raw, "clGetCommandQueueInfo"),
            Self::Memory(raw) => (driver.get_memory_info, raw, "clGetMemObjectInfo"),
            Self::Event(raw) => (driver.get_event_info, raw, "clGetEventInfo"),
        }
    }
}

/// A type in which the driver answers.
///
/// # Safety
///
/// Every bit pattern is a value.
pub(crate) unsafe trait Answer: Copy {}

// SAFETY: integers.
unsafe impl Answer for u8 {}
// SAFETY: integers.
unsafe impl Answer for cl_int {}
// SAFETY: integers.
unsafe impl Answer for cl_uint {}
// SAFETY: integers.
unsafe impl Answer for cl_ulong {}
// SAFETY: integers.
unsafe impl Answer for usize {}
// SAFETY: any bits are a pointer, and none is followed here.
unsafe impl Answer for *mut c_void {}

/// One answer of a fixed size.
///
/// # Errors
///
/// What the driver says; where its answer is of another size.
///
/// # Safety
///
/// The subject is alive.
pub(crate) unsafe fn one<A: Answer>(driver: &Driver, subject: Subject, what: cl_uint) -> Result<A> {
    let (ask, subject, function) = subject.ask(driver);
    let mut answer = MaybeUninit::<A>::zeroed();
    let mut nbytes = 0;
    // SAFETY: the subject is alive, by the clause above; the answer has room for its size, and both
    // are valid for the call (Driver 1).
    let status = unsafe { ask(subject, what, size_of::<A>(), answer.as_mut_ptr().cast(), &raw mut nbytes) };
    check(status, function)?;
    if nbytes != size_of::<A>() {
        return Err(Error::device(format!(
            "{function} answered question {what:#x} with {nbytes} bytes in place of {}",
            size_of::<A>()
        )));
    }
    // SAFETY: zeroed, and every bit pattern is a value (Answer).
    Ok(unsafe { answer.assume_init() })
}

/// All of an answer whose size is the driver's to say.
///
/// # Errors
///
/// What the driver says; `is_out_of_memory`.
///
/// # Safety
///
/// The subject is alive.
pub(crate) unsafe fn all<A: Answer>(driver: &Driver, subject: Subject, what: cl_uint) -> Result<Vec<A>> {
    let (ask, subject, function) = subject.ask(driver);
    let mut nbytes = 0;
    // SAFETY: the subject is alive, by the clause above; only the size is asked for (Driver 1).
    let status = unsafe { ask(subject, what, 0, std::ptr::null_mut(), &raw mut nbytes) };
    check(status, function)?;
    let count = nbytes / size_of::<A>();
    let mut answer = Vec::new();
    answer.try_reserve_exact(count).map_err(|_| Error::out_of_memory(nbytes, align_of::<A>()))?;
    // SAFETY: every bit pattern is a value (Answer).
    answer.resize(count, unsafe { MaybeUninit::<A>::zeroed().assume_init() });
    // SAFETY: the subject is alive, and the answer has room for as many bytes as are told (Driver
    // 1).
    let status = unsafe {
        ask(subject, what, count * size_of::<A>(), answer.as_mut_ptr().cast(), std::ptr::null_mut())
    };
    check(status, function)?;
    Ok(answer)
}

/// An answer in text.
///
/// # Errors
///
/// As [`all`].
///
/// # Safety
///
/// The subject is alive.
pub(crate) unsafe fn text(driver: &Driver, subject: Subject, what: cl_uint) -> Result<String> {
    // SAFETY: the subject is alive, by the clause above.
    let bytes = unsafe { all::<u8>(driver, subject, what) }?;
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).trim().to_owned())
}
