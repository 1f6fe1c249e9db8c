//! Arrays over existing memory.

use std::ops::Deref;

use crate::array::view::check_len;
use crate::array::{Array, DArray, RawArray};
use crate::buffer::Buffer;
use crate::element::{DType, Element};
use crate::error::{Advice, Error, Kind, Result};
use crate::layout::{FixedLayout, Layout, Order};

impl<T: Element, const D: usize> Array<T, D> {
    /// Adopts a vector as a row-major array. O(1). A vector of columns is the
    /// [`transpose`](Array::transpose) of the array of the reversed shape.
    ///
    /// # Errors
    ///
    /// `is_shape` if the number of elements differs between the shape and the vector.
    pub fn from_vec(vec: Vec<T>, shape: [usize; D]) -> Result<Self> {
        Self::from_vec_in_order(vec, shape, Order::RowMajor)
    }

    /// Like [`Array::from_vec`], for elements in a given order.
    pub(crate) fn from_vec_in_order(vec: Vec<T>, shape: [usize; D], order: Order) -> Result<Self> {
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), order)?;
        check_len(&shape, layout.len(), vec.len())?;
        Self::from_buffer_with_layout(Buffer::from_vec(vec)?, layout, 0)
    }

    /// Adopts anything that dereferences to a slice (`Arc<Vec<T>>`, an image, …), as a row-major
    /// array from its beginning. Elements after the shape's last one are kept, for
    /// [`Array::with_row_stride`]. Read-only. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the slice has fewer elements than the shape.
    pub fn from_owner<O>(owner: O, shape: [usize; D]) -> Result<Self>
    where
        O: Deref<Target: AsRef<[T]>> + Send + 'static,
    {
        Self::from_buffer(Buffer::from_owner(owner)?, shape)
    }

    /// Wraps memory that lives as long as the program. Read-only. O(1).
    ///
    /// # Errors
    ///
    /// `is_shape` if the number of elements differs between the shape and the slice.
    pub fn from_static(slice: &'static [T], shape: [usize; D]) -> Result<Self> {
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), Order::RowMajor)?;
        check_len(&shape, layout.len(), slice.len())?;
        Self::from_buffer_with_layout(Buffer::from_static(slice)?, layout, 0)
    }

    /// A buffer or an allocation as a row-major array from its first byte. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the buffer is too small.
    pub fn from_buffer(buffer: impl Into<Buffer>, shape: [usize; D]) -> Result<Self> {
        Self::from_buffer_in_order(buffer, shape, Order::RowMajor)
    }

    /// A buffer or an allocation as a contiguous array, in a given order, from its first byte.
    /// O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the buffer is too small.
    pub fn from_buffer_in_order(buffer: impl Into<Buffer>, shape: [usize; D], order: Order) -> Result<Self> {
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), order)?;
        Self::from_buffer_with_layout(buffer, layout, 0)
    }

    /// A buffer or an allocation as an array with this layout, whose element 0 lies `offset` bytes
    /// into it. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the layout leaves the buffer at either end; `is_overflow` if it was made for
    /// another item size and overflows for this one.
    pub fn from_buffer_with_layout(
        buffer: impl Into<Buffer>,
        layout: FixedLayout<D>,
        offset: usize,
    ) -> Result<Self> {
        let layout = FixedLayout::new(*layout.shape(), *layout.strides(), size_of::<T>())?;
        let raw = RawArray::new(buffer.into(), offset, layout.span(size_of::<T>()))?;
        // SAFETY: Array 1: `layout` was just made for `size_of::<T>()`, and `RawArray::new` checked
        // its span against the buffer.
        Ok(unsafe { Self::from_raw(raw, layout) })
    }
}

impl DArray {
    /// Adopts a vector as a row-major array. O(1).
    ///
    /// # Errors
    ///
    /// `is_shape` if the number of elements differs between the shape and the vector;
    /// `is_unsupported` for too many dimensions.
    pub fn from_vec<T: Element>(vec: Vec<T>, shape: &[usize]) -> Result<Self> {
        let layout = Layout::contiguous(shape, size_of::<T>(), Order::RowMajor)?;
        check_len(shape, layout.len(), vec.len())?;
        Self::from_buffer(Buffer::from_vec(vec)?, T::dtype(), layout, 0)
    }

    /// A buffer or an allocation as an array of this dtype and layout, whose element 0 lies
    /// `offset` bytes into it. O(rank).
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::layout::Layout;
    /// use crossdock::memory::{Allocation, Place};
    /// use crossdock::{DArray, element::DType};
    ///
    /// let memory = Buffer::from(Allocation::new(100, Place::CPU)?);
    /// let padded = Layout::new(&[4, 3], &[24, 4], 4)?;
    /// let array = DArray::from_buffer(memory.clone(), DType::F32, padded.clone(), 16)?;
    /// let refused = DArray::from_buffer(memory, DType::F32, padded, 17).unwrap_err();
    /// assert_eq!(refused.to_string(), "the array covers bytes 17..101, but the memory has 100 bytes");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_bounds` if the layout leaves the buffer at either end; `is_dtype` if dtype and layout
    /// have different item sizes; `is_unsupported` for a layout that follows pointers.
    pub fn from_buffer(
        buffer: impl Into<Buffer>,
        dtype: DType,
        layout: Layout,
        offset: usize,
    ) -> Result<Self> {
        check_layout(&dtype, &layout)?;
        let raw = RawArray::new(buffer.into(), offset, layout.span())?;
        // SAFETY: 1. `RawArray::new` checked the span of the direct layout against the buffer; 2.
        // `check_layout` found equal item sizes.
        Ok(unsafe { Self::from_raw(raw, dtype, layout) })
    }

    /// A buffer or an allocation as a contiguous array of this dtype, in a given order, from its
    /// first byte. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the buffer is too small; `is_overflow`; `is_unsupported` for too many
    /// dimensions.
    pub fn from_buffer_in_order(
        buffer: impl Into<Buffer>,
        dtype: DType,
        shape: &[usize],
        order: Order,
    ) -> Result<Self> {
        let layout = Layout::contiguous(shape, dtype.itemsize(), order)?;
        Self::from_buffer(buffer, dtype, layout, 0)
    }
}

/// Checks that dtype and layout have the same item size, and that the layout follows no pointers.
pub(super) fn check_layout(dtype: &DType, layout: &Layout) -> Result<()> {
    check_itemsize(dtype, layout)?;
    match layout.suboffsets() {
        None => Ok(()),
        Some(suboffsets) => Err(Error::new(
            Kind::Unsupported,
            format!(
                "a layout with suboffsets {suboffsets:?} follows pointers, which a buffer does not vouch for"
            ),
        )
        .advising(Advice::ImportIndirect)),
    }
}

pub(super) fn check_itemsize(dtype: &DType, layout: &Layout) -> Result<()> {
    if dtype.itemsize() == layout.itemsize() {
        return Ok(());
    }
    let text = format!(
        "{} has {} bytes, but the layout has elements of {} bytes",
        dtype.brief(),
        dtype.itemsize(),
        layout.itemsize()
    );
    Err(Error::new(Kind::DType, text))
}
