//! DLPack's C structs. Source: `dlpack.h` of version 1.3, on a machine with 64-bit pointers.
//!
//! The names are the header's. Enumerations are plain integers, since foreign code writes them and
//! later versions add values. A test compiles the offsets against the installed header.

use core::ffi::c_void;

/// The version that this library implements. A greater minor version only adds enumeration values
/// and flag bits.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 3 };

/// In [`DLManagedTensorVersioned::flags`]: the consumer must not write. Advisory: some consumers
/// do.
pub const READ_ONLY: u64 = 1;
/// In [`DLManagedTensorVersioned::flags`]: the tensor is a copy made for this consumer alone.
pub const IS_COPIED: u64 = 1 << 1;
/// In [`DLManagedTensorVersioned::flags`]: elements narrower than a byte take one byte each.
pub const IS_SUBBYTE_TYPE_PADDED: u64 = 1 << 2;

/// The flags that [`VERSION`] defines.
pub(crate) const KNOWN_FLAGS: u64 = READ_ONLY | IS_COPIED | IS_SUBBYTE_TYPE_PADDED;

/// The version of the struct that begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLPackVersion {
    /// In another major version, only the fields up to `flags` keep their offsets.
    pub major: u32,
    /// Another minor version has the same struct.
    pub minor: u32,
}

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDevice {
    /// `DLDeviceType`, open.
    pub device_type: i32,
    /// The number among devices of this kind.
    pub device_id: i32,
}

/// The type of an element: `lanes` lanes of the kind `code`, `bits` bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDataType {
    /// `DLDataTypeCode`, open.
    pub code: u8,
    /// The width of one lane.
    pub bits: u8,
    /// More than 1 for vector types.
    pub lanes: u16,
}

/// A borrowed array.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLTensor {
    /// The data: an address, or on some devices a handle.
    pub data: *mut c_void,
    /// The device.
    pub device: DLDevice,
    /// The number of axes.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// `ndim` lengths.
    pub shape: *mut i64,
    /// `ndim` strides in elements, signed. Null stands for row-major (until version 1.1).
    pub strides: *mut i64,
    /// Bytes from `data` to element 0.
    pub byte_offset: u64,
}

/// A managed array, as before version 1.0: it has no read-only flag.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The array.
    pub dl_tensor: DLTensor,
    /// The producer's private data.
    pub manager_ctx: *mut c_void,
    /// Releases the array. Called once, on any thread; null if there is nothing to release.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A managed array.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// Consumers check it first.
    pub version: DLPackVersion,
    /// The producer's private data.
    pub manager_ctx: *mut c_void,
    /// Releases the array. Called once, on any thread; null if there is nothing to release.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`], [`IS_COPIED`], [`IS_SUBBYTE_TYPE_PADDED`]. In a struct of a version up to
    /// [`VERSION`], other bits mean nothing. In one of a later minor version they may have a
    /// meaning, so an import refuses them.
    pub flags: u64,
    /// The array.
    pub dl_tensor: DLTensor,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<DLPackVersion>() == 8 && size_of::<DLDevice>() == 8);
    assert!(size_of::<DLDataType>() == 4 && offset_of!(DLDataType, lanes) == 2);
    assert!(size_of::<DLTensor>() == 48 && offset_of!(DLTensor, device) == 8);
    assert!(offset_of!(DLTensor, ndim) == 16 && offset_of!(DLTensor, dtype) == 20);
    assert!(offset_of!(DLTensor, shape) == 24 && offset_of!(DLTensor, strides) == 32);
    assert!(offset_of!(DLTensor, byte_offset) == 40);
    assert!(size_of::<DLManagedTensor>() == 64 && offset_of!(DLManagedTensor, manager_ctx) == 48);
    assert!(offset_of!(DLManagedTensor, deleter) == 56);
    assert!(
        size_of::<DLManagedTensorVersioned>() == 80 && offset_of!(DLManagedTensorVersioned, version) == 0
    );
    assert!(offset_of!(DLManagedTensorVersioned, manager_ctx) == 8);
    assert!(offset_of!(DLManagedTensorVersioned, deleter) == 16);
    assert!(offset_of!(DLManagedTensorVersioned, flags) == 24);
    assert!(offset_of!(DLManagedTensorVersioned, dl_tensor) == 32);
};
