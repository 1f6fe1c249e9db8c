//! Streams of this library, and of other libraries.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::core::Core;
use crate::event::{self, Recorded};
use crate::handle::Owned;
use crate::sys;
use crossdock::device::driver::{DriverQueue, Held};
use crossdock::device::{Event, Stream};
use crossdock::memory::Place;
use crossdock::{Error, Result};

/// A stream of a CUDA device.
pub(crate) struct CudaStream {
    core: Arc<Core>,
    raw: sys::Stream,
    queue: DriverQueue<Recorded>,
    /// The stream that is destroyed with this; `None` for another library's stream.
    _own: Option<Owned<sys::Stream>>,
}

impl CudaStream {
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn new(core: Arc<Core>) -> Result<Self> {
        let own = Owned::<sys::Stream>::new(core.context())?;
        Ok(Self { core, raw: own.raw(), queue: DriverQueue::new(), _own: Some(own) })
    }

    /// Wraps another library's stream: the driver's handle, 0 or 1 for the legacy default stream,
    /// which synchronises with the other streams, or 2 for that of the calling thread.
    ///
    /// # Errors
    ///
    /// `is_unsupported` where the stream does not belong to the device's primary context; the
    /// driver's error.
    ///
    /// # Safety
    ///
    /// The stream belongs to this driver, and is alive until the result is dropped.
    pub(crate) unsafe fn wrap(core: Arc<Core>, raw: sys::Stream) -> Result<Self> {
        let current = core.enter()?;
        let mut context = sys::Context::NULL;
        // SAFETY: `# Safety`: the stream belongs to this driver and is alive; the context goes to a
        // live local variable.
        unsafe { core.driver().stream_get_context(raw, &raw mut context) }?;
        drop(current);
        if context != core.context().raw() {
            let place = core.context().place();
            return Err(Error::unsupported(format!(
                "stream {:p} does not belong to the primary context of {place}; wrap it for its own device",
                raw.0
            )));
        }
        Ok(Self { core, raw, queue: DriverQueue::new(), _own: None })
    }

    /// This stream as a [`CudaStream`], if it is one.
    pub(crate) fn of(stream: &dyn Stream) -> Option<&Self> {
        let stream: &dyn Any = stream;
        stream.downcast_ref()
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Enqueues work: `enqueue` runs with the context current. The result is the event of its end.
    /// The stream keeps `work` until then.
    ///
    /// # Errors
    ///
    /// Those of `enqueue`, and the driver's. In that case no work is in flight.
    pub(crate) fn push<W: Held>(
        &self,
        work: W,
        enqueue: impl FnOnce(&W, sys::Stream) -> Result<()>,
    ) -> Result<Arc<dyn Event>> {
        self.queue.push(work, |work| {
            let _current = self.core.enter()?;
            let recorded = enqueue(work, self.raw).and_then(|()| {
                // SAFETY: `self` owns or wraps the stream, which is therefore alive, and of this
                // core; `_current` keeps the context current.
                unsafe { Recorded::of(&self.core, self.raw) }
            });
            // Part of the work may have been enqueued.
            // SAFETY: clause 1 of `finish`: `self` owns or wraps the stream, which is therefore
            // alive.
            recorded.inspect_err(|_| drop(unsafe { self.core.finish(self.raw) }))
        })
    }
}

impl Stream for CudaStream {
    fn place(&self) -> Place {
        self.core.context().place()
    }

    fn record(&self) -> Result<Arc<dyn Event>> {
        self.push((), |(), _| Ok(()))
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        let Some(raw) = event::raw_of(&**event) else { return event.wait() };
        if let Some(outcome) = event.poll() {
            return outcome;
        }
        let _current = self.core.enter()?;
        // SAFETY: `self` owns or wraps the stream and the caller keeps the event, so both are
        // alive; 0 is the only valid value of the flags.
        Ok(unsafe { self.core.driver().stream_wait_event(self.raw, raw, 0) }?)
    }

    fn raw(&self) -> *mut c_void {
        self.raw.0
    }
}

impl fmt::Debug for CudaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaStream({}, {:p})", self.place(), self.raw.0)
    }
}
