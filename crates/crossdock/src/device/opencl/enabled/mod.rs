//! A build with OpenCL.

pub(crate) mod context;
pub(crate) mod copy;
mod device;
pub(crate) mod driver;
mod engine;
pub(crate) mod error;
pub(crate) mod event;
mod import;
mod map;
mod memory;
pub(crate) mod object;
pub(crate) mod platforms;
mod programs;
pub(crate) mod query;
pub(crate) mod queue;

use std::ffi::c_void;

use crate::buffer::Buffer;
use crate::device::opencl::description::Description;
use crate::device::opencl::enabled::context::Context;
use crate::device::opencl::enabled::driver::Driver;
use crate::device::registry;
use crate::error::{Error, Kind, Result};
use crate::memory::{Birth, DeviceKind, LeaseKind, Place};

pub(in crate::device) use device::open;
pub use import::SubBuffer;

pub(super) fn devices() -> Result<Vec<Description>> {
    platforms::describe(Driver::get()?)
}

/// # Safety
///
/// As for what is documented outside.
pub(super) unsafe fn import(object: *mut c_void, place: Place, birth: Birth) -> Result<Buffer> {
    if place.kind() != DeviceKind::OPENCL {
        return Err(Error::new(Kind::Place, format!("memory of OpenCL is not on {place}")));
    }
    let Some(context) = Context::of(registry::memory(place)?) else {
        return Err(Error::device(format!("{place} is a device of somebody else's")));
    };
    // SAFETY: the caller's word.
    unsafe { import::import(object, &context, birth) }
}

pub(super) fn sub_buffer(buffer: &Buffer, kind: LeaseKind) -> Result<SubBuffer> {
    import::sub_buffer(buffer, kind)
}
