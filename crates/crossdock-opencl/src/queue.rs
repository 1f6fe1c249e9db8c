//! Queues of commands, and what is under way in them.

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
    /// Whether the driver does the commands one after the other by itself.
    is_ordered: bool,
    line: DriverQueue<ClEvent>,
    /// What all that is put into the queue from now on comes after, and fails with. Never taken in
    /// a child of the process that made it.
    gate: Mutex<Option<ClEvent>>,
}

impl ClStream {
    /// A new queue.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        Ok(Self::over(context, context.new_queue()?, true))
    }

    /// A queue that another library made.
    ///
    /// # Errors
    ///
    /// `is_place` where it is another device's; what the driver says.
    ///
    /// # Safety
    ///
    /// `raw` is null, or a queue that is alive.
    pub(crate) unsafe fn borrowed(raw: cl_command_queue, context: &Arc<Context>) -> Result<Self> {
        let driver = context.driver();
        // SAFETY: null, or a queue that is alive, by the clause above.
        let queue = unsafe { Object::retained(raw, driver, context.place()) }?;
        let subject = Subject::Queue(raw);
        // SAFETY: retained just now.
        let device = unsafe { one::<cl_device_id>(driver, subject, CL_QUEUE_DEVICE) }?;
        context.check_device(device, "the queue")?;
        // SAFETY: retained just now.
        let its = unsafe { one::<cl_context>(driver, subject, CL_QUEUE_CONTEXT) }?;
        // SAFETY: retained just now.
        let properties = unsafe { one::<cl_command_queue_properties>(driver, subject, CL_QUEUE_PROPERTIES) }?;
        let is_ordered = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
        // SAFETY: alive as its queue is.
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

    /// Puts a command into the queue: `enqueue` is passed the queue and the events to wait for, and
    /// returns the event of the command's end. `work` is kept until then.
    ///
    /// # Errors
    ///
    /// Of `enqueue`, after which nothing is under way; `is_device` in a forked child.
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
                drop(self.barrier(&[])?);
            }
            let list = gate.as_ref().map(Event::raw);
            let event = enqueue(work, self.queue.raw(), list.as_slice())?;
            self.flush();
            Ok(event)
        })
    }

    /// What comes behind it in the queue begins after these events, and after all that is in the
    /// queue.
    fn barrier(&self, events: &[cl_event]) -> Result<ClEvent> {
        let (driver, mut end) = (self.context.driver(), std::ptr::null_mut());
        let (count, list) = wait_list(events);
        // SAFETY: the queue is alive (Object 1), and so are the events, of its context (the callers
        // hold them) (Driver 1).
        let status = unsafe { (driver.enqueue_barrier)(self.queue.raw(), count, list, &raw mut end) };
        // SAFETY: the driver gave it.
        unsafe { ClEvent::made(end, status, &self.context, "clEnqueueBarrierWithWaitList") }
    }

    /// Has the driver begin. Should it fail, the commands are in the queue all the same, and who
    /// waits for them flushes again.
    fn flush(&self) {
        // SAFETY: the queue is alive (Object 1, Driver 1).
        let _status = unsafe { (self.context.driver().flush)(self.queue.raw()) };
    }
}

/// As the driver wants a list of events: where there is none, it must not have an address.
pub(crate) fn wait_list(events: &[cl_event]) -> (cl_uint, *const cl_event) {
    if events.is_empty() { (0, std::ptr::null()) } else { (events.len() as cl_uint, events.as_ptr()) }
}

impl Stream for ClStream {
    fn place(&self) -> Place {
        self.context.place()
    }

    fn record(&self) -> Result<Arc<dyn Event>> {
        self.put((), |(), queue, events| self.context.marker(queue, events))
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        let own = ClEvent::of(&**event).filter(|event| event.context().is(&self.context));
        let (Some(own), None) = (own, event.poll()) else { return event.wait() };
        self.context.driver().check_process()?;
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let events: Vec<_> = gate.iter().chain([own]).map(Event::raw).collect();
        *gate = Some(self.barrier(&events)?);
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
