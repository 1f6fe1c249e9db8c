//! Layouts of dynamic rank.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::error::{Advice, Error, Kind, Result};
use crate::layout::axis_storage::{AxisStorage, InlineAxes, LayoutAxes, LayoutAxesMut};
use crate::layout::cut;
use crate::layout::offsets::{Offsets, Runs};
use crate::layout::rules::{self, Order};
use crate::layout::{FEW_AXES, FixedLayout, Span};

/// Shape, byte strides, itemsize and, for indirect arrays, suboffsets of an array of any rank up to
/// [`MAX_RANK`](crate::layout::MAX_RANK).
///
/// Up to four axes without suboffsets, it needs no heap, and cloning copies a few words. More axes,
/// and suboffsets, take a block of the heap, which clones share.
/// All operations are O(rank), unless stated otherwise.
///
/// # Indirect arrays
///
/// If [`suboffsets`](Self::suboffsets) has `Some(distance)` for an axis, that axis is a table of
/// pointers: after its index is applied, the pointer there is followed, and `distance` is added to
/// it. This is PEP 3118 at any rank, except that `None`, not a negative number, means "no pointer",
/// so a reversed row may begin at a negative distance. The operations behave as follows:
///
/// - slicing and reversing work on every axis: the distance cut off after a dereference is added to
///   its suboffset;
/// - an index drops an axis that dereferences only if an earlier axis of the same segment remains
///   (arrays, which can follow the pointer, drop it everywhere);
/// - `permute` works among the axes between two dereferences, not across one;
/// - `broadcast_to` works, `reshape` only to the same shape;
/// - [`offset_of`](Self::offset_of) and [`offsets`](Self::offsets) fail; `distances` returns the
///   way;
/// - [`span`](Self::span) is that of the first table of pointers. The targets of the pointers are
///   not checked.
///
/// ```
/// use crossdock::layout::{Layout, Order};
///
/// let layout = Layout::contiguous(&[2, 3, 4], 8, Order::ColumnMajor)?;
/// assert_eq!(layout.strides(), [8, 16, 48]);
/// let padded = Layout::new(&[3, 5], &[-16, 2], 2)?; // rows of 16 bytes, the last one first
/// assert_eq!((padded.span().low(), padded.span().high()), (-32, 10));
/// assert!(Layout::new(&[1 << 40, 1 << 40], &[1, 1], 8).unwrap_err().is_overflow());
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone)]
pub struct Layout {
    /// Invariant 2: `max(itemsize, 1)` times the product of the non-zero lengths is at most
    /// `isize::MAX`.
    itemsize: usize,
    /// Invariant 1: the rank is at most `MAX_RANK`.
    ///
    /// Invariant 3: the sum of `(len - 1) * |stride|` over the axes longer than 1, plus the
    /// itemsize, is at most `isize::MAX`. Hence the offset of every element, and every partial sum
    /// on the way to it, fits.
    ///
    /// Invariant 4: the numbers are in place exactly if the rank is at most `INLINE_RANK` and no
    /// axis dereferences.
    ///
    /// Invariant 5: suboffsets are none, or one per axis and at least one `Some`. Every one, plus
    /// the lowest and the highest offset within the segment that follows it, fits an `isize`; so
    /// does invariant 3 with the size of a pointer.
    axes: AxisStorage,
}

