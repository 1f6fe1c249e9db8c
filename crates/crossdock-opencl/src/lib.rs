//! Devices of OpenCL. The loader is opened when the first device is requested: a program builds and
//! starts without OpenCL.
//!
//! The place `opencl:n` is the n-th device of the loader, in its order, over all platforms
//! ([`devices`]). `CROSSDOCK_OPENCL_DRIVER` names a library to open instead of the system's loader.
//! A program calls [`register`] once.
//!
//! ```
//! use crossdock::buffer::Buffer;
//! use crossdock::device;
//! use crossdock::memory::Place;
//! use crossdock_opencl as opencl;
//!
//! opencl::register()?;
//! let Ok(devices) = opencl::devices() else { return Ok(()) }; // the error says what is missing
//! let Some(first) = devices.first() else { return Ok(()) };
//! let there = Buffer::from_vec(vec![1u8, 2, 3])?.copy_to(&device::memory(first.place)?)?;
//! assert!(there.read().unwrap_err().is_place()); // the processor cannot address it
//! assert_eq!(&there.copy_to(&device::memory(Place::CPU)?)?.read()?[..], [1, 2, 3]);
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! # Memory
//!
//! A buffer is a memory object of the device's context, or a range of one:
//! [`DeviceLease::object`](crossdock::device::DeviceLease::object) returns the `cl_mem` and the
//! offset of the buffer in it. The content of new memory is unspecified.
//!
//! Some devices share their memory with the host, and both always see the same state
//! ([`Description::is_mappable`]): devices that are the CPU, and those with fine-grained sharing.
//! There, [`Buffer::map_to`](crossdock::buffer::Buffer::map_to) copies nothing, in either
//! direction; host memory must begin at a multiple of the device's base address alignment. On other
//! devices it returns `None`: OpenCL forbids device access to a mapped object, while leases permit
//! a mapping beside the device's own work.
//!
//! # Processes
//!
//! A process that is forked from one that has used OpenCL cannot use it, because the driver's
//! threads exist in the parent only. Every call is an error, and dropping inherited objects does
//! nothing.
//!
//! # Files
//!
//! `driver.rs` is the one table of OpenCL's functions, and `error.rs` names their errors.
//! `context.rs` has the contexts in use: this crate's, and those of other libraries' objects.

mod context;
mod copy;
mod description;
mod device;
mod driver;
mod engine;
mod error;
mod event;
mod import;
mod map;
mod memory;
mod object;
mod platforms;
mod programs;
mod query;
mod queue;

use crossdock::buffer::Buffer;
use crossdock::memory::{Birth, DeviceKind, LeaseKind, Place};
use crossdock::{Error, Result};

pub use description::Description;
pub use import::SubBuffer;

/// Registers the places of OpenCL, so that [`device::get`](crossdock::device::get) opens its
/// devices. Opens nothing. Further calls have no effect.
///
/// # Errors
///
/// `is_conflict` where another driver has registered the kind.
pub fn register() -> Result<()> {
    device::register()
}

/// The devices of OpenCL's loader, in the order of their places. Each call queries the loader.
///
/// # Errors
///
/// `is_unsupported` where there is no loader, no platform, or this program was built without
/// OpenCL; `is_device` where a driver failed.
pub fn devices() -> Result<Vec<Description>> {
    platforms::describe(driver::Driver::get()?)
}

/// Imports a memory object of another library, in any context, as a buffer on a device of that
/// context. The object is retained until the last holder of the buffer drops it. Queues of this
/// library in that context copy it. O(1), except that the first object of a context creates a
/// queue.
///
/// The caller must wait for in-flight commands on the object in the other library's queues, or
/// [note](Buffer::note_event) their events
/// ([`Device::wrap_event`](crossdock::device::Device::wrap_event)).
///
/// # Errors
///
/// `is_unsupported` and `is_device` as [`devices`]; `is_malformed` where it is null or not a
/// buffer; `is_place` where its context does not have the device.
///
/// # Safety
///
/// 1. `object` is null or a `cl_mem`, alive for this call.
/// 2. If `birth` is `Sole`, only holders of the buffer access its bytes until the release; if
///    `Constant`, nothing writes them.
pub unsafe fn import(object: *mut std::ffi::c_void, place: Place, birth: Birth) -> Result<Buffer> {
    if place.kind() != DeviceKind::OPENCL {
        return Err(Error::place(format!("{place} is not an OpenCL device")));
    }
    register()?;
    // SAFETY: clauses 1 and 2 of `# Safety` are the contract of `Device::wrap_object`; for null,
    // OpenCL's implementation returns an error.
    let wrapped = unsafe { crossdock::device::get(place)?.wrap_object(object, birth) }?;
    wrapped.ok_or_else(|| Error::device(format!("{place} is a device of another driver")))
}

/// A memory object with exactly the bytes of a buffer, for consumers that accept no offset: an
/// OpenCL sub-buffer, or the whole object. Holds the memory under a lease of this kind.
///
/// # Errors
///
/// `is_place` where the buffer is not on an OpenCL device; `is_alignment` where its offset in its
/// object is not a multiple of [`Description::alignment`]; `is_bounds` where it is empty; those of
/// [`Buffer::device_lease`]; `is_device`.
pub fn sub_buffer(buffer: &Buffer, kind: LeaseKind) -> Result<SubBuffer> {
    import::sub_buffer(buffer, kind)
}
