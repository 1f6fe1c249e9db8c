//! The C structs of Arrow's C Data and C Device interfaces. Source: `arrow/c/abi.h` of Arrow 26, on
//! a machine with 64-bit pointers.
//!
//! The names are the header's. A struct whose `release` is null is empty: it was released, or moved
//! elsewhere. To move one is to copy its bytes and to set `release` of the source to null. A test
//! compiles the offsets against the installed header.

use core::ffi::{c_char, c_void};
use core::ptr;

/// In [`ArrowSchema::flags`]: the order of a dictionary's entries has a meaning.
#[doc(hidden)]
pub const DICTIONARY_ORDERED: i64 = 1;
/// In [`ArrowSchema::flags`]: there may be nulls.
#[doc(hidden)]
pub const NULLABLE: i64 = 2;
/// In [`ArrowSchema::flags`]: the keys of each map are sorted.
#[doc(hidden)]
pub const MAP_KEYS_SORTED: i64 = 4;

/// The type of a column.
#[must_use = "what is not given to a consumer is released by its `release`"]
#[derive(Debug)]
#[repr(C)]
pub struct ArrowSchema {
    /// The type as a short format string, ended by NUL. UTF-8.
    pub format: *const c_char,
    /// The name of the column, ended by NUL, or null. UTF-8.
    pub name: *const c_char,
    /// The number of pairs, then keys and values, each after its length; or null.
    pub metadata: *const c_char,
    /// Bits of the specification: 2 for a column that may have nulls; 1 and 4 describe how
    /// dictionaries and maps are sorted.
    pub flags: i64,
    /// The number of children.
    pub n_children: i64,
    /// The types of the children.
    pub children: *mut *mut ArrowSchema,
    /// The type of the dictionary's entries, if the elements are indices into one.
    pub dictionary: *mut ArrowSchema,
    /// Frees what the struct refers to, and marks it as released. Called once.
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    /// The producer's private data.
    pub private_data: *mut c_void,
}

/// A borrowed column. The contents of its buffers are constant.
#[must_use = "what is not given to a consumer is released by its `release`"]
#[derive(Debug)]
#[repr(C)]
pub struct ArrowArray {
    /// The number of elements.
    pub length: i64,
    /// How many of them are null; -1 if not counted.
    pub null_count: i64,
    /// How many elements of the buffers precede the first.
    pub offset: i64,
    /// The number of buffers, which depends on the type.
    pub n_buffers: i64,
    /// The number of children, which depends on the type.
    pub n_children: i64,
    /// The validity bitmap, or null; then the buffers of the type.
    pub buffers: *mut *const c_void,
    /// The child columns.
    pub children: *mut *mut ArrowArray,
    /// The dictionary's entries, if the elements are indices into one.
    pub dictionary: *mut ArrowArray,
    /// Releases the column, and marks the struct as released. Called once, on any thread.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    /// The producer's private data.
    pub private_data: *mut c_void,
}

/// A column in the memory of a device.
#[must_use = "what is not given to a consumer is released by its `release`"]
#[derive(Debug)]
#[repr(C)]
pub struct ArrowDeviceArray {
    /// The column. Its buffers, and those of its children, are memory of the device.
    pub array: ArrowArray,
    /// The number among devices of this kind; -1 for the CPU.
    pub device_id: i64,
    /// The kind, with DLPack's numbers.
    pub device_type: i32,
    /// The event that a consumer waits for: a pointer to the device's handle of it; or null.
    pub sync_event: *mut c_void,
    /// Zero.
    pub reserved: [i64; 3],
}

impl ArrowSchema {
    /// An empty schema, for an exporter to fill in.
    pub const fn empty() -> Self {
        Self {
            format: ptr::null(),
            name: ptr::null(),
            metadata: ptr::null(),
            flags: 0,
            n_children: 0,
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

impl ArrowArray {
    /// An empty column, for an exporter to fill in.
    pub const fn empty() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

impl ArrowDeviceArray {
    /// An empty column on the CPU, for an exporter to fill in.
    pub const fn empty() -> Self {
        Self {
            array: ArrowArray::empty(),
            device_id: -1,
            device_type: 1,
            sync_event: ptr::null_mut(),
            reserved: [0; 3],
        }
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<ArrowSchema>() == 72 && offset_of!(ArrowSchema, format) == 0);
    assert!(offset_of!(ArrowSchema, name) == 8 && offset_of!(ArrowSchema, metadata) == 16);
    assert!(offset_of!(ArrowSchema, flags) == 24 && offset_of!(ArrowSchema, n_children) == 32);
    assert!(offset_of!(ArrowSchema, children) == 40 && offset_of!(ArrowSchema, dictionary) == 48);
    assert!(offset_of!(ArrowSchema, release) == 56 && offset_of!(ArrowSchema, private_data) == 64);
    assert!(size_of::<ArrowArray>() == 80 && offset_of!(ArrowArray, length) == 0);
    assert!(offset_of!(ArrowArray, null_count) == 8 && offset_of!(ArrowArray, offset) == 16);
    assert!(offset_of!(ArrowArray, n_buffers) == 24 && offset_of!(ArrowArray, n_children) == 32);
    assert!(offset_of!(ArrowArray, buffers) == 40 && offset_of!(ArrowArray, children) == 48);
    assert!(offset_of!(ArrowArray, dictionary) == 56 && offset_of!(ArrowArray, release) == 64);
    assert!(offset_of!(ArrowArray, private_data) == 72);
    assert!(size_of::<ArrowDeviceArray>() == 128 && offset_of!(ArrowDeviceArray, array) == 0);
    assert!(offset_of!(ArrowDeviceArray, device_id) == 80);
    assert!(offset_of!(ArrowDeviceArray, device_type) == 88);
    assert!(offset_of!(ArrowDeviceArray, sync_event) == 96);
    assert!(offset_of!(ArrowDeviceArray, reserved) == 104);
};
