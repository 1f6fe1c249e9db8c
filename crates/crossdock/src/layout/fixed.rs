//! Layouts of static rank.

use std::fmt;

use crate::error::Result;
use crate::layout::offsets::{Offsets, Runs};
use crate::layout::rules::{self, Order};
use crate::layout::slice;
use crate::layout::spec::SliceSpec;
use crate::layout::{Layout, MAX_RANK, Span, reshape};

/// Shape and byte strides of an array of rank `D`.
///
/// The itemsize is not stored: a typed array knows it as `size_of::<T>()`, and functions that need
/// it take it as an argument. It must be the one with which the layout was made. All operations are
/// O(`D`), unless stated otherwise, and allocate nothing.
///
/// ```
/// use crossdock::layout::{FixedLayout, Order};
///
/// let layout = FixedLayout::contiguous([2, 3], 8, Order::RowMajor)?;
/// assert_eq!(layout.strides(), &[24, 8]);
/// assert_eq!(layout.offset_of([1, 2])?, 40);
/// assert_eq!(layout.offset_of([1, 3]).unwrap_err().to_string(), "index 3 is out of bounds for axis 1 of length 3");
/// assert!(!layout.is_contiguous(8, Order::ColumnMajor));
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedLayout<const D: usize> {
    /// Invariant 1: `D` is at most `MAX_RANK`; the product of the non-zero lengths, and that times
    /// the itemsize with which the layout was made, is at most `isize::MAX`.
    shape: [usize; D],
    /// Invariant 2: the sum of `(len - 1) * |stride|` over the axes longer than 1, plus that
    /// itemsize, is at most `isize::MAX`. Hence the offset of every element, and every partial sum
    /// on the way to it, fits.
    strides: [isize; D],
}

impl<const D: usize> FixedLayout<D> {
    /// A layout with these strides, in bytes, of elements of `itemsize` bytes.
    ///
    /// # Errors
    ///
    /// [`is_overflow`](crate::Error::is_overflow) if the elements would take, or the strides would
    /// reach, more than `isize::MAX` bytes. More than [`MAX_RANK`] axes do not compile.
    pub fn new(shape: [usize; D], strides: [isize; D], itemsize: usize) -> Result<Self> {
        const { assert!(D <= MAX_RANK, "at most 64 axes") };
        rules::check(&shape, &strides, itemsize)?;
        Ok(Self { shape, strides })
    }

    /// The layout of a contiguous array.
    ///
    /// # Errors
    ///
    /// [`is_overflow`](crate::Error::is_overflow) if the elements would take more than `isize::MAX`
    /// bytes.
    pub fn contiguous(shape: [usize; D], itemsize: usize, order: Order) -> Result<Self> {
        const { assert!(D <= MAX_RANK, "at most 64 axes") };
        rules::check_shape(&shape, itemsize)?;
        let mut strides = [0; D];
        rules::contiguous_strides(&shape, itemsize, order, &mut strides);
        Ok(Self { shape, strides })
    }

    /// For the operations of this layer, whose results satisfy the invariants because their sources
    /// do.
    #[inline(always)]
    pub(super) fn trusted(shape: [usize; D], strides: [isize; D]) -> Self {
        Self { shape, strides }
    }

    /// The lengths of the axes.
    #[inline]
    pub fn shape(&self) -> &[usize; D] {
        &self.shape
    }

