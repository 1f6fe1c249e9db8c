//! Objects that the host sees, and host memory that the device does.

use std::ptr::NonNull;
use std::sync::Arc;

use opencl_sys::*;

use crate::context::Context;
use crate::copy::Range;
use crate::event::ClEvent;
use crossdock::buffer::Buffer;
use crossdock::device::driver::report_release_error;
use crossdock::device::{DeviceRegion, Hold, MemoryManager, Meter, adopt};
use crossdock::memory::{Birth, LeaseKind, Place};
use crossdock::{Error, Result};

/// Bytes of an object, mapped into the host's memory until this is dropped.
///
/// # Invariants
///
/// 1. `address`, where there is one, is a mapping of the range's object that has not been unmapped.
pub(crate) struct Mapping {
    range: Range,
    address: Option<NonNull<u8>>,
}

// SAFETY: the mapped address is valid in every thread of the process, and OpenCL permits calls on
// the object of the range from any thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps, and returns when the bytes are there.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub(crate) fn new(range: &Range, nbytes: usize, flags: cl_map_flags) -> Result<Self> {
        let context = &range.context;
        let mut address = std::ptr::null_mut();
        context.now(|queue| {
            let (mut end, mut status) = (std::ptr::null_mut(), CL_SUCCESS);
            // SAFETY: a queue of the object's context, and an object that is alive as long as the
            // caller has the hold (Driver 1).
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
            // SAFETY: the driver gave it.
            unsafe { ClEvent::made(end, status, context, "clEnqueueMapBuffer") }
        })?;
        let address = NonNull::new(address.cast::<u8>());
        if address.is_none() {
            return Err(Error::device(format!("{}: clEnqueueMapBuffer gave no address", context.place())));
        }
        Ok(Self { range: range.clone(), address })
    }

    pub(crate) fn address(&self) -> *mut u8 {
        self.address.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }

    /// Unmaps, and returns when that is done.
    ///
    /// # Errors
    ///
    /// What the driver says.
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
            // SAFETY: a queue of the object's context, and a mapping of it (Mapping 1), whose
            // object the caller keeps (Driver 1).
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
            // SAFETY: the driver gave it.
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

/// The device's memory as the host's, where the two are one.
///
/// # Errors
///
/// `is_conflict` while others rely on its bytes being constant; what the driver says.
pub(crate) fn to_host(buffer: &Buffer) -> Result<Option<Buffer>> {
    if buffer.nbytes() == 0 {
        return Buffer::zeroed(0).map(Some);
    }
    let hold = hold_for_mapping(buffer)?;
    let Some(range) = Range::known(&hold) else { return Ok(None) };
    let flags = if buffer.is_readonly() { CL_MAP_READ } else { CL_MAP_READ | CL_MAP_WRITE };
    let mapping = Mapping::new(&range, buffer.nbytes(), flags)?;
    let address = mapping.address();
    // The mapping goes first: the hold keeps its object.
    let release = move || drop((mapping, hold));
    // SAFETY: mapped until the release, and the driver's to fill, hence initialised; the hold keeps
    // it under Share or Pin, and the device touches it in ways that no memory model of the host's
    // knows. A mapping of read-only memory is read-only.
    let mapped =
        unsafe { Buffer::from_foreign(address, buffer.nbytes(), Place::CPU, Birth::Aliased, release) }?;
    Ok(Some(as_readonly_as(buffer, mapped)))
}

/// The host's memory as the device's, where the two are one. `None` too where it does not begin as
/// the device wants it.
///
/// # Errors
///
/// As [`to_host`].
pub(crate) fn from_host(context: &Arc<Context>, buffer: &Buffer) -> Result<Option<Buffer>> {
    let nbytes = buffer.nbytes();
    if nbytes == 0 {
        return context.clone().allocate(0).map(Some);
    }
    // What lies before the buffer in its allocation may come along: the lease is of all of it.
    let before = buffer.as_ptr().addr() % context.description().alignment;
    let hold = hold_for_mapping(buffer)?;
    if before > hold.bytes_before() {
        return Ok(None);
    }
    let start = hold.address().wrapping_sub(before);
    let whole = before + nbytes;
    let flags =
        if buffer.is_readonly() { CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY } else { CL_MEM_READ_WRITE };
    // SAFETY: within the allocation, which the hold keeps under Share or Pin until the object has
    // been released, below.
    let object = unsafe { context.create_buffer(flags | CL_MEM_USE_HOST_PTR, whole, start.cast()) }?;
    let range = Range { context: context.clone(), object: object.raw(), offset: 0 };
    let seen = Mapping::new(&range, whole, CL_MAP_READ)?;
    let is_same = seen.address() == start;
    seen.unmap()?;
    if !is_same {
        // The driver would copy, to and fro.
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
        drop(hold);
        released
    };
    // SAFETY: the object is made of bytes that the hold keeps until the release.
    let mapped = unsafe { adopt(context.clone(), region, charge, release) }?;
    Ok(Some(as_readonly_as(buffer, mapped.slice(before..)?)))
}

fn as_readonly_as(buffer: &Buffer, mapped: Buffer) -> Buffer {
    if buffer.is_readonly() { mapped.into_readonly() } else { mapped }
}

/// Others may rely on no constancy while another allocation has the same bytes.
fn hold_for_mapping(buffer: &Buffer) -> Result<Hold> {
    buffer.hold(if buffer.is_readonly() { LeaseKind::Pin } else { LeaseKind::Share })
}
