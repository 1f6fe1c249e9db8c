//! From an object of C to an array.

use core::ffi::c_void;

use crate::array::DArray;
use crate::element::DType;
use crate::element::dialect::pack;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::View;
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::object::{self, ArrayObject};
use crate::exchange::protocol::memory_view::{classes, format, hub, last};
use crate::layout::Layout;
use crate::memory::{Birth, Buffer, Place};

/// A view of an object as an array, in place. It is released when the array's last handle or lease goes, on whichever thread that is, or before
/// this returns an error.
///
/// The memory is aliased, since the producer may write it at any time: Share and Pin leases can be had. Where the view is read-only, so is the array. Of
/// an [`ArrayObject`] it is the array itself, which is read-only unless the flags ask for `WRITABLE`.
///
/// # Errors
///
/// As [`get`](super::get); `is_malformed` for a null pointer on the way to an element of an indirect array.
///
/// # Safety
///
/// As for [`get`](super::get). Of an indirect array, the pointers may be followed, and each leads to the bytes from the lowest to the
/// highest element behind it.
pub unsafe fn import(obj: *mut c_void, flags: Flags) -> Result<DArray> {
    // SAFETY: the caller's word.
    let result = unsafe { try_import(obj, flags) };
    result.map_err(|error| error.within("importing a memory view")).inspect_err(last::keep)
}

/// # Safety
///
/// As for [`import`].
unsafe fn try_import(obj: *mut c_void, flags: Flags) -> Result<DArray> {
    if !obj.is_null() {
        // SAFETY: the caller's word.
        let class = unsafe { classes::of(obj) };
        if std::ptr::eq(class, object::class()) {
            // SAFETY: an object of this class is such an array (ArrayObject 1).
            return unsafe { &*obj.cast::<ArrayObject>() }.hand_over(flags);
        }
    }
    let mut held = Held(View::EMPTY);
    // SAFETY: the caller's word.
    unsafe { hub::get(obj, &mut held.0, flags) }?;
    held.into_array()
}

/// A view that the hub gave. Released when it is dropped.
///
/// # Invariants
///
/// 1. Filled in by [`hub::get`], and nobody else's.
struct Held(View);

// SAFETY: a view may be released on any thread, and its pointers are the hub's and the producer's, who keep them until then.
unsafe impl Send for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.0.reserved.is_null() {
            // SAFETY: Held 1, and the memory is not used any more.
            let _taken = unsafe { hub::release(&mut self.0) };
        }
    }
}

impl Held {
    fn into_array(self) -> Result<DArray> {
        let (dtype, layout) = (self.dtype()?, self.layout()?);
        let (data, is_readonly) = (self.0.data.cast::<u8>(), self.0.is_readonly());
        let array = if layout.suboffsets().is_some() {
            // SAFETY: the view lends what the layout reaches until it is released (`get`), and the pointers lead on (the caller's word).
            unsafe { DArray::from_indirect(data, dtype, &layout, Birth::Aliased, move || drop(self)) }?
        } else {
            let span = layout.span();
            let begin = data.wrapping_offset(span.low());
            // SAFETY: the view lends what the layout reaches until it is released (`get`), and the hub saw that it lies in the address
            // space.
            let buffer = unsafe {
                Buffer::from_foreign(begin, span.nbytes(), Place::CPU, Birth::Aliased, move || drop(self))
            }?;
            DArray::from_buffer(buffer, dtype, layout, span.low().unsigned_abs())?
        };
        Ok(if is_readonly { array.into_readonly() } else { array })
    }

    fn dtype(&self) -> Result<DType> {
        // SAFETY: a C string, as the hub saw.
        let text = unsafe { format::read(self.0.format) }?;
        pack::parse(text)?.to_dtype()
    }

    /// Shape, strides and suboffsets are the hub's own, and valid.
    fn layout(&self) -> Result<Layout> {
        let View { ndim, shape, strides, sub_offsets, item_size, .. } = self.0;
        let rank = ndim as usize;
        let item_size = usize::try_from(item_size)
            .map_err(|_| Error::new(Kind::Malformed, format!("its item_size is {item_size}")))?;
        // SAFETY: Held 1: `ndim` lengths that are not negative.
        let shape = unsafe { std::slice::from_raw_parts(shape.cast::<usize>(), rank) };
        // SAFETY: Held 1: as many strides.
        let strides = unsafe { std::slice::from_raw_parts(strides, rank) };
        if sub_offsets.is_null() {
            return Layout::new(shape, strides, item_size);
        }
        // SAFETY: Held 1: as many suboffsets.
        let suboffsets = unsafe { std::slice::from_raw_parts(sub_offsets, rank) };
        let suboffsets: Vec<_> = suboffsets.iter().map(|&jump| (jump >= 0).then_some(jump)).collect();
        Layout::with_suboffsets(shape, strides, &suboffsets, item_size)
    }
}
