//! Objects of the driver with an owner in this library, whose drop destroys them.

use std::fmt;
use std::sync::Arc;

use crate::context::Context;
use crate::driver::{Driver, Failure};
use crate::sys;
use crossdock::Result;

/// One kind of object: how to create it in the current context, and how to destroy it.
pub(crate) trait Kind: Copy + fmt::Debug {
    fn make(driver: &Driver) -> Result<Self, Failure>;

    /// # Safety
    ///
    /// [`Kind::make`] created the object, which is not used any more.
    unsafe fn destroy(self, driver: &Driver) -> Result<(), Failure>;
}

/// A stream that does not synchronise with the legacy default stream.
impl Kind for sys::Stream {
    fn make(driver: &Driver) -> Result<Self, Failure> {
        let mut stream = Self::NULL;
        // SAFETY: `Owned::new`, the only caller, makes a context current; the driver writes the
        // handle to a live local variable.
        unsafe { driver.stream_create(&raw mut stream, sys::STREAM_NON_BLOCKING) }?;
        Ok(stream)
    }

    unsafe fn destroy(self, driver: &Driver) -> Result<(), Failure> {
        // SAFETY: `# Safety` of `Kind::destroy`: `make` created the stream, and it is not used any
        // more.
        unsafe { driver.stream_destroy(self) }
    }
}

/// An event without timing, on which a waiting thread sleeps.
impl Kind for sys::Event {
    fn make(driver: &Driver) -> Result<Self, Failure> {
        let mut event = Self::NULL;
        // SAFETY: `Owned::new`, the only caller, makes a context current; the driver writes the
        // handle to a live local variable.
        unsafe { driver.event_create(&raw mut event, sys::EVENT_DISABLE_TIMING | sys::EVENT_BLOCKING_SYNC) }?;
        Ok(event)
    }

    unsafe fn destroy(self, driver: &Driver) -> Result<(), Failure> {
        // SAFETY: `# Safety` of `Kind::destroy`: `make` created the event, and it is not used any
        // more.
        unsafe { driver.event_destroy(self) }
    }
}

/// An object in a context, destroyed on drop.
pub(crate) struct Owned<T: Kind> {
    context: Arc<Context>,
    raw: T,
}

impl<T: Kind> Owned<T> {
    /// # Errors
    ///
    /// The driver's error.
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
        // SAFETY: `new` created the object, and only this drop destroys it; copies of the handle
        // are used while the owner lives.
        self.context.release_quietly(|driver| unsafe { self.raw.destroy(driver) });
    }
}

impl<T: Kind> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}
