//! Counted references to the driver's objects.

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

/// A kind of object, and its functions that count references.
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
    /// A context, which owns memory, queues and events.
    OfContext: retain_context "clRetainContext" release_context "clReleaseContext";
    /// A queue of commands.
    OfQueue: retain_queue "clRetainCommandQueue" release_queue "clReleaseCommandQueue";
    /// Memory.
    OfMemory: retain_memory "clRetainMemObject" release_memory "clReleaseMemObject";
    /// A compiled program.
    OfProgram: retain_program "clRetainProgram" release_program "clReleaseProgram";
    /// A kernel, and its current arguments.
    OfKernel: retain_kernel "clRetainKernel" release_kernel "clReleaseKernel";
    /// The end of a command.
    OfEvent: retain_event "clRetainEvent" release_event "clReleaseEvent";
}

/// A reference to an object of the driver, released on drop. In a forked child, dropping it does
/// nothing.
///
/// # Invariants
///
/// 1. `raw` is an object of this kind that the driver created, and this value owns one reference to
///    it.
pub(crate) struct Object<K: Counted> {
    raw: NonNull<c_void>,
    driver: &'static Driver,
    place: Place,
    kind: PhantomData<K>,
}

// SAFETY: OpenCL permits calls on these objects from any thread, and the pointer is only passed to
// the driver.
unsafe impl<K: Counted> Send for Object<K> {}
// SAFETY: a shared reference only reads the handle, and OpenCL permits calls on these objects from
// any thread.
unsafe impl<K: Counted> Sync for Object<K> {}

impl<K: Counted> Object<K> {
    /// The object that a function of the driver returned, with the status of that function.
    ///
    /// # Errors
    ///
    /// The error of the function, or that it returned null in spite of success.
    ///
    /// # Safety
    ///
    /// If `status` is success, `raw` is an object of this kind, and the caller passes on one
    /// reference to it.
    pub(crate) unsafe fn made(
        raw: *mut c_void,
        status: cl_int,
        driver: &'static Driver,
        place: Place,
        function: &str,
    ) -> Result<Self> {
        check(status, function).map_err(|error| error.within(place))?;
        let raw = NonNull::new(raw)
            .ok_or_else(|| Error::device(format!("{place}: {function} returned a null handle")))?;
        Ok(Self { raw, driver, place, kind: PhantomData })
    }

    /// Adds a reference to an object.
    ///
    /// # Errors
    ///
    /// `is_malformed` for null; the driver's error.
    ///
    /// # Safety
    ///
    /// `raw` is null, or an object of this kind and this driver that is alive.
    pub(crate) unsafe fn retained(raw: *mut c_void, driver: &'static Driver, place: Place) -> Result<Self> {
        if raw.is_null() {
            return Err(Error::malformed(format!("{place}: the handle of the OpenCL object is null")));
        }
        // SAFETY: `raw` is not null by the check above, so by `# Safety` it is an object of this
        // kind that is alive (Driver 1).
        let status = unsafe { (K::retain(driver))(raw) };
        // SAFETY: on success, the call above added the reference that this passes on to `made`.
        unsafe { Self::made(raw, status, driver, place, K::RETAIN) }
    }

    pub(crate) fn raw(&self) -> *mut c_void {
        self.raw.as_ptr()
    }

    /// Releases the reference, and returns the driver's error.
    pub(crate) fn release(self) -> Result<()> {
        let object = std::mem::ManuallyDrop::new(self);
        // SAFETY: clause 1 of `give_back`: the value is not dropped, and ends here.
        unsafe { object.give_back() }
    }

    /// # Safety
    ///
    /// 1. The value is not used afterwards.
    unsafe fn give_back(&self) -> Result<()> {
        if !self.driver.is_of_this_process() {
            return Ok(());
        }
        // SAFETY: this value owns one reference (Object 1), and by clause 1 of `# Safety` it is not
        // used afterwards (Driver 1).
        let status = unsafe { (K::release(self.driver))(self.raw()) };
        check(status, K::RELEASE).map_err(|error| error.within(self.place))
    }
}

impl<K: Counted> Drop for Object<K> {
    fn drop(&mut self) {
        // SAFETY: clause 1 of `give_back`: this is the value's end.
        if let Err(error) = unsafe { self.give_back() } {
            report_release_error(self.place, error);
        }
    }
}

impl<K: Counted> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p} on {}", self.raw, self.place)
    }
}
