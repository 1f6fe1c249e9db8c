//! A device's primary context, which all libraries in the process share, and the guard that makes
//! it current.

use std::fmt;
use std::marker::PhantomData;

use crate::driver::{Driver, Failure};
use crate::load::{self, LoadedDriver};
use crate::sys;
use crate::virtual_calls::VirtualCalls;
use crossdock::device::driver::{generation, report_release_error};
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Error, Result};

/// The primary context of one device, retained until this is dropped.
pub(crate) struct Context {
    loaded: &'static LoadedDriver,
    ordinal: i32,
    device: sys::Device,
    raw: sys::Context,
}

impl Context {
    /// # Errors
    ///
    /// As [`load::loaded`]; `is_bounds` where no device has the ordinal; the driver's error.
    pub(crate) fn retain(ordinal: i32) -> Result<Self> {
        let loaded = load::loaded()?;
        let driver = loaded.driver();
        let device = device(driver, ordinal)?;
        let mut raw = sys::Context::NULL;
        // SAFETY: `device` is a handle that this driver returned above, and the context goes to a
        // live local variable.
        unsafe { driver.primary_context_retain(&raw mut raw, device) }?;
        Ok(Self { loaded, ordinal, device, raw })
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.loaded.driver()
    }

    /// As [`LoadedDriver::virtual_calls`].
    pub(crate) fn virtual_calls(&self) -> Result<&'static VirtualCalls> {
        self.loaded.virtual_calls()
    }

    /// The place of the device's own memory.
    pub(crate) fn place(&self) -> Place {
        Place::new(DeviceKind::CUDA, self.ordinal)
    }

    pub(crate) fn ordinal(&self) -> i32 {
        self.ordinal
    }

    pub(crate) fn device(&self) -> sys::Device {
        self.device
    }

    pub(crate) fn raw(&self) -> sys::Context {
        self.raw
    }

    /// Whether this process is a forked child of the process that owns the context.
    pub(crate) fn is_inherited(&self) -> bool {
        self.loaded.generation() != generation()
    }

    /// Makes the context current for this thread until the result is dropped.
    ///
    /// # Errors
    ///
    /// The driver's error; any call in a forked child.
    pub(crate) fn enter(&self) -> Result<Current<'_>> {
        if self.is_inherited() {
            return Err(load::forked());
        }
        Ok(self.make_current()?)
    }

    fn make_current(&self) -> Result<Current<'_>, Failure> {
        let mut before = sys::Context::NULL;
        // SAFETY: the driver writes the current context, or null, to a live local variable.
        unsafe { self.driver().context_get_current(&raw mut before) }?;
        let is_pushed = before != self.raw;
        if is_pushed {
            // SAFETY: `retain` retained this context, and only the drop of `self` releases it.
            unsafe { self.driver().context_push_current(self.raw) }?;
        }
        Ok(Current { context: self, is_pushed, thread: PhantomData })
    }

    /// Frees an object of the context. Does nothing in a forked child, or where the context and all
    /// objects in it are gone.
    ///
    /// # Errors
    ///
    /// The errors of `free`, and of making the context current.
    pub(crate) fn release(&self, free: impl FnOnce(&Driver) -> Result<(), Failure>) -> Result<()> {
        if self.is_inherited() {
            return Ok(());
        }
        let outcome = match self.make_current() {
            Ok(_current) => free(self.driver()),
            Err(failure) => Err(failure),
        };
        Failure::unless_gone(outcome)
    }

    /// As [`Context::release`], for destructors, which cannot return an error: the error is queued.
    pub(crate) fn release_quietly(&self, free: impl FnOnce(&Driver) -> Result<(), Failure>) {
        if let Err(error) = self.release(free) {
            report_release_error(self.place(), error);
        }
    }

    /// A device attribute.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn attribute(&self, attribute: i32) -> Result<i32> {
        attribute_of(self.driver(), self.device, attribute)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.is_inherited() {
            return;
        }
        // SAFETY: `retain` retained the context of this device once, and only this drop releases
        // it.
        let outcome = unsafe { self.driver().primary_context_release(self.device) };
        if let Err(error) = Failure::unless_gone(outcome) {
            report_release_error(self.place(), error);
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.place())
    }
}

/// Keeps a context current for this thread. Dropping it restores the previous context.
pub(crate) struct Current<'a> {
    context: &'a Context,
    is_pushed: bool,
    /// Current contexts are per thread, so this is not `Send`.
    thread: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if !self.is_pushed {
            return;
        }
        let mut popped = sys::Context::NULL;
        // SAFETY: the driver writes to a live local variable. This thread pushed the context when
        // it created the guard (which is not `Send`), and code that pushes another context
        // meanwhile pops it before the guard is dropped.
        let outcome = unsafe { self.context.driver().context_pop_current(&raw mut popped) };
        if let Err(error) = Failure::unless_gone(outcome) {
            report_release_error(self.context.place(), error);
        }
    }
}

/// Whether any context is current for this thread.
///
/// # Errors
///
/// The driver's error.
pub(crate) fn is_any_current(driver: &Driver) -> Result<bool> {
    let mut current = sys::Context::NULL;
    // SAFETY: the driver writes the current context, or null, to a live local variable.
    unsafe { driver.context_get_current(&raw mut current) }?;
    Ok(current != sys::Context::NULL)
}

/// The number of devices that the driver has.
///
/// # Errors
///
/// The driver's error.
pub(crate) fn count(driver: &Driver) -> Result<i32> {
    let mut count = 0;
    // SAFETY: the driver, which is initialised, writes the number of devices to a live local
    // variable.
    unsafe { driver.device_get_count(&raw mut count) }?;
    Ok(count)
}

/// # Errors
///
/// `is_bounds` where no device has the ordinal; the driver's error.
pub(crate) fn device(driver: &Driver, ordinal: i32) -> Result<sys::Device> {
    let count = count(driver)?;
    if !(0..count).contains(&ordinal) {
        let place = Place::new(DeviceKind::CUDA, ordinal);
        return Err(Error::bounds(format!(
            "there is no {place}; the CUDA driver has {count} devices, counted from 0"
        )));
    }
    let mut device = 0;
    // SAFETY: the ordinal is below the number of devices, and the driver writes the handle to a
    // live local variable.
    unsafe { driver.device_get(&raw mut device, ordinal) }?;
    Ok(device)
}

/// # Errors
///
/// The driver's error.
pub(crate) fn attribute_of(driver: &Driver, device: sys::Device, attribute: i32) -> Result<i32> {
    let mut value = 0;
    // SAFETY: `device` is a handle that this driver returned, and the value goes to a live local
    // variable.
    unsafe { driver.device_get_attribute(&raw mut value, attribute, device) }?;
    Ok(value)
}
