//! OpenCL's own functions, as other libraries call them.

use std::ffi::c_void;
use std::sync::Arc;

use libloading::Library as Opened;
use opencl_sys::cl_function_types::*;
use opencl_sys::*;

use crate::eventually;

/// The system's loader.
#[derive(Clone)]
pub(crate) struct Library(Arc<Opened>);

macro_rules! call {
    ($library:expr, $function:ident: $type:ident ($($argument:expr),* $(,)?)) => {{
        // SAFETY: the library is OpenCL's loader, in which the function of this name has this type.
        let function = unsafe { $library.0.get::<$type>(stringify!($function)) }.unwrap().unwrap();
        // SAFETY: the users of this macro pass handles that are alive, and pointers to local
        // variables of the stated size.
        unsafe { function($($argument),*) }
    }};
}

impl Library {
    pub(crate) fn open() -> Self {
        // SAFETY: the library is the system's OpenCL loader; its initialisers run as in any program
        // that links it.
        Self(Arc::new(unsafe { Opened::new("libOpenCL.so.1") }.unwrap()))
    }

    fn of_queue(&self, queue: cl_command_queue, what: cl_uint) -> *mut c_void {
        let mut found: *mut c_void = std::ptr::null_mut();
        let nbytes = size_of::<*mut c_void>();
        let status = call!(self, clGetCommandQueueInfo: clGetCommandQueueInfo_t(
            queue, what, nbytes, (&raw mut found).cast(), std::ptr::null_mut(),
        ));
        assert_eq!(status, CL_SUCCESS);
        found
    }

    /// An event in the context of a queue, which completes when the gate is dropped.
    pub(crate) fn user_event(&self, queue: cl_command_queue) -> Gate {
        let (context, mut status) = (self.of_queue(queue, CL_QUEUE_CONTEXT), CL_SUCCESS);
        let event = call!(self, clCreateUserEvent: clCreateUserEvent_t(context, &raw mut status));
        assert_eq!(status, CL_SUCCESS);
        Gate { library: self.clone(), event }
    }

    /// A context on the device of a queue, with its own queue.
    pub(crate) fn context_beside(&self, queue: cl_command_queue, properties: cl_ulong) -> Foreign {
        let (device, mut status) = (self.of_queue(queue, CL_QUEUE_DEVICE), CL_SUCCESS);
        let context = call!(self, clCreateContext: clCreateContext_t(
            std::ptr::null(), 1, &raw const device, None, std::ptr::null_mut(), &raw mut status,
        ));
        assert_eq!(status, CL_SUCCESS);
        let queue = call!(self, clCreateCommandQueue: clCreateCommandQueue_t(
            context, device, properties, &raw mut status,
        ));
        assert_eq!(status, CL_SUCCESS);
        Foreign { library: self.clone(), context, queue }
    }

    /// Waits until a memory object has this many references: a driver keeps some of its own for a
    /// moment after work on it.
    pub(crate) fn await_references(&self, memory: cl_mem, count: cl_uint) {
        let references = || self.of_memory::<cl_uint>(memory, CL_MEM_REFERENCE_COUNT);
        eventually(|| references() == count);
        assert_eq!(references(), count);
    }

    /// The offset of a sub-buffer in its object.
    pub(crate) fn origin(&self, memory: cl_mem) -> usize {
        self.of_memory(memory, CL_MEM_OFFSET)
    }

    pub(crate) fn nbytes(&self, memory: cl_mem) -> usize {
        self.of_memory(memory, CL_MEM_SIZE)
    }

    fn of_memory<T: Default>(&self, memory: cl_mem, what: cl_uint) -> T {
        let mut found = T::default();
        let status = call!(self, clGetMemObjectInfo: clGetMemObjectInfo_t(
            memory, what, size_of::<T>(), (&raw mut found).cast(), std::ptr::null_mut(),
        ));
        assert_eq!(status, CL_SUCCESS);
        found
    }
}

/// A user event.
pub(crate) struct Gate {
    library: Library,
    event: cl_event,
}

impl Gate {
    pub(crate) fn event(&self) -> *mut c_void {
        self.event
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let status =
            call!(self.library, clSetUserEventStatus: clSetUserEventStatus_t(self.event, CL_COMPLETE));
        assert_eq!(status, CL_SUCCESS);
        assert_eq!(call!(self.library, clReleaseEvent: clReleaseEvent_t(self.event)), CL_SUCCESS);
    }
}

/// A context of another library.
pub(crate) struct Foreign {
    library: Library,
    context: cl_context,
    queue: cl_command_queue,
}

impl Foreign {
    pub(crate) fn queue(&self) -> cl_command_queue {
        self.queue
    }

    /// A buffer with these bytes.
    pub(crate) fn buffer(&self, content: &[u8]) -> cl_mem {
        let mut status = CL_SUCCESS;
        let memory = call!(self.library, clCreateBuffer: clCreateBuffer_t(
            self.context,
            CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
            content.len(),
            content.as_ptr().cast_mut().cast(),
            &raw mut status,
        ));
        assert_eq!(status, CL_SUCCESS);
        memory
    }

    pub(crate) fn read(&self, memory: cl_mem, nbytes: usize) -> Vec<u8> {
        let mut bytes = vec![0; nbytes];
        let status = call!(self.library, clEnqueueReadBuffer: clEnqueueReadBuffer_t(
            self.queue,
            memory,
            CL_TRUE,
            0,
            nbytes,
            bytes.as_mut_ptr().cast(),
            0,
            std::ptr::null(),
            std::ptr::null_mut(),
        ));
        assert_eq!(status, CL_SUCCESS);
        bytes
    }

    pub(crate) fn release(&self, memory: cl_mem) {
        assert_eq!(call!(self.library, clReleaseMemObject: clReleaseMemObject_t(memory)), CL_SUCCESS);
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let status = call!(self.library, clReleaseCommandQueue: clReleaseCommandQueue_t(self.queue));
        assert_eq!(status, CL_SUCCESS);
        assert_eq!(call!(self.library, clReleaseContext: clReleaseContext_t(self.context)), CL_SUCCESS);
    }
}
