//! Strided work on a device of OpenCL.

use std::sync::Arc;

use opencl_sys::*;

use crate::context::Context;
use crate::copy::Range;
use crate::error::check;
use crate::event::ClEvent;
use crate::query::{Subject, one};
use crate::queue::{ClStream, wait_list};
use crossdock::device::engine::{Engine, Job, Kernel, Pitched, Rows, Start, Step, Work};
use crossdock::device::{DeviceLease, Event, MemoryManager, Stream};
use crossdock::{Error, Result};

/// Strided work in memory of a context, performed by its device.
#[derive(Debug)]
pub(crate) struct ClEngine {
    context: Arc<Context>,
}

impl ClEngine {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context }
    }

    /// The object, in this engine's context, with the bytes of a lease; `None` for an empty lease.
    fn range(&self, lease: &DeviceLease) -> Result<Option<Range>> {
        if lease.nbytes() == 0 {
            return Ok(None);
        }
        let range = Range::of(lease)?.filter(|range| range.context.is(&self.context));
        let elsewhere = || {
            let (own, its) = (self.context.place(), lease.place());
            Error::place(format!("kernels on {own} cannot access memory on {its}"))
        };
        range.map(Some).ok_or_else(elsewhere)
    }

    /// Enqueues all steps in a queue, in order, after some events. Returns the event of the last
    /// step.
    ///
    /// # Errors
    ///
    /// The driver's error. The steps enqueued before it are over then.
    ///
    /// # Safety
    ///
    /// 1. The queue and the events are of the context, and alive during the call.
    /// 2. The work is kept until the end of the last step.
    unsafe fn put(&self, work: &Work, queue: cl_command_queue, events: &[cl_event]) -> Result<ClEvent> {
        let mut last: Option<ClEvent> = None;
        for step in work.steps() {
            let before = last.as_ref().map(Event::raw);
            let events = before.as_ref().map_or(events, std::slice::from_ref);
            // SAFETY: clauses 1 and 2 of `put_step` are those of `# Safety`; `last` holds the
            // event of the step before.
            let put = unsafe { self.put_step(work, step, queue, events) };
            match (put, &last) {
                (Ok(event), _) => last = Some(event),
                (Err(error), Some(last)) => {
                    // In-flight steps use memory whose leases end when the error is returned.
                    let _outcome = last.wait();
                    return Err(error);
                }
                (Err(error), None) => return Err(error),
            }
        }
        match last {
            Some(last) => Ok(last),
            // SAFETY: clause 1 of `marker` is clause 1 of `# Safety`.
            None => unsafe { self.context.marker(queue, events) },
        }
    }

    /// # Safety
    ///
    /// The clauses of [`ClEngine::put`], for one step of the work.
    unsafe fn put_step(
        &self,
        work: &Work,
        step: &Step,
        queue: cl_command_queue,
        events: &[cl_event],
    ) -> Result<ClEvent> {
        let object = |lease: &DeviceLease| -> Result<cl_mem> {
            Ok(self.range(lease)?.map_or(std::ptr::null_mut(), |range| range.object))
        };
        let (to, from) = (object(work.to())?, object(work.from())?);
        let refused = work.refused().map_or(Ok(std::ptr::null_mut()), object)?;
        match step {
            Step::Launch { kernel, groups, job } => {
                // SAFETY: clause 1 of the contract of `launch`: the objects are null or of the
                // context, and the work holds them; the job reaches only bytes of the work's leases
                // (Work 1), which permit that (Work 2). Clause 2 is clause 1 of `put`.
                unsafe { self.launch(*kernel, *groups, [to, from, refused], job, queue, events) }
            }
            &Step::Rows(Rows { from: source, to: target, nbytes, rows, slices }) => {
                let ((count, list), mut end) = (wait_list(events), std::ptr::null_mut());
                let origin = |side: Pitched| [side.offset as usize, 0, 0];
                let (from_origin, to_origin, region) =
                    (origin(source), origin(target), [nbytes, rows, slices]);
                // SAFETY: the rows are bytes of the work's leases (Work 1), in objects of the
                // context that the work keeps; each array has three numbers; the queue and the
                // events are alive (clause 1 of `put`, Driver 1).
                let status = unsafe {
                    (self.context.driver().enqueue_copy_rows)(
                        queue,
                        from,
                        to,
                        from_origin.as_ptr(),
                        to_origin.as_ptr(),
                        region.as_ptr(),
                        source.row,
                        source.slice,
                        target.row,
                        target.slice,
                        count,
                        list,
                        &raw mut end,
                    )
                };
                // SAFETY: `clEnqueueCopyBufferRect` returned `end` with `status`; on success the
                // reference is this caller's to pass on.
                unsafe { ClEvent::made(end, status, &self.context, "clEnqueueCopyBufferRect") }
            }
            &Step::Bytes { from: from_offset, to: to_offset, nbytes } => {
                let ((count, list), mut end) = (wait_list(events), std::ptr::null_mut());
                let (from_offset, to_offset) = (from_offset as usize, to_offset as usize);
                // SAFETY: both ranges are bytes of the work's leases (Work 1), in objects of the
                // context that the work keeps; the queue and the events are alive (clause 1 of
                // `put`, Driver 1).
                let status = unsafe {
                    (self.context.driver().enqueue_copy)(
                        queue,
                        from,
                        to,
                        from_offset,
                        to_offset,
                        nbytes,
                        count,
                        list,
                        &raw mut end,
                    )
                };
                // SAFETY: `clEnqueueCopyBuffer` returned `end` with `status`; on success the
                // reference is this caller's to pass on.
                unsafe { ClEvent::made(end, status, &self.context, "clEnqueueCopyBuffer") }
            }
        }
    }
}

