//! Arrays that are made where they are to stay, field by field: each move of one would cost as much
//! as an axis of a slice.

use std::mem::{ManuallyDrop, MaybeUninit};

use crate::array::make::check_layout;
use crate::array::{DArray, RawArray};
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::Result;
use crate::layout::Layout;

/// A place that has a layout so far.
///
/// # Invariants
///
/// 1. The layout is initialised, and nothing else is. It is dropped with this.
pub(crate) struct Making<'a> {
    place: &'a mut MaybeUninit<DArray>,
}

impl<'a> Making<'a> {
    /// Begins with the layout of one element.
    #[inline]
    pub(crate) fn new(place: &'a mut MaybeUninit<DArray>) -> Self {
        let mut this = Self { place };
        let layout = this.layout_ptr();
        // SAFETY: a field of a place that is ours.
        unsafe { layout.write(Layout::scalar(0)) };
        this
    }

    #[inline]
    fn layout_ptr(&mut self) -> *mut Layout {
        let array = self.place.as_mut_ptr();
        // SAFETY: a field of a place that is ours.
        unsafe { &raw mut (*array).layout }
    }

    #[inline]
    pub(crate) fn layout(&mut self) -> &mut Layout {
        let layout = self.layout_ptr();
        // SAFETY: Making 1.
        unsafe { &mut *layout }
    }

    /// The place, empty, and the layout that was in it.
    pub(crate) fn into_parts(self) -> (&'a mut MaybeUninit<DArray>, Layout) {
        let mut this = ManuallyDrop::new(self);
        let layout = this.layout_ptr();
        // SAFETY: Making 1; nobody drops it there any more.
        let layout = unsafe { layout.read() };
        let place: *mut _ = &raw mut *this.place;
        // SAFETY: the borrow that this had, which is used for the last time.
        (unsafe { &mut *place }, layout)
    }

    /// On a buffer, `offset` bytes into which element 0 lies.
    ///
    /// # Errors
    ///
    /// As [`DArray::from_buffer`].
    #[inline]
    pub(crate) fn finish_on(mut self, buffer: Buffer, dtype: DType, offset: usize) -> Result<&'a mut DArray> {
        check_layout(&dtype, self.layout())?;
        let raw = RawArray::new(buffer, offset, self.layout().span())?;
        // SAFETY: DArray 1 and 2, as just checked.
        Ok(unsafe { self.finish(raw, dtype) })
    }

    /// # Safety
    ///
    /// DArray 1 and 2.
    #[inline]
    pub(crate) unsafe fn finish(self, raw: RawArray, dtype: DType) -> &'a mut DArray {
        let mut this = ManuallyDrop::new(self);
        let array = this.place.as_mut_ptr();
        // SAFETY: a field of a place that is ours.
        let to = unsafe { &raw mut (*array).raw };
        // SAFETY: as above.
        unsafe { to.write(raw) };
        // SAFETY: as above.
        let to = unsafe { &raw mut (*array).dtype };
        // SAFETY: as above.
        unsafe { to.write(dtype) };
        // SAFETY: all fields are there (Making 1), and this has the only borrow.
        unsafe { &mut *array }
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let layout = self.layout_ptr();
        // SAFETY: Making 1.
        unsafe { layout.drop_in_place() };
    }
}
