//! The driver as others in the process use it: by its functions.

use std::ffi::c_int;
use std::sync::OnceLock;

use libloading::Library;

use crate::setting::begin;

/// The library that is used behind the devices.
pub(crate) fn driver() -> &'static Library {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    begin();
    let name = || std::env::var_os("CROSSDOCK_CUDA_DRIVER").unwrap_or_else(|| "libcuda.so.1".into());
    // SAFETY: it was loaded before by the devices, or is now.
    DRIVER.get_or_init(|| unsafe { Library::new(name()) }.unwrap())
}

/// Calls a function of the driver; the types of the arguments are those of its reference.
macro_rules! cu {
    ($name:ident($($argument:expr => $kind:ty),* $(,)?)) => {{
        // SAFETY: the types are those of the reference.
        let function = unsafe { $crate::raw::driver().get::<unsafe extern "C" fn($($kind),*) -> c_int>(stringify!($name)) };
        // SAFETY: pointers are to variables of the test, and handles are alive.
        let outcome = unsafe { function.unwrap()($($argument),*) };
        assert_eq!(outcome, 0, stringify!($name));
    }};
}
pub(crate) use cu;

/// A device's primary context, current while this lives.
pub(crate) struct Current(c_int);

impl Current {
    pub(crate) fn of(device: c_int) -> Self {
        let mut context = 0usize;
        cu!(cuInit(0 => u32));
        cu!(cuDevicePrimaryCtxRetain(&raw mut context => *mut usize, device => c_int));
        cu!(cuCtxPushCurrent_v2(context => usize));
        Self(device)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        cu!(cuCtxPopCurrent_v2(std::ptr::null_mut() => *mut usize));
        cu!(cuDevicePrimaryCtxRelease_v2(self.0 => c_int));
    }
}

pub(crate) fn current() -> usize {
    let mut context = 0;
    cu!(cuCtxGetCurrent(&raw mut context => *mut usize));
    context
}

/// A stream of the current context, that somebody else made.
pub(crate) fn stream() -> usize {
    let mut stream = 0;
    cu!(cuStreamCreate(&raw mut stream => *mut usize, 1 => u32));
    stream
}

/// Memory of the current device, that somebody else allocated.
pub(crate) fn allocate(nbytes: usize) -> u64 {
    let mut address = 0;
    cu!(cuMemAlloc_v2(&raw mut address => *mut u64, nbytes => usize));
    address
}

pub(crate) fn free(address: u64) {
    cu!(cuMemFree_v2(address => u64));
}
