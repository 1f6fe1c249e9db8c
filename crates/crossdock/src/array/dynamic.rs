//! Arrays whose element type and rank are known at run time.

use std::mem::MaybeUninit;

use crate::array::queries::{dynamic_queries, memory_queries};
use crate::array::raw::elsewhere;
use crate::array::{ArrayBuilder, RawArray};
use crate::buffer::Buffer;
use crate::element::{DType, no_field};
use crate::error::Result;
use crate::layout::{AxisList, AxisSlice, Layout, Order, RangeSemantics};
use crate::memory::{Handle, Lease, LeaseKind};

/// An n-dimensional array of any dtype and rank: a handle on memory that an owner keeps alive.
///
/// Files and foreign libraries yield a `DArray`. `Array::try_from` converts it to a typed array, or
/// returns it with the reason. Cloning, slicing and the other views are O(rank), copy no element,
/// and allocate nothing up to four dimensions.
///
/// ```
/// use crossdock::{Array, DArray, s};
///
/// let array = DArray::from(Array::from_vec(vec![1.5f64, 2.5, 3.5, 4.5], [2, 2])?);
/// let column = array.slice(s![.., 1])?;
/// assert_eq!(column.get(&[1])?.to_string(), "4.5");
/// let wrong = Array::<f32, 1>::try_from(column).unwrap_err();
/// assert!(wrong.error.is_dtype());
/// let column = Array::<f64, 1>::try_from(wrong.value)?; // nothing was lost
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Panics
///
/// Cloning, and every operation that makes another handle (slicing, permuting, …), panics if the
/// memory already has 2²³ - 1 handles, which only a program that leaks them reaches.
#[derive(Clone)]
pub struct DArray {
    /// Invariant 1: `layout` goes with `raw` (RawArray 1).
    pub(super) raw: RawArray,
    /// Invariant 2: its item size is the layout's.
    pub(super) dtype: DType,
    pub(super) layout: Layout,
}

// Compilers copy up to 128 bytes inline, and more by a call.
const _: () = assert!(size_of::<DArray>() <= 128);

impl DArray {
    /// # Safety
    ///
    /// 1. `layout` goes with `raw` (DArray 1).
    /// 2. `dtype` has the item size of `layout` (DArray 2).
    #[inline]
    pub(crate) unsafe fn from_raw(raw: RawArray, dtype: DType, layout: Layout) -> Self {
        Self { raw, dtype, layout }
    }

    pub(crate) fn into_raw(self) -> (RawArray, DType, Layout) {
        (self.raw, self.dtype, self.layout)
    }

    #[inline]
    pub(crate) fn raw(&self) -> &RawArray {
        &self.raw
    }

    #[inline]
    pub(crate) fn into_handle(self) -> Handle {
        self.raw.into_handle()
    }

    /// Fails unless this is the only holder of the memory in this process.
    pub(crate) fn only_handle(&mut self) -> Result<()> {
        self.raw.only_handle()
    }

    // ===== queries

    dynamic_queries! { self: self.layout, self.raw.ptr() }
    memory_queries! { self }

    /// The memory from the lowest to the highest byte that the array touches, and the offset of
    /// element 0 in it. O(rank).
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the memory already has the maximum number of handles; `is_layout` if
    /// elements are, or were, reached over a table of pointers.
    pub fn buffer(&self) -> Result<(Buffer, usize)> {
        if self.is_indirect() {
            return Err(elsewhere());
        }
        self.raw.buffer(self.layout.span())
    }

    // ===== narrower handles

    /// # Safety
    ///
    /// `layout` and `offset` are one result of an operation on this array's layout.
    #[inline(always)]
    pub(super) unsafe fn moved(&self, layout: Layout, offset: isize) -> Self {
        // SAFETY: `layout` and `offset` are one result of an operation on this array's layout (`#
        // Safety`), which is what `RawArray::moved` requires.
        let raw = unsafe { self.raw.moved(offset) };
        Self { raw, dtype: self.dtype.clone(), layout }
    }

    /// Part of the array, selected by [`s!`](crate::s) or by a list of
    /// [`AxisSlice`](crate::layout::AxisSlice). O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if a range or an index leaves its axis, `is_shape` for the wrong number of axes.
    #[inline]
    pub fn slice(&self, slices: impl AxisList) -> Result<Self> {
        match self.layout.slice_inline(&slices, RangeSemantics::Rust) {
            // SAFETY: `layout` and `offset` are one result of `slice_inline` on this array's
            // layout, as `moved` requires.
            Some((layout, offset)) => Ok(unsafe { self.moved(layout, offset) }),
            None => self.slice_apart(slices, RangeSemantics::Rust),
        }
    }

