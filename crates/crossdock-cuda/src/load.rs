//! The driver's library: loaded once, when it is first needed.

use std::ffi::{OsString, c_int, c_void};
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;

use crate::driver::{Driver, Failure};
use crate::sys::code;
use crossdock::device::driver::{self, ForkLock};
use crossdock::{Error, Result};

/// Names another library in the place of the driver's.
const VARIABLE: &str = "CROSSDOCK_CUDA_DRIVER";
const LIBRARY: &str = "libcuda.so.1";
/// The first version with stream-ordered pools, as the driver writes it: 1000 * major + 10 * minor.
const OLDEST: c_int = 11020;

/// The driver, initialised by this process.
pub(crate) struct Loaded {
    driver: Driver,
    version: c_int,
    generation: u64,
}

impl Loaded {
    pub(crate) fn driver(&'static self) -> &'static Driver {
        &self.driver
    }

    /// The process by which the driver was initialised, as [`fork::generation`] counts.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Major and minor.
    pub(crate) fn version(&self) -> (u32, u32) {
        let version = self.version.unsigned_abs();
        (version / 1000, version % 1000 / 10)
    }
}

/// Why a library cannot be used, and which one. (Why a driver does not start is asked of it each
/// time.)
type Failed = Option<(OsString, Error)>;

static LOADED: AtomicPtr<Loaded> = AtomicPtr::new(std::ptr::null_mut());
static FAILED: ForkLock<Failed> = ForkLock::new(None);

fn failed() -> MutexGuard<'static, Failed> {
    FAILED.lock()
}

/// The driver. That a library cannot be used is kept for its name, and told again without another
/// attempt.
///
/// # Errors
///
/// `is_unsupported` where there is no driver, none that can be used, or no device for it;
/// `is_device` where it does not start, or was started before this process was forked.
pub(crate) fn loaded() -> Result<&'static Loaded> {
    if let Some(loaded) = already() {
        return check(loaded);
    }
    let name = std::env::var_os(VARIABLE).unwrap_or_else(|| LIBRARY.into());
    // Held while the library is loaded, so that it is loaded once. Nothing called below re-enters
    // this function, but it may fork.
    let mut failed = failed();
    let _calls_out = FAILED.calls_out();
    if let Some(loaded) = already() {
        drop(failed);
        return check(loaded);
    }
    if let Some((of, error)) = &*failed
        && *of == name
    {
        return Err(error.again());
    }
    let (driver, version) = match load(&name) {
        Ok(driver) => driver,
        Err(error) => {
            let told = error.again();
            *failed = Some((name, error));
            return Err(told);
        }
    };
    // SAFETY: 0 is the only value of the flags.
    unsafe { driver.init(0) }.map_err(not_started)?;
    let loaded: &'static Loaded =
        Box::leak(Box::new(Loaded { driver, version, generation: driver::generation() }));
    LOADED.store(std::ptr::from_ref(loaded).cast_mut(), Ordering::Release);
    Ok(loaded)
}

fn already() -> Option<&'static Loaded> {
    let loaded = NonNull::new(LOADED.load(Ordering::Acquire))?;
    // SAFETY: it was leaked, and is never changed.
    Some(unsafe { loaded.as_ref() })
}

fn check(loaded: &'static Loaded) -> Result<&'static Loaded> {
    if loaded.generation == driver::generation() { Ok(loaded) } else { Err(forked()) }
}

/// What a child is told that was forked after the driver had been initialised.
#[cold]
pub(crate) fn forked() -> Error {
    Error::device(
        "CUDA was in use when this process was forked, and works in the parent only: start the process anew instead",
    )
}

/// The table of a library, and its version.
fn load(name: &OsString) -> Result<(Driver, c_int)> {
    let shown = name.to_string_lossy();
    // SAFETY: the file is the system's CUDA driver, or the library that the user named in its
    // place; its initialisers run as in any program that links it.
    let library = unsafe { Library::new(name) }.map_err(|error| {
        Error::unsupported(format!("there is no CUDA driver: {shown} cannot be loaded ({error})"))
    })?;
    let find = |symbol: &'static str| -> Result<*mut c_void> {
        // SAFETY: a pointer of any kind, of which nothing is done here.
        let found = unsafe { library.get::<*mut c_void>(symbol) }.ok();
        // SAFETY: it is used after the library was made to stay, but for the version, which is
        // asked before.
        let found = found.and_then(|found| unsafe { found.try_as_raw_ptr() });
        found.ok_or_else(|| {
            Error::unsupported(format!("{shown} has no function {symbol}: a newer CUDA driver is needed"))
        })
    };
    let version = version(find("cuDriverGetVersion")?, &shown)?;
    // SAFETY: functions of the driver, which is not unloaded, below.
    let driver = unsafe { Driver::of(find) }?;
    // Unloading a driver whose threads run would pull the code away from under them.
    std::mem::forget(library);
    Ok((driver, version))
}

/// Asked before the other functions are looked for, since an old driver lacks some.
fn version(function: *mut c_void, library: &str) -> Result<c_int> {
    // SAFETY: the driver's function of that name has this type.
    let get =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(function) };
    let mut version = 0;
    // SAFETY: it may be called before the driver is initialised; it writes to a live local
    // variable.
    let outcome = unsafe { get(&raw mut version) };
    if outcome != code::SUCCESS {
        return Err(Error::device(format!("cuDriverGetVersion of {library} failed with error {outcome}")));
    }
    if version < OLDEST {
        let of = |version: c_int| format!("{}.{}", version / 1000, version % 1000 / 10);
        return Err(Error::unsupported(format!(
            "{library} is a driver for CUDA {}: one for {} or later is needed",
            of(version),
            of(OLDEST)
        )));
    }
    Ok(version)
}

#[cold]
fn not_started(failure: Failure) -> Error {
    let text = format!("the CUDA driver does not start: {failure}");
    if failure.code == code::NO_DEVICE { Error::unsupported(text) } else { Error::device(text) }
}
