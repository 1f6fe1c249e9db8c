//! OpenCL's loader, found when the program runs, and the functions that are called in it.

use std::error::Error as _;
use std::ffi::OsString;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;
use opencl_sys::cl_function_types::*;

use crossdock::device::driver;
use crossdock::{Error, Result};

/// Names a library to be opened instead of the system's loader.
const VARIABLE: &str = "CROSSDOCK_OPENCL_DRIVER";

/// What the loader is called, the first that is there.
const NAMES: [&str; 2] = ["libOpenCL.so.1", "libOpenCL.so"];

/// What is behind the optional pointer by which OpenCL's bindings describe a function.
pub(crate) trait Described: Copy {
    type Function: Copy;
    fn function(self) -> Option<Self::Function>;
}

impl<F: Copy> Described for Option<F> {
    type Function = F;
    fn function(self) -> Option<F> {
        self
    }
}

macro_rules! functions {
    ($($field:ident: $description:ident = $symbol:literal,)*) => {
        /// The functions of the loader, which passes each call on to the driver of the platform
        /// that it concerns.
        ///
        /// # Invariants
        ///
        /// 1. Each is the function of that name in a library that is an OpenCL loader and is never
        ///    closed.
        pub(crate) struct Driver {
            $(pub(crate) $field: <$description as Described>::Function,)*
            generation: u64,
        }

        impl Driver {
            fn find(library: &Library) -> Result<Self> {
                Ok(Self {
                    // SAFETY: the library is an OpenCL loader, so a symbol with the name of an
                    // OpenCL function has the type of that function.
                    $($field: unsafe { symbol::<$description>(library, $symbol) }?,)*
                    generation: driver::generation(),
                })
            }
        }
    };
}

functions! {
    get_platform_ids: clGetPlatformIDs_t = "clGetPlatformIDs",
    get_platform_info: clGetPlatformInfo_t = "clGetPlatformInfo",
    get_device_ids: clGetDeviceIDs_t = "clGetDeviceIDs",
    get_device_info: clGetDeviceInfo_t = "clGetDeviceInfo",
    create_context: clCreateContext_t = "clCreateContext",
    retain_context: clRetainContext_t = "clRetainContext",
    release_context: clReleaseContext_t = "clReleaseContext",
    get_context_info: clGetContextInfo_t = "clGetContextInfo",
    create_queue: clCreateCommandQueue_t = "clCreateCommandQueue",
    retain_queue: clRetainCommandQueue_t = "clRetainCommandQueue",
    release_queue: clReleaseCommandQueue_t = "clReleaseCommandQueue",
    get_queue_info: clGetCommandQueueInfo_t = "clGetCommandQueueInfo",
    flush: clFlush_t = "clFlush",
    create_buffer: clCreateBuffer_t = "clCreateBuffer",
    create_sub_buffer: clCreateSubBuffer_t = "clCreateSubBuffer",
    retain_memory: clRetainMemObject_t = "clRetainMemObject",
    release_memory: clReleaseMemObject_t = "clReleaseMemObject",
    get_memory_info: clGetMemObjectInfo_t = "clGetMemObjectInfo",
    enqueue_read: clEnqueueReadBuffer_t = "clEnqueueReadBuffer",
    enqueue_write: clEnqueueWriteBuffer_t = "clEnqueueWriteBuffer",
    enqueue_copy: clEnqueueCopyBuffer_t = "clEnqueueCopyBuffer",
    enqueue_copy_rows: clEnqueueCopyBufferRect_t = "clEnqueueCopyBufferRect",
    enqueue_map: clEnqueueMapBuffer_t = "clEnqueueMapBuffer",
    enqueue_unmap: clEnqueueUnmapMemObject_t = "clEnqueueUnmapMemObject",
    enqueue_marker: clEnqueueMarkerWithWaitList_t = "clEnqueueMarkerWithWaitList",
    enqueue_barrier: clEnqueueBarrierWithWaitList_t = "clEnqueueBarrierWithWaitList",
    create_program: clCreateProgramWithSource_t = "clCreateProgramWithSource",
    retain_program: clRetainProgram_t = "clRetainProgram",
    release_program: clReleaseProgram_t = "clReleaseProgram",
    build_program: clBuildProgram_t = "clBuildProgram",
    get_build_info: clGetProgramBuildInfo_t = "clGetProgramBuildInfo",
    create_kernel: clCreateKernel_t = "clCreateKernel",
    retain_kernel: clRetainKernel_t = "clRetainKernel",
    release_kernel: clReleaseKernel_t = "clReleaseKernel",
    set_kernel_argument: clSetKernelArg_t = "clSetKernelArg",
    enqueue_kernel: clEnqueueNDRangeKernel_t = "clEnqueueNDRangeKernel",
    wait_for_events: clWaitForEvents_t = "clWaitForEvents",
    get_event_info: clGetEventInfo_t = "clGetEventInfo",
    retain_event: clRetainEvent_t = "clRetainEvent",
    release_event: clReleaseEvent_t = "clReleaseEvent",
}

