//! Events: the ends of commands.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use opencl_sys::*;

use crate::context::Context;
use crate::error::{failed, name};
use crate::object::{Object, OfEvent};
use crate::query::{Subject, one};
use crossdock::device::Event;
use crossdock::device::driver::DriverQueue;
use crossdock::{Error, Result};

/// The end of a command, or a user event that another party completes.
pub(crate) struct ClEvent {
    object: Object<OfEvent>,
    context: Arc<Context>,
}

impl ClEvent {
    /// The event that an enqueueing function returned.
    ///
    /// # Errors
    ///
    /// The error of that function.
    ///
    /// # Safety
    ///
    /// If `status` is success, `raw` is an event of the context, and the caller passes on one
    /// reference to it.
    pub(crate) unsafe fn made(
        raw: cl_event,
        status: cl_int,
        context: &Arc<Context>,
        function: &str,
    ) -> Result<Self> {
        // SAFETY: `# Safety`: on success, `raw` is an event with a reference that the caller passes
        // on, which is the contract of `Object::made`.
        let object = unsafe { Object::made(raw, status, context.driver(), context.place(), function) }?;
        Ok(Self { object, context: context.clone() })
    }

    /// An event of another library.
    ///
    /// # Errors
    ///
    /// `is_place` where its context does not have the device; the driver's error.
    ///
    /// # Safety
    ///
    /// `raw` is null, or an event of this driver that is alive.
    pub(crate) unsafe fn borrowed(raw: cl_event, context: &Arc<Context>) -> Result<Self> {
        // SAFETY: `# Safety`: null, or an event of this driver that is alive, which is the contract
        // of `Object::retained`.
        let object = unsafe { Object::retained(raw, context.driver(), context.place()) }?;
        // SAFETY: `object` holds a reference to `raw` (Object 1), so the event is alive.
        let its = unsafe { one::<cl_context>(context.driver(), Subject::Event(raw), CL_EVENT_CONTEXT) }?;
        // SAFETY: the event, which `object` keeps alive (Object 1), keeps its context alive.
        let context = unsafe { Context::known(its, context) }?;
        Ok(Self { object, context })
    }

    /// The driver's event inside an event of an OpenCL queue, or inside one of another library.
    pub(crate) fn of(event: &dyn Event) -> Option<&Self> {
        let any: &dyn std::any::Any = event;
        DriverQueue::event_of(event).or_else(|| any.downcast_ref())
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The execution status of the command: negative after a failure, [`CL_COMPLETE`] after
    /// success.
    fn status(&self) -> Result<cl_int> {
        self.context.driver().check_process()?;
        // SAFETY: `self.object` holds a reference to the event (Object 1), so it is alive.
        unsafe {
            one(self.context.driver(), Subject::Event(self.object.raw()), CL_EVENT_COMMAND_EXECUTION_STATUS)
        }
        .map_err(|error| error.within(self.context.place()))
    }

    fn outcome(&self, status: cl_int) -> Result<()> {
        if status >= CL_COMPLETE {
            return Ok(());
        }
        let place = self.context.place();
        Err(Error::device(format!("{place}: a command failed with error {status} ({})", name(status))))
    }

    /// Waits by polling where the driver's wait failed, since the command may still be in flight.
    ///
    /// # Errors
    ///
    /// The error of the command; `why` where its status is not available either.
    #[cold]
    fn wait_by_asking(&self, why: Error) -> Result<()> {
        loop {
            match self.status() {
                Ok(status) if status > CL_COMPLETE => thread::sleep(Duration::from_millis(1)),
                Ok(status) => return self.outcome(status),
                Err(_) => return Err(why),
            }
        }
    }
}

impl Event for ClEvent {
    fn wait(&self) -> Result<()> {
        let driver = self.context.driver();
        driver.check_process()?;
        let raw = self.object.raw();
        // SAFETY: `self.object` holds a reference to the event (Object 1), and the list has one
        // entry, as stated (Driver 1).
        match unsafe { (driver.wait_for_events)(1, &raw const raw) } {
            CL_SUCCESS => Ok(()),
            status => self.wait_by_asking(failed(status, "clWaitForEvents").within(self.context.place())),
        }
    }

    fn poll(&self) -> Option<Result<()>> {
        if let Err(left_behind) = self.context.driver().check_process() {
            return Some(Err(left_behind));
        }
        match self.status() {
            Ok(status) if status <= CL_COMPLETE => Some(self.outcome(status)),
            // A command of unknown status may still be in flight.
            _ => None,
        }
    }

    fn raw(&self) -> *mut c_void {
        self.object.raw()
    }
}

impl fmt::Debug for ClEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClEvent({:?})", self.object)
    }
}
