//! Copies of bytes by commands in a queue.
//!
//! Reasons: `DESIGN.md`, "A copy between OpenCL contexts maps the source".

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use crate::context::Context;
use crate::event::ClEvent;
use crate::map::Mapping;
use crate::queue::wait_list;
use crossdock::device::{DeviceLease, Transfer};
use crossdock::memory::Place;
use crossdock::{Error, Result};

/// Bytes in a memory object.
#[derive(Clone)]
pub(crate) struct Range {
    pub(crate) context: Arc<Context>,
    pub(crate) object: cl_mem,
    pub(crate) offset: usize,
}

impl Range {
    /// The bytes of a lease; `None` where its memory is not an OpenCL object that this library
    /// knows.
    pub(crate) fn known(lease: &DeviceLease) -> Option<Self> {
        let context = Context::of(lease.manager()?)?;
        let (object, offset) = lease.object()?;
        Some(Self { context, object: object.as_ptr(), offset })
    }

    /// The bytes of a lease; `None` for host memory.
    ///
    /// # Errors
    ///
    /// `is_device` where another device allocated the memory, or its object is unknown.
    pub(crate) fn of(lease: &DeviceLease) -> Result<Option<Self>> {
        match Self::known(lease) {
            None if !lease.place().is_host() => Err(lost(lease.place())),
            known => Ok(known),
        }
    }
}

#[cold]
fn lost(place: Place) -> Error {
    Error::device(format!("memory on {place} was not allocated by this OpenCL device, or has 0 bytes"))
}

/// The source and the destination of a copy.
///
/// # Invariants
///
/// 1. Both endpoints have `nbytes` bytes, alive as long as the transfer from which this was
///    created. At least one is in an object.
pub(crate) struct Copy {
    from: End,
    to: End,
    nbytes: usize,
}

#[derive(Clone)]
enum End {
    Host(*mut c_void),
    Object(Range),
}

impl End {
    fn of(lease: &DeviceLease) -> Result<Self> {
        Ok(Range::of(lease)?.map_or(Self::Host(lease.address().cast()), Self::Object))
    }

    fn context(&self) -> Option<&Arc<Context>> {
        match self {
            Self::Host(_) => None,
            Self::Object(range) => Some(&range.context),
        }
    }
}

impl Copy {
    /// `None` for an empty transfer.
    ///
    /// # Errors
    ///
    /// As [`Range::of`]; `is_unsupported` where both endpoints are host memory.
    pub(crate) fn of(transfer: &Transfer) -> Result<Option<Self>> {
        if transfer.nbytes() == 0 {
            return Ok(None);
        }
        let copy =
            Self { from: End::of(transfer.src())?, to: End::of(transfer.dst())?, nbytes: transfer.nbytes() };
        copy.context()?;
        Ok(Some(copy))
    }

    /// The context that performs the copy: the destination's, or else the source's.
    pub(crate) fn context(&self) -> Result<&Arc<Context>> {
        let context = self.to.context().or(self.from.context());
        context.ok_or_else(|| Error::unsupported("OpenCL cannot copy from the host to the host"))
    }

    /// Whether one queue of a context can perform the copy.
    pub(crate) fn is_within(&self, context: &Context) -> bool {
        [&self.from, &self.to].into_iter().filter_map(End::context).all(|own| own.is(context))
    }

    /// Copies synchronously.
    pub(crate) fn now(&self) -> Result<()> {
        let context = self.context()?;
        match &self.from {
            // No queue can use objects of two contexts: the source is mapped to the host, which
            // writes it into the destination.
            End::Object(from) if !from.context.is(context) => {
                // SAFETY: clause 1 of `Mapping::new`: the transfer keeps the source's object, of
                // `nbytes` bytes (Copy 1), and `seen` is unmapped before it ends.
                let seen = unsafe { Mapping::new(from, self.nbytes, CL_MAP_READ) }?;
                let (from, to, nbytes) = (End::Host(seen.address().cast()), self.to.clone(), self.nbytes);
                let there = Self { from, to, nbytes };
                // SAFETY: clause 1 of `enqueue`: `now` passes a queue of `context`. Clause 2: the
                // mapping and the transfer last until `now` has waited for the command.
                let copied = context.now(|queue| unsafe { there.enqueue(context, queue, &[], CL_TRUE) });
                let unmapped = seen.unmap();
                copied.and(unmapped)
            }
            // SAFETY: clause 1 of `enqueue`: `now` passes a queue of `context`. Clause 2: the
            // transfer lasts until `now` has waited for the command.
            _ => context.now(|queue| unsafe { self.enqueue(context, queue, &[], CL_TRUE) }),
        }
    }

    /// Enqueues the copy in a queue of its context, after some events.
    ///
    /// # Safety
    ///
    /// 1. The queue and the events are of `context`, the copy's, and alive during the call.
    /// 2. Both ends keep their bytes until the command's end (Copy 1).
    pub(crate) unsafe fn enqueue(
        &self,
        context: &Arc<Context>,
        queue: cl_command_queue,
        events: &[cl_event],
        blocking: cl_bool,
    ) -> Result<ClEvent> {
        let (driver, nbytes) = (context.driver(), self.nbytes);
        let ((count, list), mut end) = (wait_list(events), std::ptr::null_mut());
        let (status, function) = match (&self.from, &self.to) {
            (&End::Host(from), End::Object(Range { object, offset, .. })) => {
                // SAFETY: the host has `nbytes` bytes until the end of the transfer (Copy 1), the
                // object is of the queue's context and alive (Copy 1), and so are the queue and the
                // events (clause 1 of `# Safety`, Driver 1).
                let status = unsafe {
                    (driver.enqueue_write)(
                        queue,
                        *object,
                        blocking,
                        *offset,
                        nbytes,
                        from,
                        count,
                        list,
                        &raw mut end,
                    )
                };
                (status, "clEnqueueWriteBuffer")
            }
            (End::Object(Range { object, offset, .. }), &End::Host(to)) => {
                // SAFETY: the host has room for `nbytes` bytes until the end of the transfer (Copy
                // 1), the object is of the queue's context and alive (Copy 1), and so are the queue
                // and the events (clause 1 of `# Safety`, Driver 1).
                let status = unsafe {
                    (driver.enqueue_read)(
                        queue,
                        *object,
                        blocking,
                        *offset,
                        nbytes,
                        to,
                        count,
                        list,
                        &raw mut end,
                    )
                };
                (status, "clEnqueueReadBuffer")
            }
            (End::Object(from), End::Object(to)) => {
                // SAFETY: both objects are of the queue's context and have `nbytes` bytes until the
                // end of the transfer (Copy 1), and the queue and the events are alive (clause 1 of
                // `# Safety`, Driver 1).
                let status = unsafe {
                    (driver.enqueue_copy)(
                        queue,
                        from.object,
                        to.object,
                        from.offset,
                        to.offset,
                        nbytes,
                        count,
                        list,
                        &raw mut end,
                    )
                };
                (status, "clEnqueueCopyBuffer")
            }
            // SAFETY: clause 1 of `marker` is clause 1 of `# Safety`.
            (End::Host(_), End::Host(_)) => return unsafe { context.marker(queue, events) },
        };
        // SAFETY: the enqueueing function returned `end` with `status`; on success the reference is
        // this caller's to pass on.
        unsafe { ClEvent::made(end, status, context, function) }
    }
}
