//! The driver's own functions, as a program without the library calls them: the peer of the
//! figures.

use std::ffi::{c_int, c_uint, c_void};
use std::time::{Duration, Instant};

use libloading::Library;

use crate::Result;

type Status = c_int;
type Address = u64;
type Handle = *mut c_void;

/// The functions of the driver, loaded once.
struct Functions {
    init: unsafe extern "C" fn(c_uint) -> Status,
    device_get: unsafe extern "C" fn(*mut c_int, c_int) -> Status,
    context_retain: unsafe extern "C" fn(*mut Handle, c_int) -> Status,
    context_set: unsafe extern "C" fn(Handle) -> Status,
    stream_create: unsafe extern "C" fn(*mut Handle, c_uint) -> Status,
    stream_synchronize: unsafe extern "C" fn(Handle) -> Status,
    allocate_async: unsafe extern "C" fn(*mut Address, usize, Handle) -> Status,
    free_async: unsafe extern "C" fn(Address, Handle) -> Status,
    allocate: unsafe extern "C" fn(*mut Address, usize) -> Status,
    free: unsafe extern "C" fn(Address) -> Status,
    allocate_host: unsafe extern "C" fn(*mut Handle, usize, c_uint) -> Status,
    free_host: unsafe extern "C" fn(Handle) -> Status,
    copy_to_device: unsafe extern "C" fn(Address, *const c_void, usize, Handle) -> Status,
    copy_within: unsafe extern "C" fn(Address, Address, usize, Handle) -> Status,
}

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;

fn check(name: &str, status: Status) -> Result {
    if status == 0 { Ok(()) } else { Err(format!("{name} answered {status}").into()) }
}

macro_rules! load {
    ($library:expr; $($field:ident $symbol:literal)*) => {
        Functions {
            $($field: {
                // SAFETY: the library is the CUDA driver, where the function of this name has the
                // type of the field, by the driver's reference.
                let symbol = unsafe { $library.get($symbol) }?;
                *symbol
            },)*
        }
    };
}

/// The first device, with its primary context current on this thread, and a stream.
pub(crate) struct Peer {
    functions: Functions,
    stream: Handle,
    /// The library of the functions, which keeps them loaded.
    _library: Library,
}

/// Calls a function of the table; a failure is an error with the name of the function.
macro_rules! call {
    ($peer:expr, $field:ident($($argument:expr),*)) => {{
        // SAFETY: the users of this macro pass handles and addresses that the driver returned,
        // sizes within their allocations, and pointers to live local variables; `_library` keeps
        // the function loaded.
        let status = unsafe { ($peer.$field)($($argument),*) };
        check(stringify!($field), status)
    }};
}

impl Peer {
    /// Loads the same driver as the library.
    pub(crate) fn open() -> Result<Self> {
        let name = std::env::var_os("CROSSDOCK_CUDA_DRIVER").unwrap_or_else(|| "libcuda.so.1".into());
        // SAFETY: this process has loaded the driver before, by the same name, so its initialisers
        // have already run.
        let library = unsafe { Library::new(name) }?;
        let functions = load! { library;
            init b"cuInit\0"
            device_get b"cuDeviceGet\0"
            context_retain b"cuDevicePrimaryCtxRetain\0"
            context_set b"cuCtxSetCurrent\0"
            stream_create b"cuStreamCreate\0"
            stream_synchronize b"cuStreamSynchronize\0"
            allocate_async b"cuMemAllocAsync\0"
            free_async b"cuMemFreeAsync\0"
            allocate b"cuMemAlloc_v2\0"
            free b"cuMemFree_v2\0"
            allocate_host b"cuMemHostAlloc\0"
            free_host b"cuMemFreeHost\0"
            copy_to_device b"cuMemcpyHtoDAsync_v2\0"
            copy_within b"cuMemcpyDtoDAsync_v2\0"
        };
        let (mut device, mut context, mut stream) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        call!(functions, init(0))?;
        call!(functions, device_get(&raw mut device, 0))?;
        call!(functions, context_retain(&raw mut context, device))?;
        call!(functions, context_set(context))?;
        call!(functions, stream_create(&raw mut stream, NON_BLOCKING))?;
        Ok(Self { functions, stream, _library: library })
    }

    fn timed(&self, count: usize, mut operation: impl FnMut() -> Result) -> Result<Duration> {
        call!(self.functions, stream_synchronize(self.stream))?;
        let start = Instant::now();
        for _ in 0..count {
            operation()?;
        }
        call!(self.functions, stream_synchronize(self.stream))?;
        Ok(start.elapsed())
    }

    /// `cuMemAllocAsync` and `cuMemFreeAsync`, from the device's default pool.
    pub(crate) fn allocate_and_free(&self, nbytes: usize, count: usize) -> Result<Duration> {
        self.timed(count, || {
            let mut address = 0;
            call!(self.functions, allocate_async(&raw mut address, nbytes, self.stream))?;
            call!(self.functions, free_async(address, self.stream))
        })
    }

    /// A repeatable copy within the device's memory.
    pub(crate) fn copies_within(&self, nbytes: usize) -> Result<impl FnMut(usize) -> Result<Duration> + '_> {
        let (source, target) = (self.memory(nbytes)?, self.memory(nbytes)?);
        Ok(move |count| {
            self.timed(count, || {
                call!(self.functions, copy_within(target.address(), source.address(), nbytes, self.stream))
            })
        })
    }

    /// A repeatable copy from pinned host memory to the device.
    pub(crate) fn copies_from_pinned(
        &self,
        nbytes: usize,
    ) -> Result<impl FnMut(usize) -> Result<Duration> + '_> {
        let (source, target) = (self.pinned(nbytes)?, self.memory(nbytes)?);
        Ok(move |count| {
            self.timed(count, || {
                call!(self.functions, copy_to_device(target.address(), source.address(), nbytes, self.stream))
            })
        })
    }

    fn memory(&self, nbytes: usize) -> Result<Memory<'_>> {
        let mut address = 0;
        call!(self.functions, allocate(&raw mut address, nbytes))?;
        Ok(Memory { peer: self, address })
    }

    fn pinned(&self, nbytes: usize) -> Result<Pinned<'_>> {
        let mut address = std::ptr::null_mut();
        call!(self.functions, allocate_host(&raw mut address, nbytes, 0))?;
        Ok(Pinned { peer: self, address })
    }
}

/// Device memory.
struct Memory<'a> {
    peer: &'a Peer,
    address: Address,
}

impl Memory<'_> {
    /// A method, so that a closure that calls it keeps the memory.
    fn address(&self) -> Address {
        self.address
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // For a measurement, a failed free does no harm: the memory ends with the process.
        let _ = call!(self.peer.functions, free(self.address));
    }
}

/// Pinned host memory.
struct Pinned<'a> {
    peer: &'a Peer,
    address: Handle,
}

impl Pinned<'_> {
    /// A method, so that a closure that calls it keeps the memory.
    fn address(&self) -> Handle {
        self.address
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        // For a measurement, a failed free does no harm: the memory ends with the process.
        let _ = call!(self.peer.functions, free_host(self.address));
    }
}
