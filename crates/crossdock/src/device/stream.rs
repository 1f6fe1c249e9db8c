//! Queues of work on a device, and the events of its end.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::memory::Place;

/// A queue of work on a device, which runs in order and asynchronously.
///
/// Dropping a stream loses no work. A stream belongs to the process that made it: after a fork, the
/// child makes its own.
pub trait Stream: Any + Send + Sync + fmt::Debug {
    /// The device of the queue.
    fn place(&self) -> Place;

    /// An event that happens when all work now in the queue is done.
    ///
    /// # Errors
    ///
    /// The device's errors.
    fn record(&self) -> Result<Arc<dyn Event>>;

    /// Orders later work in the queue after an event, which may be of another stream or device. If
    /// the event failed, the later work fails. A device without support for this waits
    /// synchronously.
    ///
    /// # Errors
    ///
    /// The device's errors, or the event's error.
    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        event.wait()
    }

    /// Waits until all work now in the queue is done.
    ///
    /// # Errors
    ///
    /// The device's errors.
    fn synchronize(&self) -> Result<()> {
        self.record()?.wait()
    }

    /// The driver's handle, for protocols that carry it, or null. The stream owns it, and must
    /// outlive its use.
    fn raw(&self) -> *mut c_void {
        std::ptr::null_mut()
    }
}

/// A point in the work of a device: reached, or pending.
///
/// When [`Event::wait`] has returned, or [`Event::poll`] is not `None`, the leases of the work have
/// been released.
pub trait Event: Any + Send + Sync + fmt::Debug {
    /// Waits until the work before the event is done.
    ///
    /// # Errors
    ///
    /// The error of the work: the same at each call, `is_device` if the device failed.
    fn wait(&self) -> Result<()>;

    /// The result of [`Event::wait`], or `None` if it would have to wait.
    fn poll(&self) -> Option<Result<()>>;

    /// Whether the work is done, with success or failure.
    fn is_done(&self) -> bool {
        self.poll().is_some()
    }

    /// The driver's handle, for protocols that carry it, or null. The event owns it, and must
    /// outlive its use.
    fn raw(&self) -> *mut c_void {
        std::ptr::null_mut()
    }
}
