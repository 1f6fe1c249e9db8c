//! Fields of arrays of structs, in place.

use std::ptr::NonNull;

use crate::array::view::check_aligned;
use crate::array::{Array, ArrayView, ArrayViewMut};
use crate::element::{Element, FieldName, FieldOf};
use crate::error::Result;
use crate::layout::FixedLayout;

/// The layout of the fields, and the offset of the first one from element 0.
fn of_fields<T: Element, F: Element, const D: usize>(
    shape: &[usize; D],
    strides: &[isize; D],
    field: FieldOf<T, F>,
) -> Result<(FixedLayout<D>, isize)> {
    let layout = FixedLayout::new(*shape, *strides, size_of::<F>())?;
    // An empty array may have no byte at element 0, so a pointer moved into it could leave the
    // allocation.
    let offset = if shape.contains(&0) { 0 } else { field.offset() as isize };
    Ok((layout, offset))
}

impl<T: Element, const D: usize> Array<T, D> {
    /// One field of an array of structs, in place: a strided array, unaligned if the struct is
    /// packed (then its elements are accessed by value). The field is selected by name, checked at
    /// run time, or by [`field!`](crate::field!), checked by the compiler. O(`D`).
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use crossdock::{Array, element::Element, field};
    ///
    /// #[derive(Clone, Copy, Element)]
    /// #[repr(C, packed)]
    /// struct Trade { kind: u8, price: f64 }
    ///
    /// let trades = Array::from_vec(vec![Trade { kind: 0, price: 1.5 }, Trade { kind: 1, price: 2.5 }], [2])?;
    /// let prices = trades.field::<f64>("price")?;
    /// assert_eq!((prices.strides(), prices.get([1])?), (&[9], 2.5));
    /// let prices = trades.field(field!(Trade, price))?;
    /// assert!(prices.read().unwrap_err().is_alignment());
    /// assert_eq!(prices.pin()?.values().sum::<f64>(), 4.0);
    /// assert!(trades.field::<f32>("price").unwrap_err().is_dtype());
    /// # }
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_dtype` if the elements have no field of this name, or its dtype differs.
    pub fn field<F: Element>(&self, field: impl FieldName<T, F>) -> Result<Array<F, D>> {
        let (layout, offset) = of_fields(self.shape(), self.strides(), field.locate()?)?;
        // SAFETY: the field lies within its element (FieldOf 1), so `layout` at `offset` reaches
        // only bytes that this array's layout reaches (Array 1).
        let raw = unsafe { self.raw().moved(offset) };
        // SAFETY: Array 1: `layout`, made for the size of `F`, reaches from the moved element 0
        // only bytes of this array's elements (FieldOf 1).
        Ok(unsafe { Array::from_raw(raw, layout) })
    }
}

/// The address of element 0's field, and the layout of the fields, checked for the alignment of
/// references.
///
/// # Safety
///
/// `layout`, of elements `T`, applied at `ptr`, reaches only bytes of one allocation.
unsafe fn aligned<T: Element, F: Element, const D: usize>(
    ptr: NonNull<u8>,
    layout: (&[usize; D], &[isize; D]),
    field: FieldOf<T, F>,
) -> Result<(NonNull<u8>, FixedLayout<D>)> {
    let (layout, offset) = of_fields(layout.0, layout.1, field)?;
    // SAFETY: the offset lies inside element 0 (FieldOf 1), which is in one allocation (`#
    // Safety`); without elements the offset is 0.
    let ptr = unsafe { ptr.offset(offset) };
    check_aligned::<F, D>(ptr.addr().get(), &layout)?;
    Ok((ptr, layout))
}

impl<'a, T: Element, const D: usize> ArrayView<'a, T, D> {
    /// One field of a view of structs, as a view. By name or by [`field!`](crate::field!). O(rank).
    ///
    /// # Errors
    ///
    /// `is_dtype` if the elements have no field of this name, or it has another dtype;
    /// `is_alignment` for an unaligned field of a packed struct, which cannot be referenced: copy
    /// it from the struct or through [`Array::field`].
    pub fn field<F: Element>(&self, field: impl FieldName<T, F>) -> Result<ArrayView<'a, F, D>> {
        // SAFETY: ArrayView 1: this view's layout, of elements `T`, reaches from `self.ptr()` only
        // bytes of one allocation.
        let (ptr, layout) = unsafe { aligned(self.ptr(), (self.shape(), self.strides()), field.locate()?) }?;
        // SAFETY: each field is part of an element (FieldOf 1), hence initialised and constant for
        // `'a` (ArrayView 1); `aligned` checked the alignment for `F`.
        Ok(unsafe { ArrayView::new(ptr, layout) })
    }
}

impl<'a, T: Element, const D: usize> ArrayViewMut<'a, T, D> {
    /// One field of a view of structs, as a mutable view. By name or by [`field!`](crate::field!).
    /// O(rank).
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use crossdock::{Array, element::Element, field};
    ///
    /// #[derive(Clone, Copy, Element)]
    /// #[repr(C)]
    /// struct Point { x: f32, y: f32 }
    ///
    /// let points = Array::<Point, 1>::zeros([3])?;
    /// points.write()?.view_mut().field(field!(Point, y))?.fill(1.0);
    /// assert_eq!(points.read()?[[2]].y, 1.0);
    /// # }
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`ArrayView::field`].
    pub fn field<F: Element>(self, field: impl FieldName<T, F>) -> Result<ArrayViewMut<'a, F, D>> {
        // SAFETY: ArrayViewMut 1: this view's layout, of elements `T`, reaches from `self.ptr()`
        // only bytes of one allocation.
        let (ptr, layout) = unsafe { aligned(self.ptr(), (self.shape(), self.strides()), field.locate()?) }?;
        // SAFETY: each field is part of an element (FieldOf 1), so ArrayViewMut 1 and 2 hold for
        // the fields while `self` is consumed; `aligned` checked the alignment for `F`.
        Ok(unsafe { ArrayViewMut::trusted(ptr, layout) })
    }
}
