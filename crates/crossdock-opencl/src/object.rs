//! References to the driver's objects, which counts them.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use opencl_sys::cl_int;

use crate::driver::Driver;
use crate::error::check;
use crossdock::device::driver::report_release_error;
use crossdock::memory::Place;
use crossdock::{Error, Result};

type Count = unsafe extern "C" fn(*mut c_void) -> cl_int;

/// A kind of object, and the functions that count its references.
pub(crate) trait Counted: Send + Sync + 'static {
    const RETAIN: &str;
    const RELEASE: &str;
    fn retain(driver: &Driver) -> Count;
    fn release(driver: &Driver) -> Count;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $retain:ident $retains:literal $release:ident $releases:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) enum $kind {}

        impl Counted for $kind {
            const RETAIN: &str = $retains;
            const RELEASE: &str = $releases;
            fn retain(driver: &Driver) -> Count {
                driver.$retain
            }
            fn release(driver: &Driver) -> Count {
                driver.$release
            }
        }
    )*};
}

kinds! {
    /// What memory, queues and events belong to.
    OfContext: retain_context "clRetainContext" release_context "clReleaseContext";
    /// A queue of commands.
    OfQueue: retain_queue "clRetainCommandQueue" release_queue "clReleaseCommandQueue";
    /// Memory.
    OfMemory: retain_memory "clRetainMemObject" release_memory "clReleaseMemObject";
    /// Kernels that were compiled.
    OfProgram: retain_program "clRetainProgram" release_program "clReleaseProgram";
    /// One of them, and the arguments that it was given last.
    OfKernel: retain_kernel "clRetainKernel" release_kernel "clReleaseKernel";
    /// The end of a command.
    OfEvent: retain_event "clRetainEvent" release_event "clReleaseEvent";
}

/// A reference to an object of the driver, given back when this is dropped; in a forked child it is
/// forgotten.
///
/// # Invariants
///
/// 1. `raw` is an object of this kind, of which one reference is ours.
pub(crate) struct Object<K: Counted> {
    raw: NonNull<c_void>,
    driver: &'static Driver,
    place: Place,
    kind: PhantomData<K>,
}

// SAFETY: the driver permits calls on its objects from any thread.
unsafe impl<K: Counted> Send for Object<K> {}
// SAFETY: as for Send.
unsafe impl<K: Counted> Sync for Object<K> {}

impl<K: Counted> Object<K> {
    /// What a function of the driver made: its result, and what it said.
    ///
    /// # Errors
    ///
    /// What it said, or that it made nothing all the same.
    ///
    /// # Safety
    ///
    /// Where `status` says so, `raw` is an object of this kind with a reference that is the
    /// caller's to give.
    pub(crate) unsafe fn made(
        raw: *mut c_void,
        status: cl_int,
        driver: &'static Driver,
        place: Place,
        function: &str,
    ) -> Result<Self> {
        check(status, function).map_err(|error| error.within(place))?;
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::device(format!("{place}: {function} gave nothing")))?;
        Ok(Self { raw, driver, place, kind: PhantomData })
    }

    /// One more reference to an object.
    ///
    /// # Errors
    ///
    /// `is_malformed` for null; what the driver says.
    ///
    /// # Safety
    ///
    /// `raw` is null, or an object of this kind that is alive.
    pub(crate) unsafe fn retained(raw: *mut c_void, driver: &'static Driver, place: Place) -> Result<Self> {
        if raw.is_null() {
            return Err(Error::malformed(format!("{place}: the handle of an OpenCL object is null")));
        }
        // SAFETY: not null, so an object of this kind that is alive, by the clause above (Driver 1).
        let status = unsafe { (K::retain(driver))(raw) };
        // SAFETY: retained just now.
        unsafe { Self::made(raw, status, driver, place, K::RETAIN) }
    }

    pub(crate) fn raw(&self) -> *mut c_void {
        self.raw.as_ptr()
    }

    /// Gives the reference back, and says how that went.
    pub(crate) fn release(self) -> Result<()> {
        std::mem::ManuallyDrop::new(self).give_back()
    }

    fn give_back(&self) -> Result<()> {
        if !self.driver.is_of_this_process() {
            return Ok(());
        }
        // SAFETY: Object 1; the caller does not use it any more.
        let status = unsafe { (K::release(self.driver))(self.raw()) };
        check(status, K::RELEASE).map_err(|error| error.within(self.place))
    }
}

impl<K: Counted> Drop for Object<K> {
    fn drop(&mut self) {
        if let Err(error) = self.give_back() {
            report_release_error(self.place, error);
        }
    }
}

impl<K: Counted> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p} on {}", self.raw, self.place)
    }
}