impl Layout {
    /// A layout with these strides, in bytes, of elements of `itemsize` bytes.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) if there are not as many strides as lengths;
    /// [`is_unsupported`](Error::is_unsupported) for more than
    /// [`MAX_RANK`](crate::layout::MAX_RANK) axes; [`is_overflow`](Error::is_overflow) if the
    /// elements would take, or the strides would reach, more than `isize::MAX` bytes.
    pub fn new(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<Self> {
        rules::check(shape, strides, itemsize)?;
        Ok(Self::trusted(shape, strides, itemsize))
    }

    /// Like [`new`](Self::new), for positive C lengths and at most `INLINE_RANK` axes, written
    /// to `result`. `None` in all other cases, which [`new`](Self::new) handles; `result` is then
    /// some valid layout.
    #[inline]
    pub(crate) fn new_to(
        shape: &[isize],
        strides: &[isize],
        itemsize: usize,
        result: &mut Self,
    ) -> Option<()> {
        if shape.len() != strides.len() {
            return None;
        }
        let axes = result.axes.become_inline(shape.len())?;
        let (new_shape, new_strides) = axes.dims_mut();
        // Rules 2 and 3 of `rules`, in one pass.
        let (mut nbytes, mut extent) = (itemsize.max(1), itemsize);
        let mut is_plain = true;
        let numbers = shape.iter().zip(strides);
        for ((new_len, new_stride), (&len, &stride)) in new_shape.iter_mut().zip(new_strides).zip(numbers) {
            is_plain &= len > 0;
            let len = len as usize;
            nbytes = nbytes.saturating_mul(len);
            extent = extent.saturating_add(len.wrapping_sub(1).saturating_mul(stride.unsigned_abs()));
            (*new_len, *new_stride) = (len, stride);
        }
        if !is_plain || nbytes.max(extent) > isize::MAX as usize {
            *result = Self::scalar(0);
            return None;
        }
        result.itemsize = itemsize;
        Some(())
    }

    /// The layout of a contiguous array.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn contiguous(shape: &[usize], itemsize: usize, order: Order) -> Result<Self> {
        rules::check_shape(shape, itemsize)?;
        let mut layout = Self::blank(shape.len(), itemsize, false)?;
        let (new_shape, strides) = layout.dims_mut();
        new_shape.copy_from_slice(shape);
        rules::contiguous_strides(shape, itemsize, order, strides);
        Ok(layout)
    }

    /// The layout of an indirect array: see [the type](Self#indirect-arrays).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); [`is_shape`](Error::is_shape) also if there are not as many
    /// suboffsets as axes, and [`is_overflow`](Error::is_overflow) also if an element could lie
    /// farther than `isize::MAX` from the pointer that leads to it.
    pub fn with_suboffsets(
        shape: &[usize],
        strides: &[isize],
        suboffsets: &[Option<isize>],
        itemsize: usize,
    ) -> Result<Self> {
        rules::check(shape, strides, itemsize)?;
        if suboffsets.len() != shape.len() {
            return Err(Error::new(
                Kind::Shape,
                format!(
                    "{} suboffsets were given for the {} axes of shape {shape:?}",
                    suboffsets.len(),
                    shape.len()
                ),
            ));
        }
        if suboffsets.iter().all(Option::is_none) {
            return Ok(Self::trusted(shape, strides, itemsize));
        }
        rules::extent(shape, strides, itemsize.max(size_of::<*const u8>()))?;
        cut::check_suboffsets(shape, strides, suboffsets, itemsize)?;
        let mut layout = Self::blank(shape.len(), itemsize, true)?;
        let (new_shape, new_strides) = layout.dims_mut();
        new_shape.copy_from_slice(shape);
        new_strides.copy_from_slice(strides);
        for (axis, &suboffset) in suboffsets.iter().enumerate() {
            if let Some(suboffset) = suboffset {
                layout.set_suboffset(axis, suboffset);
            }
        }
        Ok(layout)
    }

    /// A layout of shape and strides that already satisfy the invariants.
    #[inline]
    pub(super) fn trusted(shape: &[usize], strides: &[isize], itemsize: usize) -> Self {
        Self { itemsize, axes: AxisStorage::new(shape, strides) }
    }

    /// A layout of lengths 0, to fill in.
    #[inline]
    pub(super) fn blank(rank: usize, itemsize: usize, indirect: bool) -> Result<Self> {
        rules::check_rank(rank)?;
        Ok(Self::zeros(rank, itemsize, indirect))
    }

    /// A layout to fill in with the result of an operation on this one.
    #[inline]
    pub(super) fn blank_like(&self, rank: usize) -> Result<Self> {
        Self::blank(rank, self.itemsize, self.suboffsets().is_some())
    }

    /// Makes this the same as [`blank_like`](Self::blank_like) of `source`.
    #[inline]
    pub(super) fn become_blank_like(&mut self, source: &Self, rank: usize) -> Result<()> {
        if source.axes.inline().is_some() && self.axes.become_inline(rank).is_some() {
            self.itemsize = source.itemsize;
        } else {
            *self = source.blank_like(rank)?;
        }
        Ok(())
    }

    /// The axes, if they are in place: then none dereferences.
    #[inline(always)]
    pub(super) fn inline_axes(&self) -> Option<&InlineAxes> {
        self.axes.inline()
    }

