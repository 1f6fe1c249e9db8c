//! Devices of OpenCL, by its loader, which is opened when the first of them is asked for: nothing
//! of OpenCL is needed to build or to start.
//!
//! The place `opencl:n` is the n-th device that the loader knows, in its order, over all platforms
//! ([`devices`]). `CROSSDOCK_OPENCL_DRIVER` names a library that is opened in place of the system's
//! loader. A program calls [`register`] once.
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
//! [`Hold::object`](crossdock::device::Hold::object) gives the `cl_mem` and the byte of it at which
//! the buffer begins. What is in new memory is unspecified.
//!
//! Where the processor and the device have the same memory in the same state at any time
//! ([`Description::is_mappable`]), [`Buffer::map_to`](crossdock::buffer::Buffer::map_to) copies
//! nothing, both ways: on devices that are the processor, and on those that share its memory in
//! fine grain. Elsewhere it gives `None`: what OpenCL maps there must not be touched by the device
//! meanwhile, while leases let a mapping stand beside the device's own work. From the host it maps
//! what begins at a multiple of the device's base address alignment.
//!
//! # Processes
//!
//! A process that is forked from one which has used OpenCL cannot use it: the driver's threads are
//! the parent's. It gets an error, and what it inherited of devices it may drop, which does
//! nothing.

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

/// Makes the places of OpenCL known to the library: from now on
/// [`device::get`](crossdock::device::get) opens its devices. Opens nothing. To call it again
/// changes nothing.
///
/// # Errors
///
/// `is_conflict` where another driver has the kind.
pub fn register() -> Result<()> {
    device::register()
}

/// The devices that OpenCL's loader knows, in the order of their places. Asks the loader, each
/// time.
///
/// # Errors
///
/// `is_unsupported` where there is no loader, no platform, or this program was built without
/// OpenCL; `is_device` where a driver failed.
pub fn devices() -> Result<Vec<Description>> {
    platforms::describe(driver::Driver::get()?)
}

/// Borrows a memory object of OpenCL that another library made, in any context, as a buffer on a
/// device of that context. The object is retained until the last holder of the buffer drops it.
/// Queues of this library in that context copy it. O(1), except for the first object of a context,
/// for which a queue is made.
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
/// 1. `object` is a `cl_mem`, alive for this call.
/// 2. If `birth` is `Sole`, only holders of the buffer touch its bytes until the release; if
///    `Constant`, no library writes them.
pub unsafe fn import(object: *mut std::ffi::c_void, place: Place, birth: Birth) -> Result<Buffer> {
    if place.kind() != DeviceKind::OPENCL {
        return Err(Error::place(format!("memory of OpenCL is not on {place}")));
    }
    register()?;
    // SAFETY: the clauses of this function are those of the method.
    let wrapped = unsafe { crossdock::device::get(place)?.wrap_object(object, birth) }?;
    wrapped.ok_or_else(|| Error::device(format!("{place} is a device of another driver")))
}

/// A memory object that begins and ends where a buffer does, for consumers that take no offset:
/// OpenCL's own sub-buffer, or the whole object. Holds the memory under a lease of the kind given.
///
/// # Errors
///
/// `is_place` where the buffer is not a device's of OpenCL; `is_alignment` where it begins at
/// another byte of its object than a multiple of [`Description::alignment`]; `is_bounds` where it
/// is empty; those of [`Buffer::hold`]; `is_device`.
pub fn sub_buffer(buffer: &Buffer, kind: LeaseKind) -> Result<SubBuffer> {
    import::sub_buffer(buffer, kind)
}
