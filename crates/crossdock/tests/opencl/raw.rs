//! OpenCL as others call it: by its own functions.

use std::ffi::c_void;
use std::sync::Arc;

use libloading::Library as Opened;
use opencl_sys::cl_function_types::*;
use opencl_sys::*;

/// The system's loader.
#[derive(Clone)]
pub(crate) struct Library(Arc<Opened>);

macro_rules! call {
    ($library:expr, $function:ident: $type:ident ($($argument:expr),* $(,)?)) => {{
        // SAFETY: OpenCL's name, and its type.
        let function = unsafe { $library.0.get::<$type>(stringify!($function)) }.unwrap().unwrap();
        // SAFETY: the arguments are as the function wants them, which the caller sees to.
        unsafe { function($($argument),*) }
    }};
}

impl Library {
    pub(crate) fn open() -> Self {
        // SAFETY: what it does when it is opened is the business of whoever installed it.
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

    /// An event in the context of a queue, which happens when the gate is dropped.
    pub(crate) fn user_event(&self, queue: cl_command_queue) -> Gate {
        let (context, mut status) = (self.of_queue(queue, CL_QUEUE_CONTEXT), CL_SUCCESS);
        let event = call!(self, clCreateUserEvent: clCreateUserEvent_t(context, &raw mut status));
        assert_eq!(status, CL_SUCCESS);
        Gate { library: self.clone(), event }
    }
}

/// An event of a user's own.
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
