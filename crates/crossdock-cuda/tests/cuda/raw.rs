//! The driver's functions, as other libraries in the process call them.

use std::ffi::c_int;
use std::sync::OnceLock;

use libloading::Library;

use crate::setting::begin;

/// The driver's library that the devices use.
pub(crate) fn driver() -> &'static Library {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    begin();
    let name = || std::env::var_os("CROSSDOCK_CUDA_DRIVER").unwrap_or_else(|| "libcuda.so.1".into());
    // SAFETY: the devices loaded this library before, or its initialisers run now as in any program
    // that links it.
    DRIVER.get_or_init(|| unsafe { Library::new(name()) }.unwrap())
}

/// Calls a function of the driver with arguments of the types in its reference.
macro_rules! cu {
    ($name:ident($($argument:expr => $kind:ty),* $(,)?)) => {{
        // SAFETY: the callers of this macro pass the argument types of the driver's reference for
        // this function.
        let function = unsafe { $crate::raw::driver().get::<unsafe extern "C" fn($($kind),*) -> c_int>(stringify!($name)) };
        // SAFETY: the callers of this macro pass pointers to live variables of the test, and
        // handles that are alive.
        let outcome = unsafe { function.unwrap()($($argument),*) };
        assert_eq!(outcome, 0, stringify!($name));
    }};
}
pub(crate) use cu;

/// Keeps a device's primary context current.
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

/// A stream of the current context that does not belong to the library.
pub(crate) fn stream() -> usize {
    let mut stream = 0;
    cu!(cuStreamCreate(&raw mut stream => *mut usize, 1 => u32));
    stream
}

/// Memory of the current device that does not belong to the library.
pub(crate) fn allocate(nbytes: usize) -> u64 {
    let mut address = 0;
    cu!(cuMemAlloc_v2(&raw mut address => *mut u64, nbytes => usize));
    address
}

pub(crate) fn free(address: u64) {
    cu!(cuMemFree_v2(address => u64));
}
