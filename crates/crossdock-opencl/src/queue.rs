//! Queues of commands, and the work in flight in them.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::*;

use crate::context::Context;
use crate::event::ClEvent;
use crate::object::{Object, OfQueue};
use crate::query::{Subject, one};
use crossdock::Result;
use crossdock::device::driver::{DriverQueue, Held};
use crossdock::device::{Event, Stream};
use crossdock::memory::Place;

/// A queue of commands.
pub(crate) struct ClStream {
    context: Arc<Context>,
    queue: Object<OfQueue>,
    /// Whether the driver executes the commands in order.
    is_ordered: bool,
    line: DriverQueue<ClEvent>,
    /// The event that all later commands in the queue wait for, and fail with. A forked child never
    /// takes the lock.
    gate: Mutex<Option<ClEvent>>,
}

impl ClStream {
    /// A new queue.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        Ok(Self::over(context, context.new_queue()?, true))
    }

    /// A queue of another library.
    ///
    /// # Errors
    ///
    /// `is_place` where the queue belongs to another device; the driver's error.
    ///
    /// # Safety
    ///
    /// `raw` is null, or a queue of this driver that is alive.
    pub(crate) unsafe fn borrowed(raw: cl_command_queue, context: &Arc<Context>) -> Result<Self> {
        let driver = context.driver();
        // SAFETY: `# Safety`: null, or a queue of this driver that is alive, which is the contract
        // of `Object::retained`.
        let queue = unsafe { Object::retained(raw, driver, context.place()) }?;
        let subject = Subject::Queue(raw);
        // SAFETY: `queue` holds a reference to `raw` (Object 1), so the queue is alive.
        let device = unsafe { one::<cl_device_id>(driver, subject, CL_QUEUE_DEVICE) }?;
        context.check_device(device, "the queue")?;
        // SAFETY: `queue` holds a reference to `raw` (Object 1), so the queue is alive.
        let its = unsafe { one::<cl_context>(driver, subject, CL_QUEUE_CONTEXT) }?;
        // SAFETY: `queue` holds a reference to `raw` (Object 1), so the queue is alive.
        let properties = unsafe { one::<cl_command_queue_properties>(driver, subject, CL_QUEUE_PROPERTIES) }?;
        let is_ordered = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
        // SAFETY: the queue, which is kept alive by a reference (Object 1), keeps its context
        // alive.
        let context = unsafe { Context::known(its, context) }?;
        Ok(Self::over(&context, queue, is_ordered))
    }

    fn over(context: &Arc<Context>, queue: Object<OfQueue>, is_ordered: bool) -> Self {
        Self { context: context.clone(), queue, is_ordered, line: DriverQueue::new(), gate: Mutex::new(None) }
    }

    pub(crate) fn of(stream: &dyn Stream) -> Option<&Self> {
        let stream: &dyn std::any::Any = stream;
        stream.downcast_ref()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Enqueues a command: `enqueue` is passed the queue and the events to wait for, and returns
    /// the event of the command's end. The queue keeps `work` until then.
    ///
    /// # Errors
    ///
    /// Those of `enqueue`, after which no work is in flight; `is_device` in a forked child.
    pub(crate) fn put<W: Held>(
        &self,
        work: W,
        enqueue: impl FnOnce(&W, cl_command_queue, &[cl_event]) -> Result<ClEvent>,
    ) -> Result<Arc<dyn Event>> {
        self.context.driver().check_process()?;
        self.line.push(work, |work| {
            let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
            if gate.as_ref().is_some_and(|event| matches!(event.poll(), Some(Ok(())))) {
                *gate = None;
            }
            if !self.is_ordered {
                // SAFETY: clause 1 of `barrier` holds without events.
                drop(unsafe { self.barrier(&[]) }?);
            }
            let list = gate.as_ref().map(Event::raw);
            let event = enqueue(work, self.queue.raw(), list.as_slice())?;
            self.flush();
            Ok(event)
        })
    }

    /// Later commands in the queue begin after these events, and after all commands that are in the
    /// queue.
    ///
    /// # Safety
    ///
    /// 1. The events are of the queue's context, and alive during the call.
    unsafe fn barrier(&self, events: &[cl_event]) -> Result<ClEvent> {
        let (driver, mut end) = (self.context.driver(), std::ptr::null_mut());
        let (count, list) = wait_list(events);
        // SAFETY: the queue is alive (Object 1), and so are the events, which are of its context
        // (clause 1 of `# Safety`, Driver 1).
        let status = unsafe { (driver.enqueue_barrier)(self.queue.raw(), count, list, &raw mut end) };
        // SAFETY: `clEnqueueBarrierWithWaitList` returned `end` with `status`; on success the
        // reference is this caller's to pass on.
        unsafe { ClEvent::made(end, status, &self.context, "clEnqueueBarrierWithWaitList") }
    }

    /// Starts the commands. A failure is ignored: the commands stay in the queue, and any wait for
    /// them flushes again.
    fn flush(&self) {
        // SAFETY: `self.queue` holds a reference to the queue (Object 1), so it is alive (Driver
        // 1).
        let _status = unsafe { (self.context.driver().flush)(self.queue.raw()) };
    }
}

/// A list of events as the driver requires it: the address of an empty list must be null.
pub(crate) fn wait_list(events: &[cl_event]) -> (cl_uint, *const cl_event) {
    if events.is_empty() { (0, std::ptr::null()) } else { (events.len() as cl_uint, events.as_ptr()) }
}

impl Stream for ClStream {
    fn place(&self) -> Place {
        self.context.place()
    }

    fn record(&self) -> Result<Arc<dyn Event>> {
        // SAFETY: clause 1 of `marker`: `put` passes this queue, and events of its context that it
        // holds.
        self.put((), |(), queue, events| unsafe { self.context.marker(queue, events) })
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        let own = ClEvent::of(&**event).filter(|event| event.context().is(&self.context));
        let (Some(own), None) = (own, event.poll()) else { return event.wait() };
        self.context.driver().check_process()?;
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let events: Vec<_> = gate.iter().chain([own]).map(Event::raw).collect();
        // SAFETY: clause 1 of `barrier`: the gate and the caller hold the events, which are of this
        // context (checked above).
        *gate = Some(unsafe { self.barrier(&events) }?);
        self.flush();
        Ok(())
    }

    fn raw(&self) -> *mut c_void {
        self.queue.raw()
    }
}

impl fmt::Debug for ClStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClStream({:?})", self.queue)
    }
}