    /// Part of the array, selected as in Python: bounds are clamped, and missing axes are whole.
    /// O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if an index leaves its axis or a step is 0, `is_shape` for too many axes.
    #[inline]
    pub fn slice_numpy(&self, slices: impl AxisList) -> Result<Self> {
        match self.layout.slice_inline(&slices, RangeSemantics::Numpy) {
            // SAFETY: `layout` and `offset` are one result of `slice_inline` on this array's
            // layout, as `moved` requires.
            Some((layout, offset)) => Ok(unsafe { self.moved(layout, offset) }),
            None => self.slice_apart(slices, RangeSemantics::Numpy),
        }
    }

    /// A slice of any array, or its error, made by a function out of line in a place of its own: if
    /// that function returned it, a slice in one pass would lie in the same place, written in parts
    /// and moved as a whole, for which the CPU waits.
    #[inline(always)]
    fn slice_apart(&self, slices: impl AxisList, reading: RangeSemantics) -> Result<Self> {
        let mut sliced = None;
        self.slice_any_to(slices, reading, &mut sliced);
        sliced.expect("every slice is answered")
    }

    #[inline(never)]
    fn slice_any_to(
        &self,
        slices: impl AxisList,
        reading: RangeSemantics,
        sliced: &mut Option<Result<Self>>,
    ) {
        *sliced = Some(slices.with_axes(|axes| self.slice_any(axes, reading)));
    }

    fn slice_any(&self, axes: &[AxisSlice], reading: RangeSemantics) -> Result<Self> {
        if self.is_indirect() {
            return self.slice_indirect(axes, reading);
        }
        let (layout, offset) = self.layout.slice_as(axes, reading)?;
        // SAFETY: `layout` and `offset` are one result of `slice_as` on this array's layout, as
        // `moved` requires.
        Ok(unsafe { self.moved(layout, offset) })
    }

