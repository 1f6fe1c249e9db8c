//! Loads the driver's library once, when it is first needed.
//!
//! Reasons: `DESIGN.md`, "Drivers are loaded by name into our own tables".

use std::ffi::{OsString, c_int, c_void};
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;

use crate::driver::{Driver, Failure};
use crate::sys::code;
use crate::virtual_calls::VirtualCalls;
use crossdock::device::driver::{self, ForkLock};
use crossdock::{Error, Result};

/// Names a library to load instead of the driver's.
const VARIABLE: &str = "CROSSDOCK_CUDA_DRIVER";
const LIBRARY: &str = "libcuda.so.1";
/// The first version with stream-ordered pools, as the driver writes it: 1000 * major + 10 * minor.
const OLDEST: c_int = 11020;

/// The driver, initialised by this process.
pub(crate) struct LoadedDriver {
    driver: Driver,
    /// The virtual memory calls, or the reason why there are none.
    virtual_calls: Result<VirtualCalls>,
    version: c_int,
    generation: u64,
}

impl LoadedDriver {
    pub(crate) fn driver(&'static self) -> &'static Driver {
        &self.driver
    }

    /// # Errors
    ///
    /// `is_unsupported` where the driver lacks one of them.
    pub(crate) fn virtual_calls(&'static self) -> Result<&'static VirtualCalls> {
        self.virtual_calls.as_ref().map_err(Error::again)
    }

    /// The generation of the process that initialised the driver, as [`driver::generation`] counts.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Major and minor.
    pub(crate) fn version(&self) -> (u32, u32) {
        let version = self.version.unsigned_abs();
        (version / 1000, version % 1000 / 10)
    }
}

/// The name of a library that cannot be used, and the reason. (A driver that does not start is
/// tried again each time.)
type Failed = Option<(OsString, Error)>;

static LOADED: AtomicPtr<LoadedDriver> = AtomicPtr::new(std::ptr::null_mut());
static FAILED: ForkLock<Failed> = ForkLock::new(None);

fn failed() -> MutexGuard<'static, Failed> {
    FAILED.lock()
}

/// The driver. The failure to load a library is cached by its name, and returned again without
/// another attempt.
///
/// # Errors
///
/// `is_unsupported` where there is no driver, no usable one, or no device for it; `is_device` where
/// it does not start, or was started before this process was forked.
pub(crate) fn loaded() -> Result<&'static LoadedDriver> {
    if let Some(loaded) = already() {
        return check(loaded);
    }
    let name = std::env::var_os(VARIABLE).unwrap_or_else(|| LIBRARY.into());
    // The lock is held during loading, so that the library is loaded once. No function called below
    // re-enters this one, but one may fork.
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
    let (driver, virtual_calls, version) = match load(&name) {
        Ok(loaded) => loaded,
        Err(error) => {
            let told = error.again();
            *failed = Some((name, error));
            return Err(told);
        }
    };
    // SAFETY: the table is of a loaded driver, and 0 is the only valid value of the flags.
    unsafe { driver.init(0) }.map_err(not_started)?;
    let generation = driver::generation();
    let loaded: &'static LoadedDriver =
        Box::leak(Box::new(LoadedDriver { driver, virtual_calls, version, generation }));
    LOADED.store(std::ptr::from_ref(loaded).cast_mut(), Ordering::Release);
    Ok(loaded)
}

fn already() -> Option<&'static LoadedDriver> {
    let loaded = NonNull::new(LOADED.load(Ordering::Acquire))?;
    // SAFETY: the pointer is not null; `loaded` stored it from a leaked box, which is never changed
    // or freed.
    Some(unsafe { loaded.as_ref() })
}

fn check(loaded: &'static LoadedDriver) -> Result<&'static LoadedDriver> {
    if loaded.generation == driver::generation() { Ok(loaded) } else { Err(forked()) }
}

/// The error in a child that was forked after the driver had been initialised.
#[cold]
pub(crate) fn forked() -> Error {
    Error::device(
        "CUDA was in use when this process was forked, so it works in the parent process only; start a new \
        process instead (in Python: the start method spawn)",
    )
}

/// The function tables of a library, and its version.
fn load(name: &OsString) -> Result<(Driver, Result<VirtualCalls>, c_int)> {
    if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
        return Err(Error::unsupported(
            "no CUDA driver: this program is linked statically, and such programs load no libraries; use a \
            build that is linked with the C library dynamically",
        ));
    }
    let shown = name.to_string_lossy();
    // SAFETY: the file is the system's CUDA driver, or the library that the user named instead; its
    // initialisers run as in any program that links it.
    let library = unsafe { Library::new(name) }.map_err(|error| {
        let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        Error::unsupported(format!("no CUDA driver: {shown} cannot be loaded ({why})"))
    })?;
    let find = |symbol: &'static str| -> Result<*mut c_void> {
        // SAFETY: the symbol is looked up as a plain pointer, which is not called or dereferenced
        // here.
        let found = unsafe { library.get::<*mut c_void>(symbol) }.ok();
        // SAFETY: the pointer is used while `library` lives: the version is queried below, and the
        // table is used after `forget` keeps the library loaded for ever.
        let found = found.and_then(|found| unsafe { found.try_as_raw_ptr() });
        found.ok_or_else(|| {
            Error::unsupported(format!("{shown} has no function {symbol}; install a newer CUDA driver"))
        })
    };
    let function = find("cuDriverGetVersion")?;
    // SAFETY: clause 1 of `version`: `find` returns the library's function of that name, and
    // `library` lives.
    let version = unsafe { version(function, &shown) }?;
    // SAFETY: `find` returns the library's function of each name, and `forget` below keeps the
    // library loaded for ever.
    let driver = unsafe { Driver::of(&find) }?;
    // SAFETY: `find` returns the library's function of each name, and `forget` below keeps the
    // library loaded for ever.
    let virtual_calls = unsafe { VirtualCalls::of(&find) };
    // Never unloaded: threads of the driver may be running its code.
    std::mem::forget(library);
    Ok((driver, virtual_calls, version))
}

/// Queried before the other functions are looked up, because an old driver lacks some of them.
///
/// # Safety
///
/// 1. `function` is the `cuDriverGetVersion` of a library that stays loaded during the call.
unsafe fn version(function: *mut c_void, library: &str) -> Result<c_int> {
    // SAFETY: clause 1 of `# Safety`: the pointer is that function, which has this type in the
    // driver's reference.
    let get =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(function) };
    let mut version = 0;
    // SAFETY: the function may be called before the driver is initialised, and writes to a live
    // local variable.
    let outcome = unsafe { get(&raw mut version) };
    if outcome != code::SUCCESS {
        return Err(Error::device(format!("cuDriverGetVersion of {library} failed with error {outcome}")));
    }
    if version < OLDEST {
        let of = |version: c_int| format!("{}.{}", version / 1000, version % 1000 / 10);
        return Err(Error::unsupported(format!(
            "{library} is a driver for CUDA {}; install one for {} or later",
            of(version),
            of(OLDEST)
        )));
    }
    Ok(version)
}

#[cold]
fn not_started(failure: Failure) -> Error {
    let text = format!("the CUDA driver did not start: {failure}");
    if failure.code == code::NO_DEVICE { Error::unsupported(text) } else { Error::device(text) }
}
