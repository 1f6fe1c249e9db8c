//! The views of a dynamic array that look at a few of its axes, or make more of them.

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
        // SAFETY: layout and offset came together.
        Ok(unsafe { self.moved(layout, offset) })
    }

    /// The indices of an axis before `index`, and those from it on: two disjoint parts. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist, or its length is less than `index`.
    pub fn split_at(&self, axis: usize, index: usize) -> Result<(Self, Self)> {
        let (before, behind, offset) = self.layout().split_at(axis, index)?;
        // SAFETY: element 0 stays where it is.
        let before = unsafe { self.moved(before, 0) };
        // SAFETY: layout and offset came together.
        Ok((before, unsafe { self.moved(behind, offset) }))
    }

    /// Two axes changed for each other. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist; `is_layout` for an indirect array whose axes would
    /// change sides with a pointer.
    pub fn swap_axes(&self, a: usize, b: usize) -> Result<Self> {
        // SAFETY: element 0 stays where it is.
        Ok(unsafe { self.moved(self.layout().swap_axes(a, b)?, 0) })
    }

    /// Axis `from` becomes axis `to` of the result; the others stay in their order. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist; `is_layout` for an indirect array whose axes would
    /// change sides with a pointer.
    pub fn move_axis(&self, from: usize, to: usize) -> Result<Self> {
        // SAFETY: element 0 stays where it is.
        Ok(unsafe { self.moved(self.layout().move_axis(from, to)?, 0) })
    }

    /// The elements whose indices of two axes are equal, or differ by `offset` (that of the second
    /// axis is greater by it). The two axes go, and one along the diagonal comes last (as in
    /// NumPy). A diagonal outside of the array has no elements. O(rank).
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
    /// `is_bounds` if the axis does not exist, `is_shape` where both are the same; `is_layout` for
    /// an indirect array.
    pub fn diagonal(&self, first: usize, second: usize, offset: isize) -> Result<Self> {
        let (layout, offset) = self.layout().diagonal(first, second, offset)?;
        // SAFETY: layout and offset came together.
        Ok(unsafe { self.moved(layout, offset) })
    }

    /// All windows of a shape: the first axes, as many as there are now, say where a window begins,
    /// the others are those of the window. Windows overlap, and each lies wholly inside. O(rank).
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
    /// `is_overflow` where the elements of all windows would count as more than `isize::MAX` bytes;
    /// `is_unsupported` for too many axes; `is_layout` for an indirect array.
    pub fn windows(&self, window: &[usize]) -> Result<Self> {
        // SAFETY: element 0 stays where it is.
        Ok(unsafe { self.moved(self.layout().windows(window)?, 0) })
    }

    /// The array cut into blocks of a shape, without a rest: the first axes, as many as there are
    /// now, say which block, the others are those of the block. O(rank).
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
    /// `is_overflow` where an axis is empty and the block too long; `is_unsupported` for too many
    /// axes; `is_layout` for an indirect array.
    pub fn blocks(&self, block: &[usize]) -> Result<Self> {
        // SAFETY: element 0 stays where it is.
        Ok(unsafe { self.moved(self.layout().blocks(block)?, 0) })
    }

    /// The same elements, read and laid out in this order of their indices, under another shape, as
    /// a view. O(rank).
    ///
    /// # Errors
    ///
    /// `is_shape` if the number of elements differs, `is_layout` if no strides express the result
    /// without a copy.
    pub(crate) fn reshape_order(&self, shape: &[usize], order: Order) -> Result<Self> {
        // SAFETY: element 0 stays where it is.
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

    /// The same bytes as elements of another dtype. Where its size is another, the last axis has so
    /// many more or fewer elements. Nothing is converted: the bytes are what they are. O(rank).
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
    /// `is_layout` where the sizes differ and the elements of the last axis do not lie without
    /// gaps, or the array is indirect; `is_shape` where its bytes are no whole number of new
    /// elements.
    pub fn view_as(&self, dtype: &DType) -> Result<Self> {
        let layout = self.layout().with_itemsize(dtype.itemsize())?;
        // SAFETY: element 0 stays where it is, and the layout reaches the same bytes.
        let raw = unsafe { self.raw().moved(0) };
        // SAFETY: as above; the layout was made for the dtype's size.
        Ok(unsafe { Self::from_raw(raw, dtype.clone(), layout) })
    }
}
