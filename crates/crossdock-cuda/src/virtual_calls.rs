//! The table of the driver's virtual memory calls, which a driver may lack.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use crate::driver::{Failure, Words, functions};
use crate::sys::{self, Address, Physical};
use crossdock::Result;

functions! {
    /// The virtual memory calls.
    pub(crate) struct VirtualCalls;

    "cuMemGetAllocationGranularity": granularity(nbytes: *mut usize, properties: *const sys::MemoryProperties, option: c_uint);
    "cuMemCreate": create(handle: *mut Physical, nbytes: usize, properties: *const sys::MemoryProperties, flags: c_ulonglong);
    "cuMemRelease": release(handle: Physical);
    "cuMemAddressReserve": reserve(address: *mut Address, nbytes: usize, alignment: usize, hint: Address, flags: c_ulonglong);
    "cuMemAddressFree": free_addresses(address: Address, nbytes: usize);
    "cuMemMap": map(address: Address, nbytes: usize, offset: usize, handle: Physical, flags: c_ulonglong);
    "cuMemUnmap": unmap(address: Address, nbytes: usize);
    "cuMemSetAccess": set_access(address: Address, nbytes: usize, access: *const sys::Access, count: usize);
    "cuMemExportToShareableHandle": export(descriptor: *mut c_void, handle: Physical, kind: c_int, flags: c_ulonglong);
    "cuMemImportFromShareableHandle": import(handle: *mut Physical, descriptor: *mut c_void, kind: c_int);
    "cuMemGetAllocationPropertiesFromHandle": properties(properties: *mut sys::MemoryProperties, handle: Physical);
}
