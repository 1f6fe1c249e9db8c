//! Queries of platforms, devices and the driver's other objects.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use opencl_sys::*;

use crate::driver::Driver;
use crate::error::check;
use crossdock::{Error, Result};

type Info = unsafe extern "C" fn(*mut c_void, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;

/// The subject of a query.
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

/// The type of an answer.
///
/// # Safety
///
/// Every bit pattern of the type, which has no padding, is a valid value.
pub(crate) unsafe trait Answer: Copy {}

// SAFETY: `u8` is an integer: every bit pattern is a valid value, and it has no padding.
unsafe impl Answer for u8 {}
// SAFETY: `cl_int` is an integer: every bit pattern is a valid value, and it has no padding.
unsafe impl Answer for cl_int {}
// SAFETY: `cl_uint` is an integer: every bit pattern is a valid value, and it has no padding.
unsafe impl Answer for cl_uint {}
// SAFETY: `cl_ulong` is an integer: every bit pattern is a valid value, and it has no padding.
unsafe impl Answer for cl_ulong {}
// SAFETY: `usize` is an integer: every bit pattern is a valid value, and it has no padding.
unsafe impl Answer for usize {}
// SAFETY: every bit pattern is a valid raw pointer, which has no padding and is not dereferenced
// here.
unsafe impl Answer for *mut c_void {}

/// An answer of a fixed size.
///
/// # Errors
///
/// The driver's error; `is_device` where its answer has another size.
///
/// # Safety
///
/// The subject is an object of this driver, and is alive.
pub(crate) unsafe fn one<A: Answer>(driver: &Driver, subject: Subject, what: cl_uint) -> Result<A> {
    let (ask, subject, function) = subject.ask(driver);
    let mut answer = MaybeUninit::<A>::zeroed();
    let mut nbytes = 0;
    // SAFETY: `# Safety`: the subject is alive; `answer` has room for `size_of::<A>()` bytes, and
    // both outputs are local variables (Driver 1).
    let status = unsafe { ask(subject, what, size_of::<A>(), answer.as_mut_ptr().cast(), &raw mut nbytes) };
    check(status, function)?;
    if nbytes != size_of::<A>() {
        return Err(Error::device(format!(
            "{function} answered query {what:#x} with {nbytes} bytes instead of {}",
            size_of::<A>()
        )));
    }
    // SAFETY: the answer was zeroed before the call, and every bit pattern is a valid value
    // (`Answer`).
    Ok(unsafe { answer.assume_init() })
}

/// An answer whose size the driver reports.
///
/// # Errors
///
/// The driver's error; `is_out_of_memory`.
///
/// # Safety
///
/// The subject is an object of this driver, and is alive.
pub(crate) unsafe fn all<A: Answer>(driver: &Driver, subject: Subject, what: cl_uint) -> Result<Vec<A>> {
    let (ask, subject, function) = subject.ask(driver);
    let mut nbytes = 0;
    // SAFETY: `# Safety`: the subject is alive; the call asks for the size only, which goes to a
    // local variable (Driver 1).
    let status = unsafe { ask(subject, what, 0, std::ptr::null_mut(), &raw mut nbytes) };
    check(status, function)?;
    let count = nbytes / size_of::<A>();
    let mut answer = Vec::new();
    answer.try_reserve_exact(count).map_err(|_| Error::out_of_memory(nbytes, align_of::<A>()))?;
    // SAFETY: zero is a valid value of `A`, because every bit pattern is (`Answer`).
    answer.resize(count, unsafe { MaybeUninit::<A>::zeroed().assume_init() });
    // SAFETY: `# Safety`: the subject is alive; `answer` has room for the `count * size_of::<A>()`
    // bytes that are stated (Driver 1).
    let status = unsafe {
        ask(subject, what, count * size_of::<A>(), answer.as_mut_ptr().cast(), std::ptr::null_mut())
    };
    check(status, function)?;
    Ok(answer)
}

/// An answer that is text.
///
/// # Errors
///
/// As [`all`].
///
/// # Safety
///
/// The subject is an object of this driver, and is alive.
pub(crate) unsafe fn text(driver: &Driver, subject: Subject, what: cl_uint) -> Result<String> {
    // SAFETY: `# Safety`: the subject is an object of this driver and alive, which is the contract
    // of `all`.
    let bytes = unsafe { all::<u8>(driver, subject, what) }?;
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).trim().to_owned())
}
