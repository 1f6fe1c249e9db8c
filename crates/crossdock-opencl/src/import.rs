//! Imports memory objects of other libraries, and creates sub-buffers for them.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use crate::context::Context;
use crate::copy::Range;
use crate::driver::Driver;
use crate::object::{Object, OfMemory};
use crate::query::{Subject, one};
use crossdock::buffer::Buffer;
use crossdock::device::{Alias, DeviceLease, DeviceRegion, Meter, adopt};
use crossdock::memory::{Birth, LeaseKind};
use crossdock::{Error, Result};

/// Imports an object of another library as a buffer, in the object's own context.
///
/// # Errors
///
/// As [`import`](crate::import).
///
/// # Safety
///
/// 1. `object` is null or a `cl_mem` of this driver, alive for this call.
/// 2. If `birth` is `Sole`, only holders of the buffer access its bytes until the release; if
///    `Constant`, nothing writes them.
pub(crate) unsafe fn import(object: *mut c_void, on: &Arc<Context>, birth: Birth) -> Result<Buffer> {
    let (driver, place) = (on.driver(), on.place());
    driver.check_process()?;
    // SAFETY: clause 1 of `# Safety`: null, or an object of this driver that is alive, which is the
    // contract of `Object::retained`.
    let object: Object<OfMemory> = unsafe { Object::retained(object, driver, place) }?;
    let subject = Subject::Memory(object.raw());
    // SAFETY: `object` holds a reference to the memory object (Object 1), so it is alive.
    let kind = unsafe { one::<cl_mem_object_type>(driver, subject, CL_MEM_TYPE) }?;
    if kind != CL_MEM_OBJECT_BUFFER {
        return Err(Error::malformed(format!(
            "the memory object on {place} is not a buffer: its type is {kind:#x}"
        )));
    }
    // SAFETY: `object` holds a reference to the memory object (Object 1), so it is alive.
    let nbytes = unsafe { one::<usize>(driver, subject, CL_MEM_SIZE) }?;
    // SAFETY: `object` holds a reference to the memory object (Object 1), so it is alive.
    let its = unsafe { one::<cl_context>(driver, subject, CL_MEM_CONTEXT) }?;
    // SAFETY: the memory object, which `object` keeps alive (Object 1), keeps its context alive.
    let context = unsafe { Context::known(its, on) }?;
    let aliases = aliases(&object, driver)?;
    let aliases: Vec<_> = aliases.into_iter().flatten().collect();
    let charge = Meter::charge(context.meter(), 0)?;
    let region = DeviceRegion { address: None, nbytes, object: object.raw(), birth, aliases: &aliases };
    let release = move || object.release();
    // SAFETY: the object has `nbytes` bytes, and its aliases are what the driver reports, until the
    // release drops this reference; clause 2 of `# Safety`: other parties access it as `birth`
    // says.
    unsafe { adopt(context, region, charge, release) }
}

/// Other names of an object's bytes: a range of the object that it is a part of, and the host
/// memory that it was created from.
///
/// # Errors
///
/// The driver's error.
fn aliases(object: &Object<OfMemory>, driver: &Driver) -> Result<[Option<Alias>; 2]> {
    let subject = Subject::Memory(object.raw());
    // SAFETY: `object` holds a reference to the memory object (Object 1), so it is alive.
    let whole = unsafe { one::<*mut c_void>(driver, subject, CL_MEM_ASSOCIATED_MEMOBJECT) }?;
    // SAFETY: `object` holds a reference to the memory object (Object 1), so it is alive.
    let offset = unsafe { one::<usize>(driver, subject, CL_MEM_OFFSET) }?;
    // SAFETY: `object` holds a reference to the memory object (Object 1), so it is alive.
    let flags = unsafe { one::<cl_mem_flags>(driver, subject, CL_MEM_FLAGS) }?;
    // SAFETY: `object` holds a reference to the memory object (Object 1), so it is alive.
    let host = unsafe { one::<*mut c_void>(driver, subject, CL_MEM_HOST_PTR) }?;
    let of_whole = (!whole.is_null()).then_some(Alias::Object { object: whole, offset });
    let is_of_host = flags & CL_MEM_USE_HOST_PTR != 0 && !host.is_null();
    Ok([of_whole, is_of_host.then_some(Alias::Host { address: host })])
}

/// A memory object with exactly the bytes of a buffer, kept under a lease until this is dropped.
#[derive(Debug)]
pub struct SubBuffer {
    /// Dropped first: it is a part of the object that the lease keeps.
    object: Object<OfMemory>,
    lease: DeviceLease,
}

impl SubBuffer {
    /// The memory object, a `cl_mem`. This value owns it; a consumer that keeps it longer must
    /// retain it.
    pub fn raw(&self) -> *mut c_void {
        self.object.raw()
    }

    /// The lease of the memory.
    pub fn lease(&self) -> &DeviceLease {
        &self.lease
    }
}

pub(crate) fn sub_buffer(buffer: &Buffer, kind: LeaseKind) -> Result<SubBuffer> {
    let (lease, nbytes) = (buffer.device_lease(kind)?, buffer.nbytes());
    if nbytes == 0 {
        return Err(Error::bounds("OpenCL has no memory objects of 0 bytes"));
    }
    let Some(Range { context, object, offset }) = Range::of(&lease)? else {
        return Err(Error::place(format!("memory on {} has no OpenCL object", lease.place())));
    };
    let (driver, place) = (context.driver(), context.place());
    driver.check_process()?;
    // SAFETY: `hold` keeps the object of the range alive until the end of this function.
    let whole = unsafe { one::<usize>(driver, Subject::Memory(object), CL_MEM_SIZE) }?;
    if (offset, nbytes) == (0, whole) {
        // SAFETY: `hold` keeps the object alive until the end of this function, which is the
        // contract of `Object::retained`.
        return Ok(SubBuffer { object: unsafe { Object::retained(object, driver, place) }?, lease });
    }
    let alignment = context.description().alignment;
    if !offset.is_multiple_of(alignment) {
        return Err(Error::alignment(format!(
            "the memory begins at byte {offset} of its object, but a sub-buffer on {place} must begin at a \
            multiple of {alignment} bytes"
        )));
    }
    let (region, mut status) = (cl_buffer_region { origin: offset, size: nbytes }, CL_SUCCESS);
    // SAFETY: `hold` keeps the object, the region is within it (DeviceLease 1), and both are valid
    // for the call (Driver 1). Flags of 0 inherit those of the object.
    let raw = unsafe {
        (driver.create_sub_buffer)(
            object,
            0,
            CL_BUFFER_CREATE_TYPE_REGION,
            (&raw const region).cast(),
            &raw mut status,
        )
    };
    // SAFETY: `clCreateSubBuffer` returned `raw` with `status`; on success the reference is this
    // caller's to pass on.
    Ok(SubBuffer { object: unsafe { Object::made(raw, status, driver, place, "clCreateSubBuffer") }?, lease })
}
