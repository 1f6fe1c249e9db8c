//! The C structs of MemoryView, on a machine with 64-bit pointers.
//!
//! The order of the fields is the original's. A C `bool` from foreign code is a byte here: any
//! number but 0 is true.

use core::ffi::{c_char, c_int, c_void};

use crate::element::dialect::pack::Component;

/// C's `xd_memory_view_t`: what a producer exports, or the struct that it is to fill in.
///
/// After a successful [`get`](super::hub::get), shape, strides, format, item size and components
/// are always present. They belong to the hub and are valid until [`release`](super::hub::release).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    /// The exported object. A producer that stands in for another object puts that one here.
    pub obj: *mut c_void,
    /// The address of element 0.
    pub data: *mut c_void,
    /// The number of bytes that the producer vouches for: at least the extent of the items, gaps
    /// included; or, as producers of strided arrays count, exactly the bytes of the items. In the
    /// second case the strides cannot be checked, and the producer is trusted. Any other number
    /// contradicts shape and strides, and the view is refused.
    pub byte_size: isize,
    /// C's `bool`: whether the elements must not be written.
    pub readonly: u8,
    /// A pack template ended by NUL, or null for bytes.
    pub format: *const c_char,
    /// The bytes of one item.
    pub item_size: isize,
    /// The parsed format.
    pub item_desc: ItemDesc,
    /// The number of axes.
    pub ndim: isize,
    /// `ndim` lengths. Null stands for `byte_size / item_size` where there is one axis.
    pub shape: *const isize,
    /// `ndim` strides in bytes. Null stands for row-major order.
    pub strides: *const isize,
    /// `ndim` suboffsets, or null. A pointer is followed on axes where it is not negative.
    pub sub_offsets: *const isize,
    /// The producer's private data.
    pub private_data: *mut c_void,
    /// The hub's private data, by which [`release`](super::hub::release) recognises the view. Null
    /// in a view that the hub did not fill in.
    pub reserved: *mut c_void,
}

/// The components of an item, for [`View::item_desc`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ItemDesc {
    /// `length` components.
    pub components: *const Component,
    /// Their number.
    pub length: usize,
}

impl View {
    /// An empty view: every byte is 0.
    pub const EMPTY: Self = Self {
        obj: core::ptr::null_mut(),
        data: core::ptr::null_mut(),
        byte_size: 0,
        readonly: 0,
        format: core::ptr::null(),
        item_size: 0,
        item_desc: ItemDesc { components: core::ptr::null(), length: 0 },
        ndim: 0,
        shape: core::ptr::null(),
        strides: core::ptr::null(),
        sub_offsets: core::ptr::null(),
        private_data: core::ptr::null_mut(),
        reserved: core::ptr::null_mut(),
    };

    /// Whether the elements must not be written.
    #[doc(hidden)]
    #[inline]
    pub fn is_readonly(&self) -> bool {
        self.readonly != 0
    }
}

impl Default for View {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// A class: it determines the producer of an object's views. An object is a pointer to memory that
/// begins with a pointer to its class.
///
/// A class stays unchanged, at its address, while there are objects of it.
#[derive(Debug)]
#[repr(C)]
pub struct Class {
    /// The name for messages: a C string, or null.
    pub name: *const c_char,
    /// The class from which it inherits its producer, or null.
    pub super_: *const Class,
}

// SAFETY: a class holds two pointers to constants: a reference permits reads of the pointers only,
// and following them is unsafe.
unsafe impl Sync for Class {}
// SAFETY: a class holds two pointers to constants, which any thread may read; following them is
// unsafe.
unsafe impl Send for Class {}

/// Fills in a view of an object. Returns C's `bool`; on 0, it exported nothing.
pub type Get = unsafe extern "C" fn(obj: *mut c_void, view: *mut View, flags: c_int) -> u8;
/// Releases a view of [`Get`], with the object and the struct that it filled in. On 0, nothing was
/// released.
pub type Release = unsafe extern "C" fn(obj: *mut c_void, view: *mut View) -> u8;
/// Whether [`Get`] may succeed.
pub type Available = unsafe extern "C" fn(obj: *mut c_void) -> u8;

/// C's `xd_memory_view_entry_t`: a producer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Entry {
    /// Required.
    pub get: Option<Get>,
    /// If there is none, views need no release.
    pub release: Option<Release>,
    /// If there is none, [`Get`] is always called.
    pub available: Option<Available>,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<View>() == 112 && offset_of!(View, obj) == 0 && offset_of!(View, data) == 8);
    assert!(offset_of!(View, byte_size) == 16 && offset_of!(View, readonly) == 24);
    assert!(offset_of!(View, format) == 32 && offset_of!(View, item_size) == 40);
    assert!(offset_of!(View, item_desc) == 48 && offset_of!(ItemDesc, length) == 8);
    assert!(offset_of!(View, ndim) == 64 && offset_of!(View, shape) == 72);
    assert!(offset_of!(View, strides) == 80 && offset_of!(View, sub_offsets) == 88);
    assert!(offset_of!(View, private_data) == 96 && offset_of!(View, reserved) == 104);
    assert!(size_of::<Entry>() == 24 && offset_of!(Entry, release) == 8);
    assert!(offset_of!(Entry, available) == 16);
    assert!(size_of::<Class>() == 16 && offset_of!(Class, super_) == 8);
};