/// What a library has by a name.
///
/// # Safety
///
/// What has the name is what `D` describes.
unsafe fn symbol<D: Described>(library: &Library, name: &str) -> Result<D::Function> {
    // SAFETY: the symbol of this name is what `D` describes (`# Safety`).
    let found = unsafe { library.get::<D>(name) };
    let missing = || {
        Error::unsupported(format!(
            "the loader of OpenCL has no function {name}: it is older than OpenCL 1.2, or something else"
        ))
    };
    found.ok().and_then(|symbol| symbol.function()).ok_or_else(missing)
}

static LOADED: AtomicPtr<Driver> = AtomicPtr::new(std::ptr::null_mut());

impl Driver {
    /// The loader, opened when this is first asked for, and again if it could not be.
    ///
    /// # Errors
    ///
    /// `is_unsupported` where there is no loader, or an older one than OpenCL 1.2's; `is_device` in
    /// a process that was forked from one which had it.
    pub(crate) fn get() -> Result<&'static Self> {
        let loaded = LOADED.load(Ordering::Acquire);
        // SAFETY: null, or put there by `load`, which leaks it.
        let driver = match unsafe { loaded.as_ref() } {
            Some(driver) => driver,
            None => Self::load()?,
        };
        driver.check_process()?;
        Ok(driver)
    }

    #[cold]
    fn load() -> Result<&'static Self> {
        let library = open()?;
        let driver = Box::new(Self::find(&library)?);
        // Drivers have threads that run its code.
        std::mem::forget(library);
        let mine = Box::into_raw(driver);
        // Another thread may have been faster; the lock that would keep it out could be held across
        // a fork.
        let kept =
            match LOADED.compare_exchange(std::ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => mine,
                Err(theirs) => {
                    // SAFETY: made above; the exchange failed, so no other thread has seen it.
                    drop(unsafe { Box::from_raw(mine) });
                    theirs
                }
            };
        // SAFETY: what is in the table of one stays there for ever.
        Ok(unsafe { &*kept })
    }

    /// Whether this process may call it.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.generation == driver::generation()
    }

    /// # Errors
    ///
    /// `is_device` in a process that was forked from the one which opened it.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.is_of_this_process() {
            return Ok(());
        }
        Err(Error::device(
            "OpenCL was in use when this process was forked, and its threads stayed with the parent: start a program anew, \
             or use OpenCL after the fork only",
        ))
    }
}

fn open() -> Result<Library> {
    let chosen = std::env::var_os(VARIABLE);
    let names = match &chosen {
        Some(name) => vec![name.clone()],
        None => NAMES.map(OsString::from).to_vec(),
    };
    let mut why = String::new();
    for name in &names {
        // SAFETY: what the system's loader of OpenCL, or what the user says is one, does when it is
        // opened is the user's choice.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            // The first is what people install.
            Err(error) if why.is_empty() => why = error.source().unwrap_or(&error).to_string(),
            Err(_) => {}
        }
    }
    Err(Error::unsupported(format!(
        "there is no OpenCL here: its loader could not be opened ({why}); install one (Debian: ocl-icd-libopencl1), or name it by \
         {VARIABLE}"
    )))
}
