//! Maps objects to the host, and host memory to the device.
//!
//! Reasons: `DESIGN.md`, "OpenCL memory is mapped only if mapping has no effect".

use std::ptr::NonNull;
use std::sync::Arc;

use opencl_sys::*;

use crate::context::Context;
use crate::copy::Range;
use crate::event::ClEvent;
use crossdock::buffer::Buffer;
use crossdock::device::driver::report_release_error;
use crossdock::device::{DeviceLease, DeviceRegion, MemoryManager, Meter, adopt};
use crossdock::memory::{Birth, LeaseKind, Place};
use crossdock::{Error, Result};

/// Bytes of an object, mapped into host memory until this is dropped.
///
/// # Invariants
///
/// 1. `address`, if any, is a mapping of the range's object that has not been unmapped.
pub(crate) struct Mapping {
    range: Range,
    address: Option<NonNull<u8>>,
}

// SAFETY: the mapped address is valid on every thread of the process, and OpenCL permits calls on
// the object of the range from any thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps synchronously.
    ///
    /// # Errors
    ///
    /// The driver's error.
    ///
    /// # Safety
    ///
    /// 1. The object of the range is alive until the result is dropped, and has `nbytes` bytes from
    ///    its offset on.
    pub(crate) unsafe fn new(range: &Range, nbytes: usize, flags: cl_map_flags) -> Result<Self> {
        let context = &range.context;
        let mut address = std::ptr::null_mut();
        context.now(|queue| {
            let (mut end, mut status) = (std::ptr::null_mut(), CL_SUCCESS);
            // SAFETY: `now` passes a queue of the object's context, the object is alive (clause 1
            // of `# Safety`), and `end` and `status` are local variables (Driver 1).
            address = unsafe {
                (context.driver().enqueue_map)(
                    queue,
                    range.object,
                    CL_TRUE,
                    flags,
                    range.offset,
                    nbytes,
                    0,
                    std::ptr::null(),
                    &raw mut end,
                    &raw mut status,
                )
            };
            // SAFETY: `clEnqueueMapBuffer` returned `end` with `status`; on success the reference
            // is this caller's to pass on.
            unsafe { ClEvent::made(end, status, context, "clEnqueueMapBuffer") }
        })?;
        let address = NonNull::new(address.cast::<u8>());
        if address.is_none() {
            return Err(Error::device(format!(
                "{}: clEnqueueMapBuffer returned no address",
                context.place()
            )));
        }
        Ok(Self { range: range.clone(), address })
    }

    pub(crate) fn address(&self) -> *mut u8 {
        self.address.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }

    /// Unmaps synchronously.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn unmap(mut self) -> Result<()> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<()> {
        let context = &self.range.context;
        let Some(address) = self.address.take_if(|_| context.driver().is_of_this_process()) else {
            return Ok(());
        };
        context.now(|queue| {
            let mut end = std::ptr::null_mut();
            // SAFETY: `now` passes a queue of the object's context, the address is a mapping of the
            // object (Mapping 1), and clause 1 of `new` keeps the object until `self` is dropped
            // (Driver 1).
            let status = unsafe {
                (context.driver().enqueue_unmap)(
                    queue,
                    self.range.object,
                    address.as_ptr().cast(),
                    0,
                    std::ptr::null(),
                    &raw mut end,
                )
            };
            // SAFETY: `clEnqueueUnmapMemObject` returned `end` with `status`; on success the
            // reference is this caller's to pass on.
            unsafe { ClEvent::made(end, status, context, "clEnqueueUnmapMemObject") }
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Err(error) = self.give_back() {
            report_release_error(self.range.context.place(), error);
        }
    }
}

/// Maps device memory to the host, where both share it.
///
/// # Errors
///
/// `is_conflict` while a lease relies on constant bytes; the driver's error.
pub(crate) fn to_host(buffer: &Buffer) -> Result<Option<Buffer>> {
    if buffer.nbytes() == 0 {
        return Buffer::zeroed(0).map(Some);
    }
    let lease = lease_for_mapping(buffer)?;
    let Some(range) = Range::known(&lease) else { return Ok(None) };
    let flags = if buffer.is_readonly() { CL_MAP_READ } else { CL_MAP_READ | CL_MAP_WRITE };
    // SAFETY: clause 1 of `Mapping::new`: the lease keeps the object of the buffer, and is dropped
    // after the mapping.
    let mapping = unsafe { Mapping::new(&range, buffer.nbytes(), flags) }?;
    let address = mapping.address();
    // The mapping is dropped first: the lease keeps its object.
    let release = move || drop((mapping, lease));
    // SAFETY: the bytes are mapped until the release, initialised by the driver, and kept by the
    // hold under Share or Pin; the device accesses them outside the host's memory model.
    // `as_readonly_as` below makes the result of a Pin read-only.
    let mapped =
        unsafe { Buffer::from_foreign(address, buffer.nbytes(), Place::CPU, Birth::Aliased, release) }?;
    Ok(Some(as_readonly_as(buffer, mapped)))
}

/// Maps host memory to the device, where both share it. `None` also where the device does not
/// support its alignment.
///
/// # Errors
///
/// As [`to_host`].
pub(crate) fn from_host(context: &Arc<Context>, buffer: &Buffer) -> Result<Option<Buffer>> {
    let nbytes = buffer.nbytes();
    if nbytes == 0 {
        return context.clone().allocate(0).map(Some);
    }
    // The object may include bytes before the buffer in its allocation, because the lease covers
    // the whole allocation.
    let before = buffer.as_ptr().addr() % context.description().alignment;
    let lease = lease_for_mapping(buffer)?;
    if before > lease.bytes_before() {
        return Ok(None);
    }
    let start = lease.address().wrapping_sub(before);
    let whole = before + nbytes;
    let flags =
        if buffer.is_readonly() { CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY } else { CL_MEM_READ_WRITE };
    // SAFETY: `start..start + whole` is within the allocation by the check above, and the lease
    // keeps it under Share or Pin until the object has been released, below.
    let object = unsafe { context.create_buffer(flags | CL_MEM_USE_HOST_PTR, whole, start.cast()) }?;
    let range = Range { context: context.clone(), object: object.raw(), offset: 0 };
    // SAFETY: clause 1 of `Mapping::new`: `object` has `whole` bytes, and outlives `seen`.
    let seen = unsafe { Mapping::new(&range, whole, CL_MAP_READ) }?;
    let is_same = seen.address() == start;
    seen.unmap()?;
    if !is_same {
        // The driver would copy in both directions.
        return Ok(None);
    }
    let charge = Meter::charge(context.meter(), 0)?;
    let region = DeviceRegion {
        address: None,
        nbytes: whole,
        object: object.raw(),
        birth: Birth::Aliased,
        aliases: &[],
    };
    let release = move || {
        let released = object.release();
        drop(lease);
        released
    };
    // SAFETY: the object has the `whole` bytes of host memory, initialised, which the lease keeps
    // under Share or Pin until the release.
    let mapped = unsafe { adopt(context.clone(), region, charge, release) }?;
    Ok(Some(as_readonly_as(buffer, mapped.slice(before..)?)))
}

fn as_readonly_as(buffer: &Buffer, mapped: Buffer) -> Buffer {
    if buffer.is_readonly() { mapped.into_readonly() } else { mapped }
}

/// The lease must exclude constancy, because the mapping accesses the same bytes as another
/// allocation.
fn lease_for_mapping(buffer: &Buffer) -> Result<DeviceLease> {
    buffer.device_lease(if buffer.is_readonly() { LeaseKind::Pin } else { LeaseKind::Share })
}