    /// Whether the axes are in place (invariant 4): the layout is plain data then, without a
    /// destructor, and its bits are a clone.
    #[inline(always)]
    pub(crate) fn is_plain_data(&self) -> bool {
        self.axes.inline().is_some()
    }

    /// Copies the lengths and strides of all axes to the first places; `None` if they are not in
    /// place. The places after the rank get some numbers, because a copy of known length is short.
    #[inline(always)]
    pub(crate) fn copy_few_axes(
        &self,
        shape: &mut [usize; FEW_AXES],
        strides: &mut [isize; FEW_AXES],
    ) -> Option<()> {
        let axes = self.axes.inline()?;
        axes.copy_to(shape.first_chunk_mut()?, strides.first_chunk_mut()?);
        Some(())
    }

    /// The layout of these axes and this one's elements. The axes are a result of an operation on
    /// this layout, so they satisfy the invariants.
    #[inline(always)]
    pub(super) fn with_inline_axes(&self, axes: InlineAxes) -> Self {
        Self { itemsize: self.itemsize, axes: AxisStorage::Inline(axes) }
    }

    /// Makes this the layout of a scalar, and returns its axes, to fill in.
    #[inline(always)]
    pub(super) fn become_inline_scalar(&mut self, itemsize: usize) -> Option<&mut InlineAxes> {
        self.itemsize = itemsize;
        self.axes.become_inline(0)
    }

    #[inline]
    fn zeros(rank: usize, itemsize: usize, indirect: bool) -> Self {
        Self { itemsize, axes: AxisStorage::zeros(rank, indirect) }
    }

    #[inline]
    pub(super) fn dims_mut(&mut self) -> (&mut [usize], &mut [isize]) {
        let LayoutAxesMut { shape, strides, .. } = self.axes_mut();
        (shape, strides)
    }

