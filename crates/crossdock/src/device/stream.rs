//! Queues of work on a device, and the moments at which it is done.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::memory::Place;

/// A queue of work on a device: what is put into it is done in that order, after the call that put
/// it there.
///
/// Dropping a stream loses no work. A stream belongs to the process that made it: after a fork the
/// child makes its own.
pub trait Stream: Any + Send + Sync + fmt::Debug {
    /// The device whose work this is.
    fn place(&self) -> Place;

    /// An event that happens when all that is in the queue now is done.
    ///
    /// # Errors
    ///
    /// Whatever the device says.
    fn record(&self) -> Result<Arc<dyn Event>>;

    /// Lets all that is put into the queue from now on begin after an event, which may be another
    /// stream's or another device's; and fail, if that failed. A device that cannot do so by itself
    /// waits here and now.
    ///
    /// # Errors
    ///
    /// Whatever the device says, or what the event says has failed.
    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        event.wait()
    }

    /// Waits until all that is in the queue now is done.
    ///
    /// # Errors
    ///
    /// Whatever the device says.
    fn synchronize(&self) -> Result<()> {
        self.record()?.wait()
    }

    /// The driver's own handle, for protocols that carry it; null where there is none. It is the
    /// stream's, which outlives its use.
    fn raw(&self) -> *mut c_void {
        std::ptr::null_mut()
    }
}

/// A moment in the work of a device: over, or not yet.
///
/// When [`Event::wait`] has returned, or [`Event::poll`] is not `None`, the leases that the work
/// held have been given back.
pub trait Event: Any + Send + Sync + fmt::Debug {
    /// Waits until the work before the event is over.
    ///
    /// # Errors
    ///
    /// What failed: the same at each call, `is_device` where it was the device.
    fn wait(&self) -> Result<()>;

    /// What [`Event::wait`] would return, or `None` where it would have to wait.
    fn poll(&self) -> Option<Result<()>>;

    /// Whether the work is over, well or badly.
    fn is_done(&self) -> bool {
        self.poll().is_some()
    }

    /// The driver's own handle, for protocols that carry it; null where there is none. It is the
    /// event's, which outlives its use.
    fn raw(&self) -> *mut c_void {
        std::ptr::null_mut()
    }
}
