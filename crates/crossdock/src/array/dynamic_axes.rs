//! The views of a dynamic array that change a few of its axes, or add axes.

use std::ops::RangeBounds;

use crate::array::DArray;
use crate::element::DType;
use crate::error::Result;
use crate::layout::Order;

impl DArray {
    /// Some indices of one axis. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist, or the range leaves it.
    pub fn slice_axis(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<Self> {
        let (layout, offset) = self.layout().slice_axis(axis, range)?;
        // SAFETY: `layout` and `offset` are one result of `Layout::slice_axis` on this array's
        // layout, as `moved` requires.
        Ok(unsafe { self.moved(layout, offset) })
    }

    /// The indices of an axis before `index`, and those from it on: two disjoint parts. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist, or its length is less than `index`.
    pub fn split_at(&self, axis: usize, index: usize) -> Result<(Self, Self)> {
        let (before, behind, offset) = self.layout().split_at(axis, index)?;
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        let before = unsafe { self.moved(before, 0) };
        // SAFETY: `behind` and `offset` are one result of `Layout::split_at` on this array's
        // layout, as `moved` requires.
        Ok((before, unsafe { self.moved(behind, offset) }))
    }

    /// Swaps two axes. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist; `is_layout` for an indirect array if an axis would
    /// move across a pointer.
    pub fn swap_axes(&self, a: usize, b: usize) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout().swap_axes(a, b)?, 0) })
    }

    /// Axis `from` becomes axis `to` of the result; the others stay in their order. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist; `is_layout` for an indirect array if an axis would
    /// move across a pointer.
    pub fn move_axis(&self, from: usize, to: usize) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout().move_axis(from, to)?, 0) })
    }

    /// The elements whose indices of two axes are equal, or differ by `offset` (that of the second
    /// axis is greater by it). The two axes are removed, and an axis along the diagonal is appended
    /// (as in NumPy). A diagonal outside the array has no elements. O(rank).
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, 3])?);
    /// assert_eq!(array.diagonal(0, 1, 1)?.get(&[1])?.as_i64(), Some(6));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist, `is_shape` if both are the same; `is_layout` for an
    /// indirect array.
    pub fn diagonal(&self, first: usize, second: usize, offset: isize) -> Result<Self> {
        let (layout, offset) = self.layout().diagonal(first, second, offset)?;
        // SAFETY: `layout` and `offset` are one result of `Layout::diagonal` on this array's
        // layout, as `moved` requires.
        Ok(unsafe { self.moved(layout, offset) })
    }

    /// All windows of a shape: the first axes, as many as this array has, select where a window
    /// begins, the others are the axes of the window. Windows overlap, and each lies entirely
    /// inside the array. O(rank).
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let samples = DArray::from(Array::from_vec(vec![1, 2, 6, 3, 0], [5])?);
    /// assert_eq!(samples.windows(&[3])?.shape(), [3, 3]);
    /// assert!(samples.windows(&[6]).unwrap_err().is_shape());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` for a window of another rank, or one that is empty or longer than its axis;
    /// `is_overflow` if the elements of all windows would count as more than `isize::MAX` bytes;
    /// `is_unsupported` for too many axes; `is_layout` for an indirect array.
    pub fn windows(&self, window: &[usize]) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout().windows(window)?, 0) })
    }

    /// The array as blocks of a shape, without remainder: the first axes, as many as this array
    /// has, select a block, the others are the axes of the block. O(rank).
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec((0..16).collect::<Vec<i32>>(), [4, 4])?);
    /// assert_eq!(array.blocks(&[2, 2])?.get(&[1, 0, 0, 1])?.as_i64(), Some(9));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` for a block of another rank, or one that is empty or does not divide its axis;
    /// `is_overflow` if an axis is empty and the block too long; `is_unsupported` for too many
    /// axes; `is_layout` for an indirect array.
    pub fn blocks(&self, block: &[usize]) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout().blocks(block)?, 0) })
    }

    /// The same elements, read and laid out in this order of their indices, as a view of another
    /// shape. O(rank).
    ///
    /// # Errors
    ///
    /// `is_shape` if the number of elements differs, `is_layout` if no strides express the result
    /// without a copy.
    pub(crate) fn reshape_order(&self, shape: &[usize], order: Order) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout().reshape(shape, order)?, 0) })
    }

    /// The same elements, in row-major order, as one axis, as a view. O(rank).
    ///
    /// # Errors
    ///
    /// `is_layout` if no stride expresses the result without a copy.
    pub fn flatten(&self) -> Result<Self> {
        self.reshape_order(&[self.len()], Order::RowMajor)
    }

    /// The same bytes as elements of another dtype. If the item size differs, the length of the
    /// last axis changes with it. The bytes are not converted. O(rank).
    ///
    /// ```
    /// use crossdock::{Array, DArray, element::DType};
    ///
    /// let words = DArray::from(Array::from_vec(vec![0x0403_0201u32, 0x0807_0605], [2])?);
    /// let bytes = words.view_as(&DType::U8)?;
    /// assert_eq!(bytes.shape(), [8]);
    /// assert_eq!(bytes.view_as(&DType::U32)?.get(&[1])?.as_u64(), Some(0x0807_0605));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_layout` if the sizes differ and the last axis has gaps, or the array is indirect;
    /// `is_shape` if its bytes are not a whole number of new elements.
    pub fn view_as(&self, dtype: &DType) -> Result<Self> {
        let layout = self.layout().with_itemsize(dtype.itemsize())?;
        // SAFETY: `with_itemsize` is an operation on this array's layout that reaches the same
        // bytes from the same element 0, so the offset is 0.
        let raw = unsafe { self.raw().moved(0) };
        // SAFETY: 1. `layout` reaches the same bytes from element 0 as this array's; 2.
        // `with_itemsize` made it for the dtype's item size.
        Ok(unsafe { Self::from_raw(raw, dtype.clone(), layout) })
    }
}