    /// The parts of every axis.
    #[inline]
    pub(super) fn axes(&self) -> LayoutAxes<'_> {
        self.axes.axes()
    }

    /// The parts of every axis, to fill in.
    #[inline]
    pub(super) fn axes_mut(&mut self) -> LayoutAxesMut<'_> {
        self.axes.axes_mut()
    }

    #[inline]
    pub(super) fn suboffset(&self, axis: usize) -> Option<isize> {
        self.suboffsets().and_then(|suboffsets| suboffsets[axis])
    }

    #[inline]
    pub(super) fn set_suboffset(&mut self, axis: usize, suboffset: isize) {
        if let Some(place) = self.axes_mut().suboffsets.get_mut(axis) {
            *place = Some(suboffset);
        }
    }

    /// Drops the suboffsets if all are `None` (invariant 5).
    pub(super) fn settle(&mut self) {
        self.axes.settle();
    }

    /// The number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.axes.rank()
    }

    /// The size of one element in bytes.
    #[inline]
    pub fn itemsize(&self) -> usize {
        self.itemsize
    }

    /// The lengths of the axes.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.axes.shape()
    }

    /// The distance from one index to the next along each axis, in bytes.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        self.axes.strides()
    }

    /// For an indirect array, the bytes to add after following the pointer of each axis, or `None`
    /// if the axis follows no pointer.
    #[inline]
    pub fn suboffsets(&self) -> Option<&[Option<isize>]> {
        self.axes.suboffsets()
    }

    /// The number of axes up to the last one that dereferences. The following axes are direct.
    #[inline]
    pub(crate) fn indirect_axes(&self) -> usize {
        let last = |suboffsets: &[Option<isize>]| suboffsets.iter().rposition(Option::is_some);
        self.suboffsets().and_then(last).map_or(0, |axis| axis + 1)
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        rules::len(self.shape())
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// The number of bytes of all elements, without gaps.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.len() * self.itemsize
    }

    /// The bytes that the array touches, relative to its element 0; for an indirect array, those of
    /// its first table of pointers.
    pub fn span(&self) -> Span {
        let Some(suboffsets) = self.suboffsets() else {
            return Span::of(self.shape(), self.strides(), self.itemsize);
        };
        if self.shape().contains(&0) {
            return Span::of(&[0], &[0], 0);
        }
        let table = suboffsets.iter().position(Option::is_some).map_or(self.rank(), |axis| axis + 1);
        Span::of(&self.shape()[..table], &self.strides()[..table], size_of::<*const u8>())
    }

    /// Whether the elements are contiguous in this order. Axes of length 1 do not matter, and an
    /// empty array is contiguous in both orders (NumPy's rule). An indirect array never is.
    pub fn is_contiguous(&self, order: Order) -> bool {
        self.suboffsets().is_none()
            && rules::is_contiguous(self.shape(), self.strides(), self.itemsize, order)
    }

    /// The order in which the array is contiguous; row-major if it is in both.
    #[inline]
    pub fn order(&self) -> Option<Order> {
        [Order::RowMajor, Order::ColumnMajor].into_iter().find(|&order| self.is_contiguous(order))
    }

    /// Whether no two elements share a byte. `true` is certain. `false` is returned for indirect
    /// arrays, whose pointers may be equal, and possibly for strides that interleave, which no view
    /// of a contiguous array has. O(rank log rank).
    #[inline]
    #[doc(hidden)]
    pub fn is_injective(&self) -> bool {
        self.suboffsets().is_none() && rules::is_injective(self.shape(), self.strides(), self.itemsize)
    }

    /// Whether the strides of all axes longer than 1 are multiples of `align` bytes. With an
    /// aligned element 0, all elements are aligned then. Always `false` for an indirect array.
    pub fn is_aligned(&self, align: usize) -> bool {
        self.suboffsets().is_none() && rules::is_aligned(self.shape(), self.strides(), align)
    }

    /// The offset of an element from element 0, in bytes.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) if there is not one index per axis;
    /// [`is_bounds`](Error::is_bounds), naming index, axis and length;
    /// [`is_layout`](Error::is_layout) for an indirect array: see `distances`.
    pub fn offset_of(&self, index: &[usize]) -> Result<isize> {
        self.direct("one offset")?;
        self.check_index(index)?;
        Ok(index.iter().zip(self.strides()).map(|(&index, &stride)| index as isize * stride).sum())
    }

    /// The offset of an element from element 0, in bytes; `None` if it does not exist, or takes
    /// more than a few additions: [`offset_of`](Self::offset_of) handles all cases.
    #[inline(always)]
    pub(crate) fn quick_offset(&self, index: &[usize]) -> Option<isize> {
        self.axes.inline()?.offset_of(index)
    }

    /// The way to an element of a possibly indirect array: the distances to add, with a pointer to
    /// follow between each two.
    ///
    /// The first is added to the pointer of element 0. While another follows, the pointer stored
    /// there is followed and the next distance added. Without suboffsets there is exactly one.
    ///
    /// # Errors
    ///
    /// As [`offset_of`](Self::offset_of), but for indirect arrays.
    pub(crate) fn distances(&self, index: &[usize]) -> Result<impl Iterator<Item = isize>> {
        self.check_index(index)?;
        let mut axis = 0;
        let mut start = Some(0isize);
        Ok(std::iter::from_fn(move || {
            let mut distance = start.take()?;
            while axis < self.rank() && start.is_none() {
                distance += index[axis] as isize * self.strides()[axis];
                start = self.suboffset(axis);
                axis += 1;
            }
            Some(distance)
        }))
    }

    /// The offsets of all elements in row-major order of their indices, in bytes from element 0.
    ///
    /// # Errors
    ///
    /// [`is_layout`](Error::is_layout) for an indirect array.
    #[inline]
    #[doc(hidden)]
    pub fn offsets(&self) -> Result<Offsets> {
        self.runs().map(Offsets::new)
    }

    /// The same as runs of equal step, for simple inner loops. Mergeable axes count as one.
    ///
    /// # Errors
    ///
    /// [`is_layout`](Error::is_layout) for an indirect array.
    pub(crate) fn runs(&self) -> Result<Runs> {
        self.direct("offsets")?;
        Ok(Runs::new(self.shape(), self.strides()))
    }

    fn check_index(&self, index: &[usize]) -> Result<()> {
        if self.contains(index) { Ok(()) } else { Err(rules::index_error(index, self.shape())) }
    }

    pub(super) fn direct(&self, what: &str) -> Result<()> {
        match self.suboffsets() {
            None => Ok(()),
            Some(suboffsets) => Err(Error::new(
                Kind::Layout,
                format!("an array with suboffsets {suboffsets:?} has no {what}, since it follows pointers"),
            )
            .advising(Advice::Copy)),
        }
    }

    /// The layout of a scalar, without axes.
    #[inline]
    pub(crate) fn scalar(itemsize: usize) -> Self {
        Self { itemsize, axes: AxisStorage::SCALAR }
    }

    /// One part of every element, `offset` bytes into it: the same axes, and the distance to the
    /// new element 0.
    ///
    /// The part lies within the element, so the result reaches only bytes that this layout reaches.
    pub(crate) fn part(&self, offset: usize, itemsize: usize) -> (Self, isize) {
        debug_assert!(offset + itemsize <= self.itemsize);
        let mut part = self.clone();
        part.itemsize = itemsize;
        let distance = offset as isize;
        let Some(last) = self.indirect_axes().checked_sub(1) else {
            // An empty array may have no byte at element 0, so a pointer moved into it could leave
            // the allocation.
            return (part, if self.shape().contains(&0) { 0 } else { distance });
        };
        if let Some(suboffset) = self.suboffset(last) {
            part.set_suboffset(last, suboffset + distance);
        }
        (part, 0)
    }

    /// Every element as an array: appends the axes of `inner` to those of this layout.
    ///
    /// # Errors
    ///
    /// [`is_unsupported`](Error::is_unsupported) for more than
    /// [`MAX_RANK`](crate::layout::MAX_RANK) axes; [`is_overflow`](Error::is_overflow) if an empty
    /// `inner` is too long; [`is_layout`](Error::is_layout) if `inner` is indirect.
    pub(crate) fn with_inner(&self, inner: &Self) -> Result<Self> {
        inner.direct("place inside of an element")?;
        let mut result =
            Self::blank(self.rank() + inner.rank(), inner.itemsize, self.suboffsets().is_some())?;
        let (shape, strides) = result.dims_mut();
        for (axis, (len, stride)) in shape.iter_mut().zip(strides).enumerate() {
            let (source, axis) = axis.checked_sub(self.rank()).map_or((self, axis), |axis| (inner, axis));
            (*len, *stride) = (source.shape()[axis], source.strides()[axis]);
        }
        rules::check(result.shape(), result.strides(), inner.itemsize)?;
        if let Some(suboffsets) = self.suboffsets() {
            for (axis, &suboffset) in suboffsets.iter().enumerate() {
                if let Some(suboffset) = suboffset {
                    result.set_suboffset(axis, suboffset);
                }
            }
            let suboffsets = result.suboffsets().unwrap_or_default();
            cut::check_suboffsets(result.shape(), result.strides(), suboffsets, inner.itemsize)?;
        }
        Ok(result)
    }

    /// The same layout, with the contiguous strides for axes of length 0 or 1, for consumers that
    /// check strides that they never use. An indirect array is unchanged.
    pub fn normalized(&self) -> Self {
        let mut normal = self.clone();
        if self.suboffsets().is_none() {
            rules::normalize(self.shape(), normal.dims_mut().1, self.itemsize);
        }
        normal
    }

    /// The same layout with static rank.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) for another rank; [`is_layout`](Error::is_layout) for an
    /// indirect array.
    pub fn to_fixed<const D: usize>(&self) -> Result<FixedLayout<D>> {
        self.direct("strides alone that would describe it")?;
        match (self.shape().try_into(), self.strides().try_into()) {
            (Ok(shape), Ok(strides)) => Ok(FixedLayout::trusted(shape, strides)),
            _ => Err(Error::new(
                Kind::Shape,
                format!("shape {:?} has rank {}, not {D}", self.shape(), self.rank()),
            )),
        }
    }
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        self.itemsize == other.itemsize
            && self.shape() == other.shape()
            && self.strides() == other.strides()
            && self.suboffsets() == other.suboffsets()
    }
}

