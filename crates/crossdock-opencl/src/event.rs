//! The ends of commands.

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

/// The end of a command, or an event that somebody else brings about.
pub(crate) struct ClEvent {
    object: Object<OfEvent>,
    context: Arc<Context>,
}

impl ClEvent {
    /// What a function that puts a command into a queue gave.
    ///
    /// # Errors
    ///
    /// What it said.
    ///
    /// # Safety
    ///
    /// Where `status` says so, `raw` is an event of the context, and one reference of it is the
    /// caller's to give.
    pub(crate) unsafe fn made(
        raw: cl_event,
        status: cl_int,
        context: &Arc<Context>,
        function: &str,
    ) -> Result<Self> {
        // SAFETY: an event with a reference to give, where `status` says so, by the clause above.
        let object = unsafe { Object::made(raw, status, context.driver(), context.place(), function) }?;
        Ok(Self { object, context: context.clone() })
    }

    /// Another's event.
    ///
    /// # Errors
    ///
    /// `is_place` where its context does not have the device; what the driver says.
    ///
    /// # Safety
    ///
    /// `raw` is null, or an event that is alive.
    pub(crate) unsafe fn borrowed(raw: cl_event, context: &Arc<Context>) -> Result<Self> {
        // SAFETY: null, or an event that is alive, by the clause above.
        let object = unsafe { Object::retained(raw, context.driver(), context.place()) }?;
        // SAFETY: retained just now.
        let its = unsafe { one::<cl_context>(context.driver(), Subject::Event(raw), CL_EVENT_CONTEXT) }?;
        // SAFETY: alive as its event is.
        let context = unsafe { Context::known(its, context) }?;
        Ok(Self { object, context })
    }

    /// The driver's event behind an event of a queue of OpenCL, or behind one that another library
    /// made.
    pub(crate) fn of(event: &dyn Event) -> Option<&Self> {
        let any: &dyn std::any::Any = event;
        DriverQueue::event_of(event).or_else(|| any.downcast_ref())
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// How far the command is: negative where it failed, [`CL_COMPLETE`] where it is done.
    fn status(&self) -> Result<cl_int> {
        self.context.driver().check_process()?;
        // SAFETY: Object 1.
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
        Err(Error::device(format!("{place}: a command ended with error {status} ({})", name(status))))
    }

    /// Waits where the driver cannot, since what cannot be waited for may still be under way.
    ///
    /// # Errors
    ///
    /// What the command ended with; `why` where its status cannot be had either.
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
        // SAFETY: one event, which is alive (Object 1, Driver 1).
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
            // What is not known to be over may still be under way.
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
