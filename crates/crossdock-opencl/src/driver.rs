//! OpenCL's loader, opened at run time, and its functions.

use std::error::Error as _;
use std::ffi::OsString;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;
use opencl_sys::cl_function_types::*;

use crossdock::device::driver;
use crossdock::{Error, Result};

/// Names a library to open instead of the system's loader.
const VARIABLE: &str = "CROSSDOCK_OPENCL_DRIVER";

/// The file names of the loader. The first that exists is used.
const NAMES: [&str; 2] = ["libOpenCL.so.1", "libOpenCL.so"];

/// The function type inside the optional pointer by which OpenCL's bindings describe a function.
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
        /// The functions of the loader, which forwards each call to the driver of the platform
        /// concerned.
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
                    // SAFETY: `open` opened the library as an OpenCL loader, so a symbol with the
                    // name of an OpenCL function has the type of that function.
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

/// The symbol of a name in a library.
///
/// # Safety
///
/// The symbol of this name, if there is one, has the type that `D` describes.
unsafe fn symbol<D: Described>(library: &Library, name: &str) -> Result<D::Function> {
    // SAFETY: `# Safety`: the symbol of this name has the type that `D` describes, if the library
    // has it.
    let found = unsafe { library.get::<D>(name) };
    let missing = || {
        Error::unsupported(format!(
            "the OpenCL loader has no function {name}; install a loader of OpenCL 1.2 or later"
        ))
    };
    found.ok().and_then(|symbol| symbol.function()).ok_or_else(missing)
}

static LOADED: AtomicPtr<Driver> = AtomicPtr::new(std::ptr::null_mut());

impl Driver {
    /// The loader. The first call opens it; after a failure the next call tries again.
    ///
    /// # Errors
    ///
    /// `is_unsupported` where there is no loader, or one older than OpenCL 1.2; `is_device` in a
    /// process that was forked after the loader was opened.
    pub(crate) fn get() -> Result<&'static Self> {
        let loaded = LOADED.load(Ordering::Acquire);
        // SAFETY: the pointer is null, or `load` stored it from a leaked box, which is never
        // changed or freed.
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
        // Never unloaded: threads of the drivers may be running its code.
        std::mem::forget(library);
        let mine = Box::into_raw(driver);
        // Another thread may have stored its table first. A lock against that could be held across
        // a fork.
        let kept =
            match LOADED.compare_exchange(std::ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => mine,
                Err(theirs) => {
                    // SAFETY: `into_raw` above created the pointer, and the exchange failed, so no
                    // other thread has seen it.
                    drop(unsafe { Box::from_raw(mine) });
                    theirs
                }
            };
        // SAFETY: the pointer is from `into_raw`, of this thread or of the one that stored it, and
        // a stored table is never freed.
        Ok(unsafe { &*kept })
    }

    /// Whether this process may call the loader.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.generation == driver::generation()
    }

    /// # Errors
    ///
    /// `is_device` in a process that was forked after the loader was opened.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.is_of_this_process() {
            return Ok(());
        }
        Err(Error::device(
            "OpenCL was in use when this process was forked, so it works in the parent process only; start \
            a new process, or use OpenCL only after the fork",
        ))
    }
}

fn open() -> Result<Library> {
    if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
        return Err(Error::unsupported(
            "no OpenCL: this program is linked statically, and such programs load no libraries; use a build \
            that is linked with the C library dynamically",
        ));
    }
    let chosen = std::env::var_os(VARIABLE);
    let names = match &chosen {
        Some(name) => vec![name.clone()],
        None => NAMES.map(OsString::from).to_vec(),
    };
    let mut why = String::new();
    for name in &names {
        // SAFETY: the library is the system's OpenCL loader, or the one that the user named
        // instead; its initialisers run as in any program that links it.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            // The first name is the usual one, so its error is reported.
            Err(error) if why.is_empty() => why = error.source().unwrap_or(&error).to_string(),
            Err(_) => {}
        }
    }
    Err(Error::unsupported(format!(
        "no OpenCL: its loader could not be opened ({why}); install one (Debian: ocl-icd-libopencl1), or \
        set {VARIABLE} to its file"
    )))
}
