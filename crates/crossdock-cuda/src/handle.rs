//! The driver's objects that have an owner here: whoever drops one of these destroys it.

use std::fmt;
use std::sync::Arc;

use crate::context::Context;
use crate::driver::{Driver, Failure};
use crate::sys;
use crossdock::Result;

/// One kind of object: what makes it in the current context, and what destroys it.
pub(crate) trait Kind: Copy + fmt::Debug {
    fn make(driver: &Driver) -> Result<Self, Failure>;

    /// # Safety
    ///
    /// It was made by [`Kind::make`], and nobody uses it from now on.
    unsafe fn destroy(self, driver: &Driver) -> Result<(), Failure>;
}

/// A stream that does not wait for the legacy default stream, nor that for it.
impl Kind for sys::Stream {
    fn make(driver: &Driver) -> Result<Self, Failure> {
        let mut stream = Self::NULL;
        // SAFETY: a context is current; the answer goes to the local above.
        unsafe { driver.stream_create(&raw mut stream, sys::STREAM_NON_BLOCKING) }?;
        Ok(stream)
    }

    unsafe fn destroy(self, driver: &Driver) -> Result<(), Failure> {
        // SAFETY: `make` created the stream, and nothing uses it any more (`Kind::destroy`).
        unsafe { driver.stream_destroy(self) }
    }
}

/// An event without times, for which a thread sleeps that waits.
impl Kind for sys::Event {
    fn make(driver: &Driver) -> Result<Self, Failure> {
        let mut event = Self::NULL;
        // SAFETY: a context is current; the answer goes to the local above.
        unsafe { driver.event_create(&raw mut event, sys::EVENT_DISABLE_TIMING | sys::EVENT_BLOCKING_SYNC) }?;
        Ok(event)
    }

    unsafe fn destroy(self, driver: &Driver) -> Result<(), Failure> {
        // SAFETY: `make` created the event, and nothing uses it any more (`Kind::destroy`).
        unsafe { driver.event_destroy(self) }
    }
}

/// An object of a context's.
pub(crate) struct Owned<T: Kind> {
    context: Arc<Context>,
    raw: T,
}

impl<T: Kind> Owned<T> {
    /// # Errors
    ///
    /// What the driver says.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        let _current = context.enter()?;
        Ok(Self { raw: T::make(context.driver())?, context: context.clone() })
    }

    pub(crate) fn raw(&self) -> T {
        self.raw
    }
}

impl<T: Kind> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and destroyed here alone.
        self.context.release_quietly(|driver| unsafe { self.raw.destroy(driver) });
    }
}

impl<T: Kind> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}
