//! The driver's events: of this library's streams, and of other libraries' streams.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::core::{Core, PooledObject};
use crate::driver::Failure;
use crate::sys::{self, code};
use crossdock::Result;
use crossdock::device::Event;
use crossdock::device::driver::DriverQueue;

/// An event that was recorded at the end of work. The device reuses it after the last handle is
/// dropped.
pub(crate) struct Recorded(PooledObject<sys::Event>);

impl Recorded {
    /// Records the work that is in a stream now.
    ///
    /// # Errors
    ///
    /// The driver's error.
    ///
    /// # Safety
    ///
    /// The stream is the core's, and alive; the core's context is current.
    pub(crate) unsafe fn of(core: &Arc<Core>, stream: sys::Stream) -> Result<Self> {
        let event = core.event()?;
        // SAFETY: `# Safety`: the stream is the core's and alive, and its context is current; the
        // event came from the core above, and no other thread has it.
        unsafe { core.driver().event_record(event.raw(), stream) }?;
        Ok(Self(event))
    }
}

impl Event for Recorded {
    fn wait(&self) -> Result<()> {
        // SAFETY: `self.0` owns the event, which was created in the context of its core, so it is
        // alive during this call.
        unsafe { wait(self.0.core(), self.0.raw()) }
    }

    fn poll(&self) -> Option<Result<()>> {
        // SAFETY: `self.0` owns the event, which was created in the context of its core, so it is
        // alive during this call.
        unsafe { poll(self.0.core(), self.0.raw()) }
    }

    fn raw(&self) -> *mut c_void {
        self.0.raw().0
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event of {}", self.0.core().context().place())
    }
}

/// An event that another library creates and destroys.
pub(crate) struct Wrapped {
    core: Arc<Core>,
    raw: sys::Event,
}

impl Wrapped {
    /// # Safety
    ///
    /// The event belongs to this driver, and is alive until the result is dropped.
    pub(crate) unsafe fn new(core: Arc<Core>, raw: sys::Event) -> Self {
        Self { core, raw }
    }
}

impl Event for Wrapped {
    fn wait(&self) -> Result<()> {
        // SAFETY: `# Safety` of `new`: the event belongs to this driver and is alive as long as
        // `self`.
        unsafe { wait(&self.core, self.raw) }
    }

    fn poll(&self) -> Option<Result<()>> {
        // SAFETY: `# Safety` of `new`: the event belongs to this driver and is alive as long as
        // `self`.
        unsafe { poll(&self.core, self.raw) }
    }

    fn raw(&self) -> *mut c_void {
        self.raw.0
    }
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another's event of {}", self.core.context().place())
    }
}

/// The driver's handle of a CUDA event, for a stream to wait on; `None` for events of other
/// devices.
pub(crate) fn raw_of(event: &dyn Event) -> Option<sys::Event> {
    let any: &dyn Any = event;
    match DriverQueue::<Recorded>::event_of(event) {
        Some(recorded) => Some(recorded.0.raw()),
        None => any.downcast_ref::<Wrapped>().map(|wrapped| wrapped.raw),
    }
}

/// # Safety
///
/// The event belongs to this driver, and is alive.
unsafe fn wait(core: &Core, event: sys::Event) -> Result<()> {
    let _current = core.enter()?;
    // SAFETY: `# Safety`: the event belongs to this driver and is alive; `_current` keeps a context
    // current.
    let synchronize = || unsafe { core.driver().event_synchronize(event) };
    // Even after an error, leases must not end while the work continues: see `Core::finish`.
    let outcome = synchronize();
    if outcome.is_err() {
        let _now_it_may = synchronize();
    }
    Ok(outcome?)
}

/// # Safety
///
/// The event belongs to this driver, and is alive.
unsafe fn poll(core: &Core, event: sys::Event) -> Option<Result<()>> {
    let current = match core.enter() {
        Ok(current) => current,
        Err(error) => return Some(Err(error)),
    };
    // SAFETY: `# Safety`: the event belongs to this driver and is alive; `current` keeps a context
    // current.
    let asked: Result<(), Failure> = unsafe { core.driver().event_query(event) };
    let outcome = match asked {
        Err(failure) if failure.code == code::NOT_READY => return None,
        Err(failure) => {
            // SAFETY: `# Safety`: the event belongs to this driver and is alive; `current` keeps a
            // context current.
            let _ended = unsafe { core.driver().event_synchronize(event) };
            Err(failure.into())
        }
        Ok(()) => Ok(()),
    };
    drop(current);
    Some(outcome)
}