    /// Like [`DArray::slice_numpy`], written in its final place, whose owner drops it. Objects of
    /// other languages use it, because each move of an array costs as much as an axis.
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    ///
    /// use crossdock::{Array, DArray, s};
    ///
    /// let numbers = DArray::from(Array::from_vec(vec![1u8, 2, 3], [3])?);
    /// let mut place = MaybeUninit::uninit();
    /// let part = numbers.slice_numpy_to(s![1..9], &mut place)?;
    /// assert_eq!(part.shape(), [2]);
    /// // SAFETY: made there.
    /// unsafe { place.assume_init_drop() };
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`DArray::slice_numpy`]; the place stays uninitialised.
    #[doc(hidden)]
    pub fn slice_numpy_to<'a>(
        &self,
        slices: impl AxisList,
        place: &'a mut MaybeUninit<Self>,
    ) -> Result<&'a mut Self> {
        if self.is_indirect() {
            let part = slices.with_axes(|axes| self.slice_indirect(axes, RangeSemantics::Numpy))?;
            return Ok(place.write(part));
        }
        let mut making = ArrayBuilder::new(place);
        let layout = making.layout();
        let offset = slices.with_axes(|axes| self.layout.slice_to(axes, RangeSemantics::Numpy, layout))?;
        // SAFETY: `slice_to` wrote `layout` and returned `offset`: one result of an operation on
        // this array's layout.
        let raw = unsafe { self.raw.moved(offset) };
        // SAFETY: 1. `raw` lies at the offset that belongs to the layout in the place; 2. a slice
        // keeps the item size, which is that of `self.dtype` (DArray 2).
        Ok(unsafe { making.finish(raw, self.dtype.clone()) })
    }

    /// One field of an array of records, in place. A sub-array field appends its axes to the
    /// array's. O(rank).
    ///
    /// ```
    /// use crossdock::{DArray, element::DType, layout::Order};
    ///
    /// let trade = DType::packed_record([("price", DType::F64), ("flags", DType::subarray(&[3], DType::U8)?)])?;
    /// let trades = DArray::zeros(trade, &[100], Order::RowMajor)?;
    /// let flags = trades.field("flags")?;
    /// assert_eq!((flags.shape(), flags.strides()), (&[100, 3][..], &[11, 1][..]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_dtype` if the elements are not records or lack the field; `is_unsupported` if the
    /// sub-array's axes exceed the greatest rank, `is_overflow` if they are empty and too long.
    pub fn field(&self, name: &str) -> Result<Self> {
        let field = self.dtype.field(name).ok_or_else(|| no_field(&self.dtype, name))?;
        let (part, offset) = self.layout.part(field.offset(), field.dtype().itemsize());
        let (dtype, layout) = match field.dtype().as_subarray() {
            None => (field.dtype().clone(), part),
            Some(subarray) => {
                let dtype = subarray.base().clone();
                let inner = Layout::contiguous(subarray.shape(), dtype.itemsize(), Order::RowMajor)?;
                (dtype, part.with_inner(&inner)?)
            }
        };
        // SAFETY: the field lies within its record, so the layout, moved by the field's offset,
        // reaches only bytes of this array's elements (DArray 1).
        let raw = unsafe { self.raw.moved(offset) };
        Ok(Self { raw, dtype, layout })
    }

    /// The axes in another order: axis `k` of the result is axis `axes[k]` of this array. O(rank).
    ///
    /// # Errors
    ///
    /// `is_shape` if `axes` does not name every axis once.
    pub fn permute(&self, axes: &[usize]) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout.permute(axes)?, 0) })
    }

    /// The axes in reverse order. O(rank).
    ///
    /// # Errors
    ///
    /// `is_layout` for an indirect array if an axis would move across a pointer; otherwise none.
    pub fn transpose(&self) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout.transpose()?, 0) })
    }

    /// The same elements with one axis reversed. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist.
    pub fn reverse(&self, axis: usize) -> Result<Self> {
        let (layout, offset) = self.layout.reverse(axis)?;
        // SAFETY: `layout` and `offset` are one result of `Layout::reverse` on this array's layout,
        // as `moved` requires.
        Ok(unsafe { self.moved(layout, offset) })
    }

    /// The array repeated along new leading axes and axes of length 1, by strides of 0. O(rank).
    ///
    /// # Errors
    ///
    /// `is_shape` if the shapes do not broadcast by NumPy's rule.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout.broadcast_to(shape)?, 0) })
    }

    /// The same elements as a view of another shape. O(rank).
    ///
    /// # Errors
    ///
    /// `is_shape` if the number of elements differs, `is_layout` if no strides express the result.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout.reshape(shape, Order::RowMajor)?, 0) })
    }

    /// The elements at one index of an axis; the axis is dropped. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis or the index does not exist.
    pub fn drop_axis(&self, axis: usize, index: usize) -> Result<Self> {
        if self.is_indirect() && axis < self.rank() {
            let mut axes = vec![AxisSlice::ALL; self.rank()];
            axes[axis] = AxisSlice::Index(isize::try_from(index).unwrap_or(isize::MAX));
            return self.slice_indirect(&axes, RangeSemantics::Rust);
        }
        let (layout, offset) = self.layout.drop_axis(axis, index)?;
        // SAFETY: `layout` and `offset` are one result of `Layout::drop_axis` on this array's
        // layout, as `moved` requires.
        Ok(unsafe { self.moved(layout, offset) })
    }

    /// A new axis of length 1, which becomes axis `axis` of the result. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if `axis` is more than the rank, `is_unsupported` for too many axes.
    pub fn insert_axis(&self, axis: usize) -> Result<Self> {
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout.insert_axis(axis)?, 0) })
    }

    /// Removes the axes of length 1. O(rank).
    ///
    /// # Errors
    ///
    /// `is_layout` for an indirect array with two tables if the second would lose its last axis;
    /// otherwise none.
    pub fn squeeze(&self) -> Result<Self> {
        if self.is_indirect() {
            let slice = |&len: &usize| if len == 1 { AxisSlice::Index(0) } else { AxisSlice::ALL };
            let axes: Vec<AxisSlice> = self.shape().iter().map(slice).collect();
            return self.slice_indirect(&axes, RangeSemantics::Rust);
        }
        // SAFETY: the operation on this array's layout keeps element 0 in place, so offset 0
        // belongs to its result.
        Ok(unsafe { self.moved(self.layout.squeeze()?, 0) })
    }

    /// The same array, read-only through this handle and all handles made from it.
    pub fn into_readonly(mut self) -> Self {
        self.raw.set_readonly();
        self
    }

    // ===== access

    #[inline]
    pub(crate) fn lease(&self, kind: LeaseKind) -> Result<Lease> {
        self.raw.lease(kind)
    }
}
