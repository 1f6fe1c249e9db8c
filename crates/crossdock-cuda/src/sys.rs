//! The types and constants of the driver that this crate uses.
//!
//! Source: the reference of the CUDA driver API, version 12.

use std::ffi::c_void;

/// An address of device memory.
pub(crate) type Address = u64;
/// A device handle of the driver.
pub(crate) type Device = i32;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) *mut c_void);

        impl $name {
            pub(crate) const NULL: Self = Self(std::ptr::null_mut());
        }

        // SAFETY: the pointer names an object of the driver, whose functions any thread may call,
        // and is never dereferenced here.
        unsafe impl Send for $name {}
        // SAFETY: a shared reference only copies the handle, and any thread may pass it to the
        // driver.
        unsafe impl Sync for $name {}
    )*};
}

/// `CUmemGenericAllocationHandle`: memory of the virtual memory calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Physical(u64);

impl Physical {
    pub(crate) const NULL: Self = Self(0);
}

handles! {
    /// `CUcontext`.
    Context
    /// `CUstream`.
    Stream
    /// `CUevent`.
    Event
    /// `CUmemoryPool`.
    Pool
    /// `CUmodule`.
    Module
    /// `CUfunction`.
    Function
}

/// The results of the driver's functions: `CUresult`, an open set.
pub(crate) mod code {
    pub(crate) const SUCCESS: i32 = 0;
    pub(crate) const OUT_OF_MEMORY: i32 = 2;
    pub(crate) const DEINITIALIZED: i32 = 4;
    pub(crate) const NO_DEVICE: i32 = 100;
    pub(crate) const NOT_READY: i32 = 600;
    pub(crate) const PEER_ACCESS_ALREADY_ENABLED: i32 = 704;
    pub(crate) const CONTEXT_IS_DESTROYED: i32 = 709;
}

/// `CUdevice_attribute`.
pub(crate) mod attribute {
    pub(crate) const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    pub(crate) const COMPUTE_CAPABILITY_MINOR: i32 = 76;
    pub(crate) const MULTIPROCESSOR_COUNT: i32 = 16;
    pub(crate) const MANAGED_MEMORY: i32 = 83;
    pub(crate) const CONCURRENT_MANAGED_ACCESS: i32 = 89;
    pub(crate) const VIRTUAL_MEMORY_SUPPORTED: i32 = 102;
    pub(crate) const POSIX_DESCRIPTOR_SUPPORTED: i32 = 103;
    pub(crate) const READ_ONLY_HOST_REGISTER_SUPPORTED: i32 = 113;
    pub(crate) const MEMORY_POOLS_SUPPORTED: i32 = 115;
}

/// `CUpointer_attribute`.
pub(crate) mod pointer {
    pub(crate) const MEMORY_TYPE: i32 = 2;
    pub(crate) const HOST_POINTER: i32 = 4;
    pub(crate) const IS_MANAGED: i32 = 8;
    pub(crate) const DEVICE_ORDINAL: i32 = 9;
}

/// `CUmemorytype`.
pub(crate) mod memory_type {
    pub(crate) const HOST: u32 = 1;
    pub(crate) const DEVICE: u32 = 2;
}

pub(crate) const STREAM_NON_BLOCKING: u32 = 1;
pub(crate) const EVENT_BLOCKING_SYNC: u32 = 1;
pub(crate) const EVENT_DISABLE_TIMING: u32 = 2;
/// Pinned for all contexts, and mapped to the devices.
pub(crate) const HOST_PORTABLE_AND_MAPPED: u32 = 1 | 2;
pub(crate) const HOST_REGISTER_READ_ONLY: u32 = 8;
pub(crate) const ATTACH_GLOBAL: u32 = 1;
/// `CUmemAllocationHandleType`: a file descriptor.
pub(crate) const POSIX_DESCRIPTOR: i32 = 1;
/// `CUmemAllocationGranularity_flags`.
pub(crate) const MINIMUM_GRANULARITY: u32 = 0;
pub(crate) const IPC_LAZY_ENABLE_PEER_ACCESS: u32 = 1;
/// `CUmemPool_attribute`: how many unused bytes a pool keeps.
pub(crate) const POOL_RELEASE_THRESHOLD: i32 = 4;

/// `CUmemLocationType`.
const ON_A_DEVICE: i32 = 1;
/// `CUmemAllocationType`, also of pools.
const PINNED: i32 = 1;

/// `CUmemLocation`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Location {
    kind: i32,
    id: i32,
}

impl Location {
    pub(crate) fn device(device: Device) -> Self {
        Self { kind: ON_A_DEVICE, id: device }
    }
}

/// `CUmemPoolProps`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct PoolProperties {
    allocation_type: i32,
    handle_types: i32,
    location: Location,
    security_attributes: *mut c_void,
    reserved: [u64; 8],
}