impl ClEngine {
    /// Enqueues a kernel, after some events.
    ///
    /// # Errors
    ///
    /// The driver's error, including those of its compiler; `is_unsupported` where the device does
    /// not support the kernels.
    ///
    /// # Safety
    ///
    /// 1. Until the work is over, the objects are null or of the context, and have all bytes that
    ///    the job reaches, under leases that permit its accesses.
    /// 2. The queue and the events are of the context, and alive.
    unsafe fn launch(
        &self,
        kernel: Kernel,
        groups: u32,
        objects: [cl_mem; 3],
        job: &Job,
        queue: cl_command_queue,
        events: &[cl_event],
    ) -> Result<ClEvent> {
        let (context, driver) = (&self.context, self.context.driver());
        driver.check_process()?;
        let mut compiled = context.programs().lock();
        let raw = compiled.kernel(&context.target(), kernel)?;
        let pointers = objects
            .iter()
            .map(|object| (size_of::<cl_mem>(), (&raw const *object).cast::<std::ffi::c_void>()));
        let job = (job.as_bytes().len(), job.as_bytes().as_ptr().cast::<std::ffi::c_void>());
        for (number, (nbytes, value)) in (0..).zip(pointers.chain([job])) {
            // SAFETY: `compiled` owns the kernel and is locked, and each value has the size of the
            // parameter at its number: three objects, then the job (Driver 1).
            let status = unsafe { (driver.set_kernel_argument)(raw, number, nbytes, value) };
            check(status, "clSetKernelArg").map_err(|error| error.within(context.place()))?;
        }
        let (global, local) = (groups as usize * Kernel::ITEMS, Kernel::ITEMS);
        let ((count, list), mut end) = (wait_list(events), std::ptr::null_mut());
        // SAFETY: clause 1 of `# Safety`: the objects have all that the job reaches; clause 2: the
        // queue and the events are alive. All arguments of the kernel are set above, under the lock
        // (Driver 1).
        let status = unsafe {
            (driver.enqueue_kernel)(
                queue,
                raw,
                1,
                std::ptr::null(),
                &raw const global,
                &raw const local,
                count,
                list,
                &raw mut end,
            )
        };
        // SAFETY: `clEnqueueNDRangeKernel` returned `end` with `status`; on success the reference
        // is this caller's to pass on.
        unsafe { ClEvent::made(end, status, context, "clEnqueueNDRangeKernel") }
    }
}

impl Engine for ClEngine {
    fn start(&self, lease: &DeviceLease) -> Result<Start> {
        let Some(range) = self.range(lease)? else { return Ok(Start { offset: 0, address: 0 }) };
        self.context.driver().check_process()?;
        // Objects begin at a multiple of all element widths, except objects over host memory, which
        // may begin at any address.
        let subject = Subject::Memory(range.object);
        // SAFETY: `hold` keeps the object of the range alive during this call.
        let host = unsafe { one::<*mut std::ffi::c_void>(self.context.driver(), subject, CL_MEM_HOST_PTR) }?;
        let address = (host.addr() as u64).wrapping_add(range.offset as u64);
        Ok(Start { offset: range.offset as i64, address })
    }

    fn run(&self, work: &Work) -> Result<()> {
        // SAFETY: clause 1 of `put`: `now` passes a queue of the context. Clause 2: it waits for
        // the last step, and the caller keeps the work until then.
        self.context.now(|queue| unsafe { self.put(work, queue, &[]) })
    }

    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        ClStream::of(stream).is_some_and(|stream| stream.context().is(&self.context))
    }

    fn enqueue(&self, work: Work, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        let Some(queue) = ClStream::of(stream).filter(|queue| queue.context().is(&self.context)) else {
            let place = self.context.place();
            return Err(Error::unsupported(format!("{stream:?} is not an OpenCL queue of {place}")));
        };
        // SAFETY: clause 1 of `put`: `ClStream::put` passes the queue, which is of the context
        // (checked above), and events that it holds. Clause 2: it keeps the work.
        queue.put(work, |work, raw, events| unsafe { self.put(work, raw, events) })
    }

    fn reaches(&self, memory: &dyn MemoryManager) -> bool {
        let memory: &dyn std::any::Any = memory;
        memory.downcast_ref::<Context>().is_some_and(|context| context.is(&self.context))
    }
}