impl Eq for Layout {}

impl Hash for Layout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.itemsize, self.shape(), self.strides(), self.suboffsets()).hash(state);
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Layout");
        text.field("shape", &self.shape()).field("strides", &self.strides());
        if let Some(suboffsets) = self.suboffsets() {
            text.field("suboffsets", &suboffsets);
        }
        text.field("itemsize", &self.itemsize).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::s;

    #[test]
    fn the_span_of_an_indirect_array_is_its_first_table() {
        let table =
            Layout::with_suboffsets(&[2, 3, 4, 5], &[24, 8, 20, 4], &[None, Some(100), None, None], 4)
                .unwrap();
        let span = table.span();
        assert_eq!((span.low(), span.high()), (0, 24 + 16 + size_of::<*const u8>() as isize));
        let nothing = Layout::with_suboffsets(&[2, 0], &[8, 4], &[Some(0), None], 4).unwrap().span();
        assert_eq!((nothing.low(), nothing.high()), (0, 0));
    }

    #[test]
    fn suboffsets_that_say_nothing_make_a_direct_array() {
        let layout = Layout::with_suboffsets(&[2, 3], &[12, 4], &[None, None], 4).unwrap();
        assert_eq!(layout, Layout::contiguous(&[2, 3], 4, Order::RowMajor).unwrap());
        assert!(layout.suboffsets().is_none());
        let refused =
            Layout::with_suboffsets(&[2, 3], &[8, 4], &[Some(isize::MAX - 11), None], 4).unwrap_err();
        assert!(refused.is_overflow(), "{refused}");
        assert!(Layout::with_suboffsets(&[2, 3], &[8, 4], &[Some(isize::MAX - 12), None], 4).is_ok());
        assert!(Layout::with_suboffsets(&[2, 3], &[8, -4], &[Some(isize::MIN + 7), None], 4).is_err());
        assert!(Layout::with_suboffsets(&[2, 3], &[8, -4], &[Some(isize::MIN + 8), None], 4).is_ok());
    }

    #[test]
    fn a_0_d_array_has_one_element() {
        let layout = Layout::contiguous(&[], 8, Order::RowMajor).unwrap();
        assert_eq!((layout.rank(), layout.len(), layout.nbytes(), layout.span().high()), (0, 1, 8, 8));
        assert_eq!(layout.offset_of(&[]).unwrap(), 0);
        assert_eq!(layout.order(), Some(Order::RowMajor));
        assert_eq!(layout.slice(s![]).unwrap(), (layout.clone(), 0));
        assert_eq!(layout.broadcast_to(&[2, 3]).unwrap().strides(), [0, 0]);
        assert!(layout.drop_axis(0, 0).unwrap_err().is_bounds());
    }

    #[test]
    fn the_greatest_rank_is_64_for_results_too() {
        let layout = Layout::contiguous(&[1; 64], 8, Order::RowMajor).unwrap();
        assert_eq!(layout.clone(), layout);
        assert!(layout.insert_axis(0).unwrap_err().is_unsupported());
        assert!(layout.broadcast_to(&[1; 65]).unwrap_err().is_unsupported());
        assert!(layout.reshape(&[1; 65], Order::RowMajor).unwrap_err().is_unsupported());
        assert_eq!(layout.transpose().unwrap().rank(), 64);
        assert_eq!(layout.squeeze().unwrap().rank(), 0);
    }

    #[test]
    fn a_layout_of_which_a_clone_exists_changes_alone() {
        let shared = Layout::contiguous(&[1; 6], 8, Order::ColumnMajor).unwrap();
        let strided = Layout::new(&[1; 6], &[1000; 6], 8).unwrap();
        let clone = strided.clone();
        assert_eq!(strided.normalized(), Layout::contiguous(&[1; 6], 8, Order::RowMajor).unwrap());
        assert_eq!((clone.strides(), strided.strides()), (&[1000; 6][..], &[1000; 6][..]));
        assert_eq!(shared.part(4, 2).0.shape(), shared.shape());

        let table = Layout::with_suboffsets(&[2, 3], &[8, 4], &[Some(10), None], 4).unwrap();
        let (part, _) = table.part(1, 2);
        assert_eq!((part.suboffsets().unwrap()[0], table.suboffsets().unwrap()[0]), (Some(11), Some(10)));
    }

    #[test]
    fn equal_layouts_are_equal_however_they_were_made() {
        let long = Layout::contiguous(&[1, 2, 1, 3, 1, 4, 1, 5, 1], 2, Order::RowMajor).unwrap();
        let short = long.squeeze().unwrap();
        assert_eq!(short, Layout::contiguous(&[2, 3, 4, 5], 2, Order::RowMajor).unwrap());
        assert_ne!(short, Layout::contiguous(&[2, 3, 4, 5], 2, Order::ColumnMajor).unwrap());
        assert_eq!(
            format!("{short:?}"),
            "Layout { shape: [2, 3, 4, 5], strides: [120, 40, 10, 2], itemsize: 2 }"
        );
    }
}
