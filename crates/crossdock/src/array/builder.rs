//! Construction of arrays in their final place, field by field: each move of an array costs as much
//! as an axis of a slice.

use std::mem::{ManuallyDrop, MaybeUninit};

use crate::array::from_memory::check_layout;
use crate::array::{DArray, RawArray};
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::Result;
use crate::layout::Layout;

/// A place in which only the layout is initialised so far.
///
/// # Invariants
///
/// 1. The layout is initialised, and nothing else is. It is dropped with this.
pub(crate) struct ArrayBuilder<'a> {
    place: &'a mut MaybeUninit<DArray>,
}

impl<'a> ArrayBuilder<'a> {
    /// Starts with the layout of a scalar.
    #[inline]
    pub(crate) fn new(place: &'a mut MaybeUninit<DArray>) -> Self {
        let mut this = Self { place };
        let layout = this.layout_ptr();
        // SAFETY: `layout` points to a field of `this.place`, which is valid for writes and
        // borrowed mutably.
        unsafe { layout.write(Layout::scalar(0)) };
        this
    }

    #[inline]
    fn layout_ptr(&mut self) -> *mut Layout {
        let array = self.place.as_mut_ptr();
        // SAFETY: `array` points to the borrowed place, so the field is in bounds; `&raw mut` reads
        // nothing.
        unsafe { &raw mut (*array).layout }
    }

    #[inline]
    pub(crate) fn layout(&mut self) -> &mut Layout {
        let layout = self.layout_ptr();
        // SAFETY: the layout is initialised (ArrayBuilder 1), and `&mut self` makes this the only
        // reference to it.
        unsafe { &mut *layout }
    }

    /// The place, uninitialised again, and the layout from it.
    pub(crate) fn into_parts(self) -> (&'a mut MaybeUninit<DArray>, Layout) {
        let mut this = ManuallyDrop::new(self);
        let layout = this.layout_ptr();
        // SAFETY: the layout is initialised (ArrayBuilder 1); `ManuallyDrop` keeps this value's
        // `drop` from dropping the moved layout again.
        let layout = unsafe { layout.read() };
        let place: *mut _ = &raw mut *this.place;
        // SAFETY: `place` is the `&'a mut` that `this` held; `this` is not used or dropped after
        // this, so the borrow is unique.
        (unsafe { &mut *place }, layout)
    }

    /// Completes the array on a buffer, with element 0 at `offset` bytes.
    ///
    /// # Errors
    ///
    /// As [`DArray::from_buffer`].
    #[inline]
    pub(crate) fn finish_on(mut self, buffer: Buffer, dtype: DType, offset: usize) -> Result<&'a mut DArray> {
        check_layout(&dtype, self.layout())?;
        let raw = RawArray::new(buffer, offset, self.layout().span())?;
        // SAFETY: 1. `RawArray::new` checked the span of the direct layout against the buffer; 2.
        // `check_layout` found equal item sizes.
        Ok(unsafe { self.finish(raw, dtype) })
    }

    /// # Safety
    ///
    /// 1. `raw` goes with the layout in the place (DArray 1).
    /// 2. `dtype` has that layout's item size (DArray 2).
    #[inline]
    pub(crate) unsafe fn finish(self, raw: RawArray, dtype: DType) -> &'a mut DArray {
        let mut this = ManuallyDrop::new(self);
        let array = this.place.as_mut_ptr();
        // SAFETY: `array` points to the borrowed place, so the field `raw` is in bounds; `&raw mut`
        // reads nothing.
        let to = unsafe { &raw mut (*array).raw };
        // SAFETY: `to` points to the field `raw` of the borrowed place, which is uninitialised
        // (ArrayBuilder 1) and valid for writes.
        unsafe { to.write(raw) };
        // SAFETY: `array` points to the borrowed place, so the field `dtype` is in bounds; `&raw
        // mut` reads nothing.
        let to = unsafe { &raw mut (*array).dtype };
        // SAFETY: `to` points to the field `dtype` of the borrowed place, which is uninitialised
        // (ArrayBuilder 1) and valid for writes.
        unsafe { to.write(dtype) };
        // SAFETY: `raw` and `dtype` were just written, and the layout is initialised
        // (ArrayBuilder 1); `this`, never dropped, held the only borrow for `'a`.
        unsafe { &mut *array }
    }
}

impl Drop for ArrayBuilder<'_> {
    fn drop(&mut self) {
        let layout = self.layout_ptr();
        // SAFETY: the layout is initialised, and dropped with this (ArrayBuilder 1): `drop` runs
        // once, and `into_parts` and `finish` skip it.
        unsafe { layout.drop_in_place() };
    }
}
