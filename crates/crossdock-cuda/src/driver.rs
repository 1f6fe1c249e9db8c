//! The table of the driver's functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::sys::{self, Address, code};
use crossdock::{Error, Result};

/// A function that the driver calls in a stream.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Defines one method for each function, which calls the driver. A failure names the function and
/// its error code.
macro_rules! functions {
    ($(#[$about:meta])* $vis:vis struct $table:ident; $($(#[$doc:meta])* $symbol:literal: $name:ident($($arg:ident: $type:ty),*);)*) => {
        $(#[$about])*
        $vis struct $table {
            words: Words,
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)*
        }

        impl $table {
            /// The table, of the functions that `find` returns.
            ///
            /// # Errors
            ///
            /// Those of `find`.
            ///
            /// # Safety
            ///
            /// For each name, `find` returns the driver's function of this name, which stays loaded
            /// for ever.
            pub(crate) unsafe fn of(find: &impl Fn(&'static str) -> Result<*mut c_void>) -> Result<Self> {
                // SAFETY: `# Safety` is the contract of `Words::of`: `find` returns the driver's
                // function of each name, which stays loaded.
                let words = unsafe { Words::of(find) }?;
                Ok(Self { words, $(
                    $name: {
                        let found = find($symbol)?;
                        // SAFETY: `# Safety`: `find` returned the driver's function of this name,
                        // which stays loaded; the types are those of the driver's reference.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(found) }
                    },
                )*})
            }

            $(
                $(#[$doc])*
                #[doc = concat!("`", $symbol, "`.\n\n# Errors\n\nWhat the driver says.\n\n# Safety\n\nAs its reference demands: handles are alive, pointers are valid.")]
                pub(crate) unsafe fn $name(&self, $($arg: $type),*) -> Result<(), Failure> {
                    // SAFETY: `# Safety`: handles are alive and pointers valid, as the driver's
                    // reference demands; the function stays loaded (`Driver::of`).
                    self.words.outcome($symbol, unsafe { (self.$name)($($arg),*) })
                }
            )*
        }
    };
}

pub(crate) use functions;

functions! {
    /// The driver, loaded and never unloaded.
    pub(crate) struct Driver;

    "cuInit": init(flags: c_uint);

    "cuDeviceGetCount": device_get_count(count: *mut c_int);
    "cuDeviceGet": device_get(device: *mut sys::Device, ordinal: c_int);
    "cuDeviceGetName": device_get_name(name: *mut c_char, length: c_int, device: sys::Device);
    "cuDeviceGetAttribute": device_get_attribute(value: *mut c_int, attribute: c_int, device: sys::Device);
    "cuDeviceTotalMem_v2": device_total_mem(nbytes: *mut usize, device: sys::Device);
    "cuDeviceCanAccessPeer": device_can_access_peer(can: *mut c_int, device: sys::Device, peer: sys::Device);

    "cuDevicePrimaryCtxRetain": primary_context_retain(context: *mut sys::Context, device: sys::Device);
    "cuDevicePrimaryCtxRelease_v2": primary_context_release(device: sys::Device);
    "cuCtxGetCurrent": context_get_current(context: *mut sys::Context);
    "cuCtxPushCurrent_v2": context_push_current(context: sys::Context);
    "cuCtxPopCurrent_v2": context_pop_current(context: *mut sys::Context);
    "cuCtxEnablePeerAccess": context_enable_peer_access(peer: sys::Context, flags: c_uint);

    "cuMemGetInfo_v2": mem_get_info(free: *mut usize, total: *mut usize);
    "cuMemAlloc_v2": mem_alloc(address: *mut Address, nbytes: usize);
    "cuMemFree_v2": mem_free(address: Address);
    "cuMemHostAlloc": mem_host_alloc(address: *mut *mut c_void, nbytes: usize, flags: c_uint);
    "cuMemFreeHost": mem_free_host(address: *mut c_void);
    "cuMemHostRegister_v2": mem_host_register(address: *mut c_void, nbytes: usize, flags: c_uint);
    "cuMemHostUnregister": mem_host_unregister(address: *mut c_void);
    "cuMemHostGetDevicePointer_v2": mem_host_get_device_pointer(device: *mut Address, host: *mut c_void, flags: c_uint);
    "cuMemAllocManaged": mem_alloc_managed(address: *mut Address, nbytes: usize, flags: c_uint);
    "cuPointerGetAttributes": pointer_get_attributes(count: c_uint, attributes: *mut c_int, data: *mut *mut c_void, address: Address);
    "cuMemGetAddressRange_v2": mem_get_address_range(base: *mut Address, nbytes: *mut usize, address: Address);

    "cuMemPoolCreate": mem_pool_create(pool: *mut sys::Pool, properties: *const sys::PoolProperties);
    "cuMemPoolDestroy": mem_pool_destroy(pool: sys::Pool);
    "cuMemPoolSetAttribute": mem_pool_set_attribute(pool: sys::Pool, attribute: c_int, value: *mut c_void);
    "cuMemPoolSetAccess": mem_pool_set_access(pool: sys::Pool, access: *const sys::Access, count: usize);
    "cuMemPoolTrimTo": mem_pool_trim_to(pool: sys::Pool, nbytes_to_keep: usize);
    "cuMemAllocFromPoolAsync": mem_alloc_from_pool_async(address: *mut Address, nbytes: usize, pool: sys::Pool, stream: sys::Stream);
    "cuMemFreeAsync": mem_free_async(address: Address, stream: sys::Stream);

    "cuMemsetD8Async": memset_d8_async(address: Address, value: u8, count: usize, stream: sys::Stream);
    "cuMemcpyAsync": memcpy_async(dst: Address, src: Address, nbytes: usize, stream: sys::Stream);
    "cuMemcpyPeerAsync": memcpy_peer_async(dst: Address, dst_context: sys::Context, src: Address, src_context: sys::Context, nbytes: usize, stream: sys::Stream);
    "cuMemcpy2DAsync_v2": memcpy_2d_async(copy: *const sys::CopyRectangle, stream: sys::Stream);
    "cuMemcpy3DAsync_v2": memcpy_3d_async(copy: *const sys::CopyBox, stream: sys::Stream);

    "cuStreamCreate": stream_create(stream: *mut sys::Stream, flags: c_uint);
    "cuStreamDestroy_v2": stream_destroy(stream: sys::Stream);
    "cuStreamSynchronize": stream_synchronize(stream: sys::Stream);
    "cuStreamQuery": stream_query(stream: sys::Stream);
    "cuStreamWaitEvent": stream_wait_event(stream: sys::Stream, event: sys::Event, flags: c_uint);
    "cuStreamGetCtx": stream_get_context(stream: sys::Stream, context: *mut sys::Context);
    "cuLaunchHostFunc": launch_host_func(stream: sys::Stream, function: HostFunction, data: *mut c_void);

    "cuEventCreate": event_create(event: *mut sys::Event, flags: c_uint);
    "cuEventDestroy_v2": event_destroy(event: sys::Event);
    "cuEventRecord": event_record(event: sys::Event, stream: sys::Stream);
    "cuEventQuery": event_query(event: sys::Event);
    "cuEventSynchronize": event_synchronize(event: sys::Event);

    "cuIpcGetMemHandle": ipc_get_mem_handle(handle: *mut sys::IpcMemory, address: Address);
    "cuIpcOpenMemHandle_v2": ipc_open_mem_handle(address: *mut Address, handle: sys::IpcMemory, flags: c_uint);
    "cuIpcCloseMemHandle": ipc_close_mem_handle(address: Address);

    "cuModuleLoadData": module_load_data(module: *mut sys::Module, image: *const c_void);
    "cuModuleUnload": module_unload(module: sys::Module);
    "cuModuleGetFunction": module_get_function(function: *mut sys::Function, module: sys::Module, name: *const c_char);
    #[expect(clippy::too_many_arguments, reason = "they are the driver's")]
    "cuLaunchKernel": launch_kernel(function: sys::Function, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_nbytes: c_uint, stream: sys::Stream, arguments: *mut *mut c_void, extra: *mut *mut c_void);
}

impl Words {
    pub(crate) fn outcome(&self, function: &'static str, code: c_int) -> Result<(), Failure> {
        if code == code::SUCCESS { Ok(()) } else { Err(self.failure(function, code)) }
    }

    #[cold]
    fn failure(&self, function: &'static str, code: c_int) -> Failure {
        if code == code::NOT_READY {
            // Not a failure, and frequent: its name and text are not looked up.
            return Failure { function, code, name: None, text: None };
        }
        let Self { name, text } = self;
        Failure { function, code, name: said(*name, code), text: said(*text, code) }
    }
}

/// A function that returns the name or the text of an error.
type Say = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// The driver's words for errors.
pub(crate) struct Words {
    name: Say,
    text: Say,
}

impl Words {
    /// # Safety
    ///
    /// For each name, `find` returns the driver's function of this name, which stays loaded for
    /// ever.
    pub(crate) unsafe fn of(find: &impl Fn(&'static str) -> Result<*mut c_void>) -> Result<Self> {
        let (name, text) = (find("cuGetErrorName")?, find("cuGetErrorString")?);
        // SAFETY: `# Safety`: `find` returned the driver's two functions of these names, which have
        // this type in the driver's reference.
        let [name, text] = unsafe { std::mem::transmute::<[*mut c_void; 2], [Say; 2]>([name, text]) };
        Ok(Self { name, text })
    }
}

/// The driver's words for an error; none for an unknown code.
fn said(say: Say, code: c_int) -> Option<&'static CStr> {
    let mut words = std::ptr::null();
    // SAFETY: the function accepts any code at any time, and writes its answer to a live local
    // variable.
    let outcome = unsafe { say(code, &raw mut words) };
    // SAFETY: the pointer is not null by the check before, and leads to a C string in the driver,
    // which is never unloaded.
    (outcome == code::SUCCESS && !words.is_null()).then(|| unsafe { CStr::from_ptr(words) })
}

/// A function of the driver that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) function: &'static str,
    pub(crate) code: i32,
    name: Option<&'static CStr>,
    text: Option<&'static CStr>,
}

impl Failure {
    /// Whether the driver or the context is gone, and all its objects with it: at the end of the
    /// process, or after another library reset the device.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.code, code::DEINITIALIZED | code::CONTEXT_IS_DESTROYED)
    }

    /// For what frees: nothing is left to be freed where all has gone.
    pub(crate) fn unless_gone(outcome: Result<(), Self>) -> Result<()> {
        match outcome {
            Err(failure) if !failure.is_gone() => Err(failure.into()),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let or_nothing = |words: Option<&'static CStr>| words.unwrap_or_default().to_string_lossy();
        let (function, code) = (self.function, self.code);
        write!(f, "{function} failed with error {code}")?;
        match (self.name, self.text) {
            (None, None) => Ok(()),
            (name, text) => write!(f, " ({}: {})", or_nothing(name), or_nothing(text)),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let text = failure.to_string();
        if failure.code == code::OUT_OF_MEMORY { Self::no_memory(text) } else { Self::device(text) }
    }
}
