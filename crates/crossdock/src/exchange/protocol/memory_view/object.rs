//! Arrays of this library as objects of C.

use core::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use crate::array::DArray;
use crate::element::dialect::pack;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{Class, ItemDesc, View};
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::format::ItemFormat;
use crate::exchange::protocol::memory_view::records;
use crate::exchange::protocol::memory_view::view_lease::{Lender, ViewNumbers};
use crate::memory::{LeaseKind, Protocols};
use crate::view::flags::suboffsets_in_c;
use crate::view::{Access, Terms};

static CLASS: Class = Class { name: c"crossdock array".as_ptr(), super_: ptr::null() };

/// The class of [`ArrayObject`]s. Foreign classes cannot inherit from it: their objects get no
/// views.
#[inline]
pub fn class() -> &'static Class {
    &CLASS
}

/// An array as an object of C: [`get`](super::hub::get) accepts a pointer to it.
///
/// A view with `WRITABLE` has a Share lease; any other has a Pin lease and is read-only. The view
/// keeps the memory alive by itself: the object may be dropped before the view is released.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::memory_view::{self, ArrayObject, Flags};
///
/// let array = Array::from_vec(vec![1.5f64, 2.5, 3.5, 4.5], [2, 2])?;
/// let object = ArrayObject::new(array.clone().into());
///
/// // SAFETY: an object of this library.
/// let imported = unsafe { memory_view::import(object.as_ptr(), Flags::WRITABLE) }?;
/// assert_eq!(imported.as_ptr(), array.as_ptr().cast());
/// imported.set(&[1, 0], &8.5.into())?;
/// assert_eq!(array.get([1, 0])?, 8.5);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[repr(C)]
pub struct ArrayObject {
    /// Invariant 1: the class of this library's arrays, which only an `ArrayObject` has.
    class: *const Class,
    array: DArray,
    /// The bytes of all elements.
    nbytes: usize,
    /// The error, if no template describes the dtype.
    format: Result<ItemFormat>,
}

// SAFETY: the class pointer leads to a static constant; the array and the format are `Send` by
// themselves.
unsafe impl Send for ArrayObject {}
// SAFETY: the class pointer leads to a static constant; the array and the format are `Sync` by
// themselves.
unsafe impl Sync for ArrayObject {}

impl ArrayObject {
    /// An object for an array. O(1) for scalars, otherwise O(fields), with a heap block. If no pack
    /// template describes the dtype, requests for views are refused with the part in question.
    pub fn new(array: DArray) -> Self {
        let format = ItemFormat::new(array.dtype());
        Self { class: &CLASS, nbytes: array.nbytes(), array, format }
    }

    /// As [`ArrayObject::new`], with approximations for dtypes without a template: `bool` becomes
    /// `C`, a complex number two floats. (See [`pack::to_pack_approximately`].)
    #[doc(hidden)]
    pub fn approximated(array: DArray) -> Self {
        let format = pack::to_pack_approximately(array.dtype()).and_then(ItemFormat::spelt);
        Self { class: &CLASS, nbytes: array.nbytes(), array, format }
    }

    /// The object for C: valid while `self` lives and does not move.
    #[inline]
    pub fn as_ptr(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// The array.
    #[doc(hidden)]
    pub fn array(&self) -> &DArray {
        &self.array
    }

    /// Exports a view. On refusal nothing changed.
    #[inline]
    pub(super) fn lend<'a>(&self, view: &'a mut MaybeUninit<View>, flags: Flags) -> Result<&'a mut View> {
        let format = self.format()?;
        let layout = self.array.layout();
        flags.check_layout(layout)?;
        let kind = if flags.is_writable() { LeaseKind::Share } else { LeaseKind::Pin };
        let raw = self.array.raw();
        let suboffsets = suboffsets_in_c(layout)?;
        let mut record = records::take()?;
        let lease = match raw.quick_lease(kind) {
            Some(lease) => {
                lease.mark_exported(Protocols::MEMORY_VIEW);
                lease
            }
            None => Terms::new(Protocols::MEMORY_VIEW, Access::Only(kind)).lease(raw)?,
        };
        let view_lease = record.view_lease();
        view_lease.lender = Lender::Array(lease);
        view_lease.keep_layout(layout);
        if let Some(suboffsets) = suboffsets {
            view_lease.keep_suboffsets(suboffsets);
        }
        if let Some(spelling) = &format.shared {
            view_lease.keep_spelling(Arc::clone(spelling));
        }
        let ViewNumbers { shape, strides, sub_offsets } = view_lease.numbers();
        Ok(view.write(View {
            obj: self.as_ptr(),
            data: raw.ptr().as_ptr().cast(),
            byte_size: self.nbytes as isize,
            readonly: u8::from(kind == LeaseKind::Pin),
            format: format.text,
            item_size: layout.itemsize() as isize,
            item_desc: ItemDesc { components: format.components, length: format.length },
            ndim: layout.rank() as isize,
            shape,
            strides,
            sub_offsets,
            private_data: ptr::null_mut(),
            reserved: record.publish(self.as_ptr()),
        }))
    }

    /// The array itself, read-only unless the flags have `WRITABLE`.
    pub(super) fn hand_over(&self, flags: Flags) -> Result<DArray> {
        flags.check_known()?;
        flags.check_layout(self.array.layout())?;
        if !flags.is_writable() {
            return Ok(self.array.clone().into_readonly());
        }
        self.array.raw().lease(LeaseKind::Share)?;
        Ok(self.array.clone())
    }

    /// The format of its items.
    #[inline]
    pub(super) fn format(&self) -> Result<&ItemFormat> {
        self.format.as_ref().map_err(|_| self.unsaid())
    }

    #[cold]
    fn unsaid(&self) -> Error {
        match &self.format {
            Err(error) => error.again(),
            Ok(_) => Error::new(Kind::Unsupported, "no template says the dtype"),
        }
    }
}

impl fmt::Debug for ArrayObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("ArrayObject");
        text.field("array", &self.array);
        match &self.format {
            Ok(format) => text.field("format", &format.as_c_str()).finish(),
            Err(error) => text.field("format", error).finish(),
        }
    }
}
