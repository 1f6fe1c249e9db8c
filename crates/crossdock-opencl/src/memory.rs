//! The memory of a device: objects, with addresses that are reserved for them.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use crate::context::Context;
use crate::copy::Copy;
use crate::engine::ClEngine;
use crate::error::is_out_of_memory;
use crate::map;
use crate::object::{Object, OfMemory};
use crate::queue::ClStream;
use crossdock::buffer::Buffer;
use crossdock::device::engine::Engine;
use crossdock::device::{
    DeviceRegion, Event, MemoryManager, Meter, Signal, Stream, Transfer, Usage, adopt_own,
};
use crossdock::memory::{Backing, Birth, DeviceKind, Place};
use crossdock::{Error, Result};

impl Context {
    /// A new object of `nbytes` bytes, at least one.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the driver's error.
    ///
    /// # Safety
    ///
    /// `host` is null, or valid as the flags demand for as long as the object lives.
    pub(crate) unsafe fn create_buffer(
        &self,
        flags: cl_mem_flags,
        nbytes: usize,
        host: *mut c_void,
    ) -> Result<Object<OfMemory>> {
        self.driver().check_process()?;
        let mut status = CL_SUCCESS;
        // SAFETY: the context is alive (Object 1); `# Safety`: `host` is null or valid as the flags
        // demand; `status` is a local variable (Driver 1).
        let raw = unsafe { (self.driver().create_buffer)(self.raw(), flags, nbytes, host, &raw mut status) };
        if is_out_of_memory(status) {
            return Err(Error::out_of_memory(nbytes, self.description().alignment));
        }
        // SAFETY: `clCreateBuffer` returned `raw` with `status`; on success the reference is this
        // caller's to pass on.
        unsafe { Object::made(raw, status, self.driver(), self.place(), "clCreateBuffer") }
    }
}

impl MemoryManager for Context {
    fn place(&self) -> Place {
        self.place()
    }

    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer> {
        let description = self.description();
        // Checked here, because a driver may find out only when the memory is first touched.
        if nbytes as u64 > description.largest_nbytes {
            return Err(Error::out_of_memory(nbytes, description.alignment));
        }
        let charge = Meter::charge(self.meter(), nbytes)?;
        // Memory that the host can map works best in host memory.
        let flags = CL_MEM_READ_WRITE | if description.is_mappable { CL_MEM_ALLOC_HOST_PTR } else { 0 };
        let object = match nbytes {
            0 => None,
            // SAFETY: `host` is null, and the flags do not demand host memory of the caller.
            _ => Some(unsafe { self.create_buffer(flags, nbytes, std::ptr::null_mut()) }?),
        };
        let raw = object.as_ref().map_or(std::ptr::null_mut(), Object::raw);
        let region = DeviceRegion { address: None, nbytes, object: raw, birth: Birth::Sole, aliases: &[] };
        let release = move || object.map_or(Ok(()), Object::release);
        // SAFETY: the object, if any, was created above with `nbytes` bytes; only this region has
        // it, until `release`, which owns it, releases it.
        unsafe { adopt_own(self, region, charge, release) }
    }

    fn can_copy(&self, from: Place, to: Place) -> bool {
        let is_ours = |place: Place| place == self.place();
        let is_reached = |place: Place| place.is_host() || place.kind() == DeviceKind::OPENCL;
        is_ours(from) && is_reached(to) || is_reached(from) && is_ours(to)
    }

    fn copy(&self, transfer: &Transfer) -> Result<()> {
        Copy::of(transfer)?.map_or(Ok(()), |copy| copy.now())
    }

    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        ClStream::of(stream).is_some()
    }

    fn enqueue(&self, transfer: Transfer, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        let Some(queue) = ClStream::of(stream) else {
            return Err(Error::unsupported(format!("{stream:?} is not an OpenCL queue")));
        };
        let (context, copy) = (queue.context(), Copy::of(&transfer)?);
        match copy {
            Some(copy) if !copy.is_within(context) => {
                // A command of the queue cannot use objects of another context.
                stream.synchronize()?;
                copy.now()?;
                transfer.complete();
                let (over, completion) = Signal::new();
                completion.finish(Ok(()));
                Ok(over)
            }
            _ => queue.put(transfer, |_, raw, events| match copy {
                // SAFETY: clause 1 of `Copy::enqueue`: `put` passes the queue, of `context`, and
                // events that it holds. Clause 2: it keeps the transfer until the command's end.
                Some(copy) => unsafe { copy.enqueue(context, raw, events, CL_FALSE) },
                // SAFETY: clause 1 of `marker`: the same queue and events.
                None => unsafe { context.marker(raw, events) },
            }),
        }
    }

    fn map(&self, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
        let is_incoming = to.place() == self.place() && buffer.place() == Place::CPU;
        let is_outgoing =
            buffer.place() == self.place() && to.place() == Place::CPU && to.backing() != Backing::Shared;
        match (self.description().is_mappable, is_incoming, is_outgoing) {
            (true, true, _) => self.counted().map_or(Ok(None), |context| map::from_host(&context, buffer)),
            (true, _, true) => map::to_host(buffer),
            _ => Ok(None),
        }
    }

    fn engine(self: Arc<Self>) -> Result<Option<Arc<dyn Engine>>> {
        Ok(Some(Arc::new(ClEngine::new(self))))
    }

    fn usage(&self) -> Usage {
        self.meter().usage()
    }
}
