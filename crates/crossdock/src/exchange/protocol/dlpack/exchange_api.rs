//! DLPack's C exchange API: a table of functions that convert objects of a Python type to tensors
//! and back without Python calls. Source: `dlpack.h` of version 1.3.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use crate::exchange::protocol::dlpack::abi::{DLManagedTensorVersioned, DLPackVersion, DLTensor, VERSION};

/// The part of [`DLPackExchangeAPI`] that keeps its offsets in every version.
#[derive(Debug)]
#[repr(C)]
pub struct DLPackExchangeAPIHeader {
    /// Consumers check it first.
    pub version: DLPackVersion,
    /// The table of an earlier major version, or null.
    pub prev_api: *const DLPackExchangeAPIHeader,
}

/// Reports an error: the second argument is its kind, the third the reason. The first is the
/// caller's.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// The functions that convert objects of one Python type to C and back, without Python calls.
/// Callers hold the GIL for all of them but the allocator. Those that return a number return 0, or
/// -1 with an exception.
#[derive(Debug)]
#[repr(C)]
pub struct DLPackExchangeAPI {
    /// The version.
    pub header: DLPackExchangeAPIHeader,
    /// Allocates a tensor of this type, shape and device; or reports an error by the last argument,
    /// called with the one before it.
    pub managed_tensor_allocator: Option<
        unsafe extern "C" fn(
            *mut DLTensor,
            *mut *mut DLManagedTensorVersioned,
            *mut c_void,
            Option<SetError>,
        ) -> c_int,
    >,
    /// Exports an object.
    pub managed_tensor_from_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>,
    /// Creates an object from a tensor, which it consumes in any case.
    pub managed_tensor_to_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>,
    /// Describes an object until the caller returns. Null if that allocates memory.
    pub dltensor_from_py_object_no_sync: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>,
    /// The stream that currently receives work on this device; null on the CPU.
    pub current_work_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

// SAFETY: a shared reference permits only reads of numbers, pointers and function pointers: no
// field has interior mutability, and following `prev_api` is unsafe.
unsafe impl Sync for DLPackExchangeAPI {}

impl DLPackExchangeAPIHeader {
    /// A header of this version, with no table before it.
    pub const fn new() -> Self {
        Self { version: VERSION, prev_api: ptr::null() }
    }
}

impl Default for DLPackExchangeAPIHeader {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<DLPackExchangeAPIHeader>() == 16 && size_of::<DLPackExchangeAPI>() == 56);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_allocator) == 16);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == 24);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == 32);
    assert!(offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 40);
    assert!(offset_of!(DLPackExchangeAPI, current_work_stream) == 48);
};