    /// The distance from one index to the next along each axis, in bytes.
    #[inline]
    pub fn strides(&self) -> &[isize; D] {
        &self.strides
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        rules::len(&self.shape)
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The number of bytes of all elements, without gaps.
    #[inline]
    pub fn nbytes(&self, itemsize: usize) -> usize {
        self.len().saturating_mul(itemsize)
    }

    /// The bytes that the array touches, relative to its element 0.
    pub fn span(&self, itemsize: usize) -> Span {
        Span::of(&self.shape, &self.strides, itemsize)
    }

    /// Whether the elements are contiguous in this order. Axes of length 1 do not matter, and an
    /// empty array is contiguous in both orders (NumPy's rule).
    #[inline]
    pub fn is_contiguous(&self, itemsize: usize, order: Order) -> bool {
        rules::is_contiguous(&self.shape, &self.strides, itemsize, order)
    }

    /// The order in which the array is contiguous; row-major if it is in both.
    pub fn order(&self, itemsize: usize) -> Option<Order> {
        rules::order(&self.shape, &self.strides, itemsize)
    }

    /// Whether no two elements share a byte. `true` is certain. `false` is possible for strides
    /// that interleave, which no view of a contiguous array has. O(`D` log `D`).
    #[doc(hidden)]
    pub fn is_injective(&self, itemsize: usize) -> bool {
        rules::is_injective(&self.shape, &self.strides, itemsize)
    }

    /// Whether the strides of all axes longer than 1 are multiples of `align` bytes. With an
    /// aligned element 0, all elements are aligned then.
    pub fn is_aligned(&self, align: usize) -> bool {
        rules::is_aligned(&self.shape, &self.strides, align)
    }

    /// The offset of an element from element 0, in bytes.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](crate::Error::is_bounds), naming index, axis and length.
    #[inline(always)]
    pub fn offset_of(&self, index: [usize; D]) -> Result<isize> {
        self.checked_offset(index).ok_or_else(|| rules::index_error(&index, &self.shape))
    }

    /// The offset of an element from element 0, in bytes; `None` if it does not exist.
    #[inline(always)]
    pub(crate) fn checked_offset(&self, index: [usize; D]) -> Option<isize> {
        let mut inside = true;
        for (index, len) in index.iter().zip(&self.shape) {
            inside &= index < len;
        }
        inside.then(|| self.offset_at(index))
    }

    /// The offset of an element from element 0, in bytes, without a bounds check: wrapping
    /// arithmetic, and a meaningless result for an index that is out of bounds.
    #[inline(always)]
    pub(crate) fn offset_at(&self, index: [usize; D]) -> isize {
        let mut offset = 0isize;
        for (index, stride) in index.into_iter().zip(&self.strides) {
            offset = offset.wrapping_add((index as isize).wrapping_mul(*stride));
        }
        offset
    }

    /// The offsets of all elements in row-major order of their indices, in bytes from element 0.
    #[inline]
    #[doc(hidden)]
    pub fn offsets(&self) -> Offsets<D> {
        Offsets::new(self.runs())
    }

    /// The same as runs of equal step, for simple inner loops. Mergeable axes count as one.
    #[inline]
    pub(crate) fn runs(&self) -> Runs<D> {
        Runs::new(&self.shape, &self.strides)
    }

    /// The part that [`s!`](crate::s) selects, and the distance from this element 0 to its
    /// element 0.
    ///
    /// The rank of the result is inferred; a list of the wrong length does not compile.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](crate::Error::is_bounds), naming axis, index or range, and length.
    #[inline(always)]
    pub(crate) fn slice<S, const OUT: usize>(&self, slices: S) -> Result<(FixedLayout<OUT>, isize)>
    where
        S: SliceSpec<D, OUT>,
    {
        let (shape, strides, offset) = slices.apply(&self.shape, &self.strides)?;
        Ok((FixedLayout { shape, strides }, offset))
    }

    /// The axes in another order: axis `k` of the result is axis `axes[k]` of this one.
    ///
    /// # Errors
    ///
    /// [`is_shape`](crate::Error::is_shape) if `axes` does not name each axis once.
    pub(crate) fn permute(&self, axes: [usize; D]) -> Result<Self> {
        rules::check_permutation(&axes, D)?;
        Ok(Self { shape: axes.map(|axis| self.shape[axis]), strides: axes.map(|axis| self.strides[axis]) })
    }

    /// The axes in reverse order.
    pub(crate) fn transpose(&self) -> Self {
        let mut turned = *self;
        turned.shape.reverse();
        turned.strides.reverse();
        turned
    }

    /// One axis reversed, and the distance to the new element 0.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](crate::Error::is_bounds) if the axis does not exist.
    pub(crate) fn reverse(&self, axis: usize) -> Result<(Self, isize)> {
        rules::check_axis(axis, D)?;
        let mut reversed = *self;
        let stride = self.strides[axis];
        reversed.strides[axis] = slice::stepped_stride(stride, -1, self.shape[axis]);
        let last = self.shape[axis].saturating_sub(1) as isize;
        Ok((reversed, if self.is_empty() { 0 } else { last * stride }))
    }

    /// The array broadcast to a shape: axes are matched from the last one, and an axis of length 1,
    /// or a missing leading axis, is repeated with stride 0 (NumPy's rule).
    ///
    /// # Errors
    ///
    /// [`is_shape`](crate::Error::is_shape) if it does not fit;
    /// [`is_overflow`](crate::Error::is_overflow) if the elements of the result would count as more
    /// than `isize::MAX` bytes.
    pub(crate) fn broadcast_to<const E: usize>(
        &self,
        shape: [usize; E],
        itemsize: usize,
    ) -> Result<FixedLayout<E>> {
        const { assert!(E <= MAX_RANK, "at most 64 axes") };
        let mut strides = [0; E];
        reshape::broadcast(&self.shape, &self.strides, &shape, itemsize, &mut strides)?;
        Ok(FixedLayout { shape, strides })
    }

    /// The same elements in the same order (row-major or column-major order of the indices), in
    /// another shape.
    ///
    /// # Errors
    ///
    /// [`is_shape`](crate::Error::is_shape) if the number of elements differs;
    /// [`is_layout`](crate::Error::is_layout) if no strides express it, so that it would need a
    /// copy.
    pub(crate) fn reshape<const E: usize>(
        &self,
        shape: [usize; E],
        itemsize: usize,
        order: Order,
    ) -> Result<FixedLayout<E>> {
        const { assert!(E <= MAX_RANK, "at most 64 axes") };
        let mut strides = [0; E];
        reshape::reshape(&self.shape, &self.strides, &shape, itemsize, order, &mut strides)?;
        Ok(FixedLayout { shape, strides })
    }

    /// The elements at one index of an axis chosen at run time, and the distance to the new
    /// element 0. (With an axis known to the compiler, [`slice`](Self::slice) is shorter.) An `OUT`
    /// other than `D - 1` does not compile.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](crate::Error::is_bounds) if the axis or the index does not exist.
    pub(crate) fn drop_axis<const OUT: usize>(
        &self,
        axis: usize,
        index: usize,
    ) -> Result<(FixedLayout<OUT>, isize)> {
        const { assert!(OUT + 1 == D, "dropping an axis leaves one less") };
        rules::check_axis(axis, D)?;
        let index =
            slice::resolve_index(isize::try_from(index).unwrap_or(isize::MAX), axis, self.shape[axis])?;
        let source = |k: usize| k + usize::from(k >= axis);
        let dropped = FixedLayout {
            shape: std::array::from_fn(|k| self.shape[source(k)]),
            strides: std::array::from_fn(|k| self.strides[source(k)]),
        };
        let offset = if dropped.is_empty() { 0 } else { index * self.strides[axis] };
        Ok((dropped, offset))
    }

    /// A new axis of length 1 (with stride 0, as in NumPy) that becomes axis `axis` of the result.
    /// An `OUT` other than `D + 1` does not compile.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](crate::Error::is_bounds) if `axis` is more than `D`.
    pub(crate) fn insert_axis<const OUT: usize>(&self, axis: usize) -> Result<FixedLayout<OUT>> {
        const { assert!(OUT == D + 1 && OUT <= MAX_RANK, "inserting an axis makes one more") };
        rules::check_axis(axis, OUT)?;
        let source = |k: usize| (k != axis).then_some(k - usize::from(k > axis));
        Ok(FixedLayout {
            shape: std::array::from_fn(|k| source(k).map_or(1, |k| self.shape[k])),
            strides: std::array::from_fn(|k| source(k).map_or(0, |k| self.strides[k])),
        })
    }

    /// The same layout, with the contiguous strides for axes of length 0 or 1, for consumers that
    /// check strides that they never use.
    pub fn normalized(&self, itemsize: usize) -> Self {
        let mut normal = *self;
        rules::normalize(&self.shape, &mut normal.strides, itemsize);
        normal
    }

    /// The same layout with dynamic rank. Allocates only for more than four axes.
    ///
    /// # Errors
    ///
    /// [`is_overflow`](crate::Error::is_overflow), and only for an itemsize greater than the one
    /// with which it was made.
    pub fn to_dynamic(&self, itemsize: usize) -> Result<Layout> {
        rules::check(&self.shape, &self.strides, itemsize)?;
        Ok(self.to_dynamic_trusted(itemsize))
    }

    /// [`to_dynamic`](Self::to_dynamic) without a second check: `itemsize` must be the one with
    /// which it was made.
    #[inline]
    pub(crate) fn to_dynamic_trusted(self, itemsize: usize) -> Layout {
        Layout::trusted(&self.shape, &self.strides, itemsize)
    }
}

impl<const D: usize> fmt::Debug for FixedLayout<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedLayout").field("shape", &self.shape).field("strides", &self.strides).finish()
    }
}