impl PoolProperties {
    /// A pool of memory on a device.
    pub(crate) fn on(device: Device) -> Self {
        Self {
            allocation_type: PINNED,
            handle_types: 0,
            location: Location::device(device),
            security_attributes: std::ptr::null_mut(),
            reserved: [0; 8],
        }
    }
}

/// `CUmemAllocationProp`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct MemoryProperties {
    allocation_type: i32,
    handle_types: i32,
    location: Location,
    security_attributes: *mut c_void,
    flags: [u8; 8],
}

impl MemoryProperties {
    /// Memory on a device that a descriptor can be made of.
    pub(crate) fn exportable_on(device: Device) -> Self {
        Self {
            allocation_type: PINNED,
            handle_types: POSIX_DESCRIPTOR,
            location: Location::device(device),
            security_attributes: std::ptr::null_mut(),
            flags: [0; 8],
        }
    }

    /// The ordinal of the device that has the memory; `None` for memory elsewhere.
    pub(crate) fn device(&self) -> Option<i32> {
        (self.location.kind == ON_A_DEVICE).then_some(self.location.id)
    }
}

/// `CUmemAccessDesc`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Access {
    location: Location,
    flags: i32,
}

impl Access {
    /// Access of a device for reads and writes.
    pub(crate) fn of(device: Device) -> Self {
        const READ_WRITE: i32 = 3;
        Self { location: Location::device(device), flags: READ_WRITE }
    }

    /// Access of a device for reads.
    pub(crate) fn for_reading(device: Device) -> Self {
        const READ: i32 = 1;
        Self { location: Location::device(device), flags: READ }
    }
}

/// `CUipcMemHandle`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct IpcMemory(pub(crate) [u8; 64]);

/// The source or the destination of a rectangle that is copied: its origin, and the memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct RectangleSide {
    x_in_bytes: usize,
    y: usize,
    memory_type: u32,
    host: *mut c_void,
    device: Address,
    array: *mut c_void,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CopyRectangle {
    src: RectangleSide,
    dst: RectangleSide,
    width_in_bytes: usize,
    height: usize,
}

/// As [`RectangleSide`], for a box.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct BoxSide {
    x_in_bytes: usize,
    y: usize,
    z: usize,
    lod: usize,
    memory_type: u32,
    host: *mut c_void,
    device: Address,
    array: *mut c_void,
    reserved: *mut c_void,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CopyBox {
    src: BoxSide,
    dst: BoxSide,
    width_in_bytes: usize,
    height: usize,
    depth: usize,
}

/// Memory of a device in rows, for either description of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PitchedMemory {
    pub(crate) device: Address,
    /// Bytes from row to row.
    pub(crate) pitch: usize,
    /// Rows from slice to slice.
    pub(crate) height: usize,
}

impl CopyRectangle {
    /// Between memory of devices.
    pub(crate) fn of(src: PitchedMemory, dst: PitchedMemory, width_in_bytes: usize, height: usize) -> Self {
        let side = |PitchedMemory { device, pitch, .. }| RectangleSide {
            x_in_bytes: 0,
            y: 0,
            memory_type: memory_type::DEVICE,
            host: std::ptr::null_mut(),
            device,
            array: std::ptr::null_mut(),
            pitch,
        };
        Self { src: side(src), dst: side(dst), width_in_bytes, height }
    }
}

impl CopyBox {
    /// Between memory of devices.
    pub(crate) fn of(
        src: PitchedMemory,
        dst: PitchedMemory,
        width_in_bytes: usize,
        height: usize,
        depth: usize,
    ) -> Self {
        let side = |PitchedMemory { device, pitch, height }| BoxSide {
            x_in_bytes: 0,
            y: 0,
            z: 0,
            lod: 0,
            memory_type: memory_type::DEVICE,
            host: std::ptr::null_mut(),
            device,
            array: std::ptr::null_mut(),
            reserved: std::ptr::null_mut(),
            pitch,
            height,
        };
        Self { src: side(src), dst: side(dst), width_in_bytes, height, depth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn structs_have_the_sizes_and_offsets_of_the_driver() {
        assert_eq!((size_of::<PoolProperties>(), offset_of!(PoolProperties, security_attributes)), (88, 16));
        assert_eq!((size_of::<MemoryProperties>(), offset_of!(MemoryProperties, flags)), (32, 24));
        assert_eq!((size_of::<Access>(), size_of::<IpcMemory>()), (12, 64));
        assert_eq!((size_of::<CopyRectangle>(), offset_of!(CopyRectangle, dst)), (128, 56));
        assert_eq!((offset_of!(RectangleSide, host), offset_of!(RectangleSide, pitch)), (24, 48));
        assert_eq!((size_of::<CopyBox>(), offset_of!(CopyBox, dst)), (200, 88));
        assert_eq!((offset_of!(BoxSide, host), offset_of!(BoxSide, height)), (40, 80));
    }
}
