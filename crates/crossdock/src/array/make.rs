//! How arrays are made: over memory that is there already, or over new memory.

use std::ops::Deref;

use crate::array::view::check_numel;
use crate::array::{Array, DArray, RawArray};
use crate::element::{DType, Element};
use crate::error::{Error, Kind, Result};
use crate::layout::{FixedLayout, Layout, Order};
use crate::memory::Buffer;

impl<T: Element, const D: usize> Array<T, D> {
    /// Adopts a vector, seen row-major. O(1).
    ///
    /// # Errors
    ///
    /// `is_shape` where the shape has another number of elements than the vector.
    pub fn from_vec(vec: Vec<T>, shape: [usize; D]) -> Result<Self> {
        let layout = Self::row_major(shape)?;
        check_numel(&shape, layout.numel(), vec.len())?;
        Self::from_buffer_with_layout(Buffer::from_vec(vec)?, layout, 0)
    }

    /// Adopts anything that dereferences to a slice (`Arc<Vec<T>>`, an image, …), seen row-major from its beginning. What
    /// lies behind the shape's last element is kept, for [`Array::with_row_stride`]. Read-only. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` where the slice has fewer elements than the shape.
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
    /// `is_shape` where the shape has another number of elements than the slice.
    pub fn from_static(slice: &'static [T], shape: [usize; D]) -> Result<Self> {
        let layout = Self::row_major(shape)?;
        check_numel(&shape, layout.numel(), slice.len())?;
        Self::from_buffer_with_layout(Buffer::from_static(slice)?, layout, 0)
    }

    /// New memory of the default pool, zeroed, row-major.
    ///
    /// # Errors
    ///
    /// `is_overflow`, `is_out_of_memory`.
    pub fn zeros(shape: [usize; D]) -> Result<Self> {
        let layout = Self::row_major(shape)?;
        Self::from_buffer_with_layout(Buffer::zeroed(layout.nbytes(size_of::<T>()))?, layout, 0)
    }

    /// A buffer, seen row-major from its first byte. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` where the buffer is too small.
    pub fn from_buffer(buffer: Buffer, shape: [usize; D]) -> Result<Self> {
        Self::from_buffer_with_layout(buffer, Self::row_major(shape)?, 0)
    }

    /// A buffer, seen through a layout whose element 0 lies `offset` bytes into it. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_bounds` where the layout leaves the buffer at either end; `is_overflow` where it was made for another itemsize
    /// and does not hold for this one.
    pub fn from_buffer_with_layout(buffer: Buffer, layout: FixedLayout<D>, offset: usize) -> Result<Self> {
        let layout = FixedLayout::new(*layout.shape(), *layout.strides(), size_of::<T>())?;
        let raw = RawArray::new(buffer, offset, layout.span(size_of::<T>()))?;
        // SAFETY: Array 1, as just checked.
        Ok(unsafe { Self::from_raw(raw, layout) })
    }

    fn row_major(shape: [usize; D]) -> Result<FixedLayout<D>> {
        FixedLayout::contiguous(shape, size_of::<T>(), Order::RowMajor)
    }
}

impl DArray {
    /// A buffer, seen through a dtype and a layout whose element 0 lies `offset` bytes into it. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` where the layout leaves the buffer at either end; `is_dtype` where dtype and layout have different item
    /// sizes; `is_unsupported` for a layout that follows pointers.
    pub fn from_buffer(buffer: Buffer, dtype: DType, layout: Layout, offset: usize) -> Result<Self> {
        if dtype.itemsize() != layout.itemsize() {
            return Err(Error::new(
                Kind::DType,
                format!(
                    "{} has {} bytes, but the layout is for {}",
                    dtype.brief(),
                    dtype.itemsize(),
                    layout.itemsize()
                ),
            ));
        }
        if let Some(suboffsets) = layout.suboffsets() {
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "a layout with suboffsets {suboffsets:?} follows pointers, which a buffer does not vouch for"
                ),
            ));
        }
        let raw = RawArray::new(buffer, offset, layout.span())?;
        // SAFETY: DArray 1 and 2, as just checked.
        Ok(unsafe { Self::from_raw(raw, dtype, layout) })
    }

    /// New memory of the default pool, zeroed.
    ///
    /// # Errors
    ///
    /// `is_overflow`, `is_out_of_memory`, `is_unsupported` for too many dimensions.
    pub fn zeros(dtype: DType, shape: &[usize], order: Order) -> Result<Self> {
        let layout = Layout::contiguous(shape, dtype.itemsize(), order)?;
        Self::from_buffer(Buffer::zeroed(layout.nbytes())?, dtype, layout, 0)
    }
}
