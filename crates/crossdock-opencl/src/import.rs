//! Objects that others made, and objects for others.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use crate::context::Context;
use crate::copy::Range;
use crate::driver::Driver;
use crate::object::{Object, OfMemory};
use crate::query::{Subject, one};
use crossdock::buffer::Buffer;
use crossdock::device::{Alias, DeviceRegion, Hold, Meter, adopt};
use crossdock::memory::{Birth, LeaseKind};
use crossdock::{Error, Result};

/// Another's object as a buffer, in its own context.
///
/// # Errors
///
/// As [`import`](crate::import).
///
/// # Safety
///
/// As there.
pub(crate) unsafe fn import(object: *mut c_void, on: &Arc<Context>, birth: Birth) -> Result<Buffer> {
    let (driver, place) = (on.driver(), on.place());
    driver.check_process()?;
    // SAFETY: null, or an object that is alive, by the first clause of `crate::import`.
    let object: Object<OfMemory> = unsafe { Object::retained(object, driver, place) }?;
    let subject = Subject::Memory(object.raw());
    // SAFETY: retained just now.
    let kind = unsafe { one::<cl_mem_object_type>(driver, subject, CL_MEM_TYPE) }?;
    if kind != CL_MEM_OBJECT_BUFFER {
        return Err(Error::malformed(format!(
            "the memory object on {place} is no buffer: it has the type {kind:#x}"
        )));
    }
    // SAFETY: retained just now.
    let nbytes = unsafe { one::<usize>(driver, subject, CL_MEM_SIZE) }?;
    // SAFETY: retained just now.
    let its = unsafe { one::<cl_context>(driver, subject, CL_MEM_CONTEXT) }?;
    // SAFETY: alive as its object is.
    let context = unsafe { Context::known(its, on) }?;
    let aliases = aliases(&object, driver)?;
    let aliases: Vec<_> = aliases.into_iter().flatten().collect();
    let charge = Meter::charge(context.meter(), 0)?;
    let region = DeviceRegion { address: None, nbytes, object: object.raw(), birth, aliases: &aliases };
    let release = move || object.release();
    // SAFETY: the release gives our reference to the object back; what the driver says of its
    // aliases holds as long as the object; which others touch it is the clause of this function.
    unsafe { adopt(context, region, charge, release) }
}

/// Where else an object's bytes are: in the object that it is a part of, and in the host memory
/// that it was made from.
///
/// # Errors
///
/// Those of the driver.
fn aliases(object: &Object<OfMemory>, driver: &Driver) -> Result<[Option<Alias>; 2]> {
    let subject = Subject::Memory(object.raw());
    // SAFETY: `object` holds a reference, so the handle is valid (Object 1).
    let whole = unsafe { one::<*mut c_void>(driver, subject, CL_MEM_ASSOCIATED_MEMOBJECT) }?;
    // SAFETY: `object` holds a reference, so the handle is valid (Object 1).
    let offset = unsafe { one::<usize>(driver, subject, CL_MEM_OFFSET) }?;
    // SAFETY: `object` holds a reference, so the handle is valid (Object 1).
    let flags = unsafe { one::<cl_mem_flags>(driver, subject, CL_MEM_FLAGS) }?;
    // SAFETY: `object` holds a reference, so the handle is valid (Object 1).
    let host = unsafe { one::<*mut c_void>(driver, subject, CL_MEM_HOST_PTR) }?;
    let of_whole = (!whole.is_null()).then_some(Alias::Object { object: whole, offset });
    let is_of_host = flags & CL_MEM_USE_HOST_PTR != 0 && !host.is_null();
    Ok([of_whole, is_of_host.then_some(Alias::Host { address: host })])
}

/// A memory object that begins and ends where a buffer does. The memory is held under a lease for
/// as long as this lives.
#[derive(Debug)]
pub struct SubBuffer {
    /// Goes first: it is a part of what the hold keeps.
    object: Object<OfMemory>,
    hold: Hold,
}

impl SubBuffer {
    /// The memory object, a `cl_mem`. It is this one's; whoever keeps it longer retains it.
    pub fn raw(&self) -> *mut c_void {
        self.object.raw()
    }

    /// The lease under which the memory is held.
    pub fn hold(&self) -> &Hold {
        &self.hold
    }
}

pub(crate) fn sub_buffer(buffer: &Buffer, kind: LeaseKind) -> Result<SubBuffer> {
    let (hold, nbytes) = (buffer.hold(kind)?, buffer.nbytes());
    if nbytes == 0 {
        return Err(Error::bounds("OpenCL has no memory objects of 0 bytes"));
    }
    let Some(Range { context, object, offset }) = Range::of(&hold)? else {
        return Err(Error::place(format!("memory on {} has no object of OpenCL", hold.place())));
    };
    let (driver, place) = (context.driver(), context.place());
    driver.check_process()?;
    // SAFETY: the hold keeps the object.
    let whole = unsafe { one::<usize>(driver, Subject::Memory(object), CL_MEM_SIZE) }?;
    if (offset, nbytes) == (0, whole) {
        // SAFETY: the hold keeps the object.
        return Ok(SubBuffer { object: unsafe { Object::retained(object, driver, place) }?, hold });
    }
    let alignment = context.description().alignment;
    if !offset.is_multiple_of(alignment) {
        return Err(Error::alignment(format!(
            "a sub-buffer begins at a multiple of {alignment} bytes on {place}, and the memory at byte {offset} of its object"
        )));
    }
    let (region, mut status) = (cl_buffer_region { origin: offset, size: nbytes }, CL_SUCCESS);
    // SAFETY: an object that the hold keeps, and a region within it (Hold 1), valid for the call
    // (Driver 1). Without flags it is as its object is.
    let raw = unsafe {
        (driver.create_sub_buffer)(
            object,
            0,
            CL_BUFFER_CREATE_TYPE_REGION,
            (&raw const region).cast(),
            &raw mut status,
        )
    };
    // SAFETY: the driver gave it.
    Ok(SubBuffer { object: unsafe { Object::made(raw, status, driver, place, "clCreateSubBuffer") }?, hold })
}
