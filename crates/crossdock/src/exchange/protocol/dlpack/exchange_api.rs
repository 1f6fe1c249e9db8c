//! DLPack's C exchange API, as it lies in memory: a table of functions by which objects of a Python
//! type become tensors and back without calls of Python. Source: `dlpack.h` of version 1.3.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use crate::exchange::protocol::dlpack::abi::{DLManagedTensorVersioned, DLPackVersion, DLTensor, VERSION};

/// What stays where it is in every version of [`DLPackExchangeAPI`].
#[derive(Debug)]
#[repr(C)]
pub struct DLPackExchangeAPIHeader {
    /// To be looked at before anything else.
    pub version: DLPackVersion,
    /// The table of an earlier major version, or null.
    pub prev_api: *const DLPackExchangeAPIHeader,
}

/// Says what went wrong, in the second argument the kind of error and in the third the reason. The
/// first is the caller's.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// The functions by which objects of one Python type go to C and come from there, without Python's
/// calls. All of them but the allocator are called by a thread that holds the interpreter; those
/// that return a number return 0, or -1 with an exception.
#[derive(Debug)]
#[repr(C)]
pub struct DLPackExchangeAPI {
    /// The version.
    pub header: DLPackExchangeAPIHeader,
    /// Makes a tensor of this type, shape and device; or calls the last argument with the one
    /// before it.
    pub managed_tensor_allocator: Option<
        unsafe extern "C" fn(
            *mut DLTensor,
            *mut *mut DLManagedTensorVersioned,
            *mut c_void,
            Option<SetError>,
        ) -> c_int,
    >,
    /// Lends an object.
    pub managed_tensor_from_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>,
    /// Makes an object of a tensor, which is consumed in any case.
    pub managed_tensor_to_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>,
    /// Describes an object until the caller returns. Null where that takes memory.
    pub dltensor_from_py_object_no_sync: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>,
    /// The stream on which work on this device is put at the moment; null on the processor.
    pub current_work_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

// SAFETY: a table that is read, and never written once it is there.
unsafe impl Sync for DLPackExchangeAPI {}

impl DLPackExchangeAPIHeader {
    /// That of this version, with none before it.
    pub const fn new() -> Self {
        Self { version: VERSION, prev_api: ptr::null() }
    }
}

impl Default for DLPackExchangeAPIHeader {
    fn default() -> Self {
        Self::new()
    }
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<DLPackExchangeAPIHeader>() == 16 && size_of::<DLPackExchangeAPI>() == 56);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_allocator) == 16);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == 24);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == 32);
    assert!(offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 40);
    assert!(offset_of!(DLPackExchangeAPI, current_work_stream) == 48);
};
