//! Views of layouts of dynamic rank.

use crate::error::{Error, Kind, Result};
use crate::layout::axis_storage::InlineAxes;
use crate::layout::cut::{self, Cut, Indirection};
use crate::layout::dynamic::Layout;
use crate::layout::inline_cut::InlineCut;
use crate::layout::reshape;
use crate::layout::rules::{self, Order};
use crate::layout::slice::{self, AxisList, AxisSlice, Picked, RangeSemantics};

impl Layout {
    /// A part of the array, with Rust's reading of ranges (see [`s!`](crate::s)), and the distance
    /// from this element 0 to its element 0.
    ///
    /// There must be one item per axis, or an [`Ellipsis`](crate::layout::Ellipsis) for those not
    /// named.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) if the number of items differs from the number of axes;
    /// [`is_bounds`](Error::is_bounds), naming axis, index or range, and length;
    /// [`is_layout`](Error::is_layout) if an indirect array cannot drop an axis.
    pub(crate) fn slice(&self, axes: impl AxisList) -> Result<(Self, isize)> {
        self.slice_in(&axes, RangeSemantics::Rust)
    }

    /// A part of the array, with NumPy's reading of ranges: bounds are clamped, a negative step
    /// begins at the first bound, and axes not named are kept whole.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) for more items than axes or two ellipses;
    /// [`is_bounds`](Error::is_bounds) for an integer index out of bounds or a step of 0;
    /// [`is_layout`](Error::is_layout) if an indirect array cannot drop an axis.
    #[cfg(test)]
    pub(crate) fn slice_numpy(&self, axes: impl AxisList) -> Result<(Self, isize)> {
        self.slice_in(&axes, RangeSemantics::Numpy)
    }

    fn slice_in(&self, axes: &impl AxisList, reading: RangeSemantics) -> Result<(Self, isize)> {
        match self.slice_inline(axes, reading) {
            Some(sliced) => Ok(sliced),
            None => axes.with_axes(|axes| self.slice_as(axes, reading)),
        }
    }

    /// [`slice`](Self::slice) or [`slice_numpy`](Self::slice_numpy) for a caller that follows
    /// pointers: an index may drop an axis that dereferences, if all axes before it are dropped,
    /// too.
    pub(crate) fn slice_following(
        &self,
        axes: &[AxisSlice],
        reading: RangeSemantics,
    ) -> Result<(Self, Indirection)> {
        let (rank, rest) = self.ranks_of(axes, reading)?;
        let mut result = self.blank_like(rank)?;
        let mut cut = Cut::following(self, &mut result);
        cut_axes(&mut cut, axes, rest, reading)?;
        let indirection = cut.finish_indirection();
        result.settle();
        Ok((result, indirection))
    }

    /// [`slice`](Self::slice) or [`slice_numpy`](Self::slice_numpy) of a direct array of few axes,
    /// in one pass. `None` in all other cases, and for a slice with an error, which those handle.
    #[inline(always)]
    pub(crate) fn slice_inline(
        &self,
        axes: &impl AxisList,
        reading: RangeSemantics,
    ) -> Option<(Self, isize)> {
        let mut result = InlineAxes::SCALAR;
        let mut cut = InlineCut::new(self.inline_axes()?, &mut result, reading);
        axes.cut_inline(&mut cut);
        let offset = cut.finish()?;
        Some((self.with_inline_axes(result), offset))
    }

    /// [`slice`](Self::slice) or [`slice_numpy`](Self::slice_numpy) of any array, or its error.
    #[inline(never)]
    pub(crate) fn slice_as(&self, axes: &[AxisSlice], reading: RangeSemantics) -> Result<(Self, isize)> {
        let mut result = Self::scalar(self.itemsize());
        let offset = self.slice_any_to(axes, reading, &mut result)?;
        Ok((result, offset))
    }

    /// Like [`slice`](Self::slice) or [`slice_numpy`](Self::slice_numpy), written to `result`. On
    /// failure, `result` is some valid layout.
    #[inline]
    pub(crate) fn slice_to(
        &self,
        axes: &[AxisSlice],
        reading: RangeSemantics,
        result: &mut Self,
    ) -> Result<isize> {
        if let Some(source) = self.inline_axes()
            && let Some(place) = result.become_inline_scalar(self.itemsize())
        {
            let mut cut = InlineCut::new(source, place, reading);
            axes.cut_inline(&mut cut);
            if let Some(offset) = cut.finish() {
                return Ok(offset);
            }
        }
        self.slice_any_to(axes, reading, result)
    }

    #[inline(never)]
    fn slice_any_to(&self, axes: &[AxisSlice], reading: RangeSemantics, result: &mut Self) -> Result<isize> {
        let (rank, rest) = self.ranks_of(axes, reading)?;
        result.become_blank_like(self, rank)?;
        let mut cut = Cut::new(self, result);
        cut_axes(&mut cut, axes, rest, reading)?;
        Ok(cut.finish())
    }

    /// The rank of a slice, and the number of axes that it does not name.
    #[inline]
    fn ranks_of(&self, axes: &[AxisSlice], reading: RangeSemantics) -> Result<(usize, usize)> {
        let (mut dropped, mut kept, mut added, mut ellipses) = (0, 0, 0, 0);
        for item in axes {
            match item {
                AxisSlice::Index(_) => dropped += 1,
                AxisSlice::Range { .. } => kept += 1,
                AxisSlice::NewAxis => added += 1,
                AxisSlice::Ellipsis => ellipses += 1,
            }
        }
        let named = dropped + kept;
        let rank = self.rank();
        if ellipses > 1 {
            return Err(Error::new(
                Kind::Shape,
                format!("a slice has {ellipses} ellipses; at most one is possible"),
            ));
        }
        let open = ellipses == 1 || reading == RangeSemantics::Numpy;
        if named > rank || (named < rank && !open) {
            return Err(Error::new(
                Kind::Shape,
                format!(
                    "the slice has {named} {}, but the array has rank {rank}",
                    if named == 1 { "axis" } else { "axes" }
                ),
            ));
        }
        Ok((rank - dropped + added, rank - named))
    }

    /// The axes in another order: axis `k` of the result is axis `axes[k]` of this one.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) if `axes` does not name each axis once;
    /// [`is_layout`](Error::is_layout) if an axis of an indirect array would move across a
    /// dereference.
    pub(crate) fn permute(&self, axes: &[usize]) -> Result<Self> {
        rules::check_permutation(axes, self.rank())?;
        let mut result = self.blank_like(self.rank())?;
        let (shape, strides) = result.dims_mut();
        for (k, &axis) in axes.iter().enumerate() {
            shape[k] = self.shape()[axis];
            strides[k] = self.strides()[axis];
        }
        let Some(suboffsets) = self.suboffsets() else { return Ok(result) };
        for (k, &axis) in axes.iter().enumerate() {
            if cut::segment(suboffsets, axis) != cut::segment(suboffsets, k) {
                return Err(Error::new(
                    Kind::Layout,
                    format!(
                        "permutation {axes:?} moves axis {axis} across a dereference (suboffsets \
                        {suboffsets:?}); copy the array"
                    ),
                ));
            }
            // Each segment keeps its place, so its dereference stays on its last axis.
            if let Some(suboffset) = suboffsets[k] {
                result.set_suboffset(k, suboffset);
            }
        }
        Ok(result)
    }

    /// The axes in reverse order.
    ///
    /// # Errors
    ///
    /// [`is_layout`](Error::is_layout) if an axis of an indirect array would move across a
    /// dereference; otherwise none.
    pub(crate) fn transpose(&self) -> Result<Self> {
        let mut axes = [0; crate::layout::MAX_RANK];
        let axes = &mut axes[..self.rank()];
        for (axis, turned) in axes.iter_mut().rev().enumerate() {
            *turned = axis;
        }
        self.permute(axes)
    }

    /// One axis reversed, and the distance to the new element 0.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist.
    pub(crate) fn reverse(&self, axis: usize) -> Result<(Self, isize)> {
        rules::check_axis(axis, self.rank())?;
        let mut result = self.blank_like(self.rank())?;
        let mut cut = Cut::new(self, &mut result);
        for k in 0..self.rank() {
            let (_, len) = cut.axis();
            if k == axis {
                cut.range(Picked { first: len as isize - 1, len }, -1);
            } else {
                cut.whole();
            }
        }
        let offset = cut.finish();
        Ok((result, offset))
    }

    /// The array broadcast to a shape: axes are matched from the last one, and an axis of length 1,
    /// or a missing leading axis, is repeated with stride 0 (NumPy's rule).
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) if it does not fit; [`is_overflow`](Error::is_overflow) if the
    /// elements of the result would count as more than `isize::MAX` bytes;
    /// [`is_unsupported`](Error::is_unsupported) for more than
    /// [`MAX_RANK`](crate::layout::MAX_RANK) axes.
    pub(crate) fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        let mut result = self.blank_like(shape.len())?;
        let (new_shape, strides) = result.dims_mut();
        reshape::broadcast(self.shape(), self.strides(), shape, self.itemsize(), strides)?;
        new_shape.copy_from_slice(shape);
        let added = shape.len() - self.rank();
        for axis in 0..self.rank() {
            if let Some(suboffset) = self.suboffset(axis) {
                result.set_suboffset(added + axis, suboffset);
            }
        }
        Ok(result)
    }

    /// The same elements in the same order (row-major or column-major order of the indices), in
    /// another shape.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) if the number of elements differs;
    /// [`is_layout`](Error::is_layout) if no strides express it, so that it would need a copy;
    /// [`is_overflow`](Error::is_overflow) and [`is_unsupported`](Error::is_unsupported) for
    /// invalid shapes.
    pub(crate) fn reshape(&self, shape: &[usize], order: Order) -> Result<Self> {
        if shape == self.shape() {
            return Ok(self.clone());
        }
        self.direct("other shape that strides could express")?;
        let mut result = Self::blank(shape.len(), self.itemsize(), false)?;
        let (new_shape, strides) = result.dims_mut();
        reshape::reshape(self.shape(), self.strides(), shape, self.itemsize(), order, strides)?;
        new_shape.copy_from_slice(shape);
        Ok(result)
    }

    /// One index of an axis, and the distance to the new element 0.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis or the index does not exist;
    /// [`is_layout`](Error::is_layout) if an indirect array cannot drop the axis.
    pub(crate) fn drop_axis(&self, axis: usize, index: usize) -> Result<(Self, isize)> {
        rules::check_axis(axis, self.rank())?;
        let mut result = self.blank_like(self.rank() - 1)?;
        let mut cut = Cut::new(self, &mut result);
        for k in 0..self.rank() {
            let (_, len) = cut.axis();
            if k == axis {
                let index = isize::try_from(index).unwrap_or(isize::MAX);
                cut.index(slice::resolve_index(index, axis, len)?)?;
            } else {
                cut.whole();
            }
        }
        let offset = cut.finish();
        Ok((result, offset))
    }

    /// A new axis of length 1 (with stride 0, as in NumPy) that becomes axis `axis` of the result.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if `axis` is more than the rank;
    /// [`is_unsupported`](Error::is_unsupported) if the rank is
    /// [`MAX_RANK`](crate::layout::MAX_RANK) already.
    pub(crate) fn insert_axis(&self, axis: usize) -> Result<Self> {
        rules::check_axis(axis, self.rank() + 1)?;
        let mut result = self.blank_like(self.rank() + 1)?;
        let mut cut = Cut::new(self, &mut result);
        (0..axis).for_each(|_| cut.whole());
        cut.insert();
        (axis..self.rank()).for_each(|_| cut.whole());
        Ok(result)
    }

    /// Removes the axes of length 1.
    ///
    /// # Errors
    ///
    /// [`is_layout`](Error::is_layout) if an indirect array cannot drop such an axis; otherwise
    /// none.
    pub(crate) fn squeeze(&self) -> Result<Self> {
        let mut result = self.blank_like(self.shape().iter().filter(|&&len| len != 1).count())?;
        let mut cut = Cut::new(self, &mut result);
        for _ in 0..self.rank() {
            match cut.axis() {
                (_, 1) => cut.index(0)?,
                _ => cut.whole(),
            }
        }
        Ok(result)
    }
}

/// Passes a slice to a cut, item by item. `rest` axes of the source have no item.
#[inline]
fn cut_axes(cut: &mut Cut<'_>, axes: &[AxisSlice], mut rest: usize, reading: RangeSemantics) -> Result<()> {
    for &item in axes {
        match item {
            AxisSlice::NewAxis => cut.insert(),
            AxisSlice::Ellipsis => (0..std::mem::take(&mut rest)).for_each(|_| cut.whole()),
            AxisSlice::Index(index) => {
                let (axis, len) = cut.axis();
                cut.index(slice::resolve_index(index, axis, len)?)?;
            }
            AxisSlice::Range { start, stop, step } => {
                let (axis, len) = cut.axis();
                cut.range(slice::resolve(reading, start, stop, step, axis, len)?, step);
            }
        }
    }
    (0..rest).for_each(|_| cut.whole());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{INLINE_RANK, NewAxis, Order};
    use crate::s;

    /// Two axes in a table of pointers, then two in rows of 4-byte elements.
    fn table() -> Layout {
        Layout::with_suboffsets(&[2, 3, 4, 5], &[24, 8, 20, 4], &[None, Some(100), None, None], 4).unwrap()
    }

    /// An item that often has an error: an index or a bound outside, a step of 0.
    fn item(random: &mut fastrand::Rng) -> AxisSlice {
        let number = |random: &mut fastrand::Rng| match random.u8(..16) {
            0 => isize::MIN,
            1 => isize::MAX,
            _ => random.isize(-4..=4),
        };
        match random.u8(..8) {
            0 | 1 => AxisSlice::Index(number(random)),
            2 => AxisSlice::NewAxis,
            3 => AxisSlice::ALL,
            _ => AxisSlice::Range {
                start: random.bool().then(|| number(random)),
                stop: random.bool().then(|| number(random)),
                step: if random.bool() { 1 } else { number(random) },
            },
        }
    }

    #[test]
    fn one_pass_makes_what_the_general_slice_makes_or_leaves_the_slice_to_it() {
        let random = &mut fastrand::Rng::with_seed(crossdock_testkit::seed());
        let (mut made, mut left) = (0, 0);
        for _ in 0..20_000 {
            let shape: Vec<usize> = (0..random.usize(..=5)).map(|_| random.usize(..=3)).collect();
            let order = if random.bool() { Order::RowMajor } else { Order::ColumnMajor };
            let layout = Layout::contiguous(&shape, 4, order).unwrap();
            let items: Vec<_> = (0..random.usize(..=shape.len() + 2)).map(|_| item(random)).collect();
            for (name, reading) in [("Rust", RangeSemantics::Rust), ("NumPy", RangeSemantics::Numpy)] {
                let general = layout.slice_as(&items, reading);
                let case = format!("{shape:?} in {order:?}, {items:?} as in {name}");
                if let Some((sliced, offset)) = layout.slice_inline(&items, reading) {
                    let (expected, at) = general.unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert_eq!(
                        (sliced.shape(), sliced.strides(), offset),
                        (expected.shape(), expected.strides(), at),
                        "{case}"
                    );
                    made += 1;
                } else {
                    let is_large = |rank: usize| rank > INLINE_RANK;
                    assert!(
                        general.is_err()
                            || is_large(shape.len())
                            || general.is_ok_and(|(sliced, _)| is_large(sliced.rank())),
                        "{case}"
                    );
                    left += 1;
                }
            }
        }
        assert!(made > 1000 && left > 1000, "{made} made, {left} left");
    }

    #[test]
    fn what_is_cut_off_behind_a_pointer_is_added_behind_it() {
        let (view, offset) = table().slice(s![1.., ..;-1, 1.., 3]).unwrap();
        assert_eq!((view.shape(), view.strides(), offset), (&[1, 3, 3][..], &[24, -8, 20][..], 24 + 16));
        assert_eq!(view.suboffsets().unwrap(), [None, Some(100 + 20 + 12), None]);
        let (reversed, offset) = table().reverse(3).unwrap();
        assert_eq!((offset, reversed.suboffsets().unwrap()[1]), (0, Some(116)));
    }

    #[test]
    fn an_index_hands_the_pointer_to_an_axis_in_front_or_is_refused() {
        let (view, offset) = table().drop_axis(1, 2).unwrap();
        assert_eq!((view.suboffsets().unwrap(), offset), (&[Some(100), None, None][..], 16));
        let (row, _) = table().slice(s![0..1, 2, .., ..]).unwrap();
        assert_eq!(row.shape(), [1, 4, 5]);
        let refused = table().slice(s![0, 2, .., ..]).unwrap_err();
        assert!(refused.is_layout() && refused.to_string().contains("axis 1"), "{refused}");
        assert!(table().slice(s![0, 2..3, .., ..]).is_ok());
    }

    #[test]
    fn axes_stay_on_their_side_of_a_pointer() {
        let swapped = table().permute(&[1, 0, 3, 2]).unwrap();
        assert_eq!(swapped.strides(), [8, 24, 4, 20]);
        assert_eq!(swapped.suboffsets().unwrap(), [None, Some(100), None, None]);
        let refused = table().transpose().unwrap_err();
        assert!(refused.is_layout() && refused.to_string().contains("axis 3"), "{refused}");
        assert!(table().reshape(&[6, 20], Order::RowMajor).unwrap_err().is_layout());
        assert_eq!(table().reshape(&[2, 3, 4, 5], Order::RowMajor).unwrap(), table());
        assert!(table().to_fixed::<4>().unwrap_err().is_layout());
        assert!(table().offset_of(&[0, 0, 0, 0]).unwrap_err().is_layout());
    }

    #[test]
    fn a_slice_of_dynamic_rank_names_each_axis_or_says_where_the_others_are() {
        let layout = Layout::contiguous(&[2, 3, 4], 1, Order::RowMajor).unwrap();
        let refused = layout.slice(s![0, ..]).unwrap_err();
        assert_eq!(refused.to_string(), "the slice has 2 axes, but the array has rank 3");
        assert!(layout.slice(s![0, 0, 0, 0]).unwrap_err().is_shape());
        assert!(layout.slice_numpy(s![0, 0, 0, 0]).unwrap_err().is_shape());
        let twice = [AxisSlice::Ellipsis, AxisSlice::Ellipsis];
        assert!(layout.slice_numpy(&twice[..]).unwrap_err().is_shape());
        assert_eq!(layout.slice_numpy(s![1]).unwrap().0.shape(), [3, 4]);
        assert_eq!(layout.slice(s![crate::layout::Ellipsis, 1]).unwrap().0.shape(), [2, 3]);
        assert_eq!(layout.slice(vec![AxisSlice::ALL; 3]).unwrap().0, layout);
    }

    #[test]
    fn a_slice_with_more_axes_than_lie_in_place_is_the_same_slice() {
        let layout = Layout::contiguous(&[2, 3, 4, 5], 1, Order::RowMajor).unwrap();
        let (long, offset) = layout.slice(s![1.., NewAxis, .., 1..;2, NewAxis, -1]).unwrap();
        assert_eq!((long.shape(), long.strides()), (&[1, 1, 3, 2, 1][..], &[60, 0, 20, 10, 0][..]));
        assert_eq!(offset, 60 + 5 + 4);
        let (short, same) = long.slice(s![0, 0, .., .., 0]).unwrap();
        assert_eq!((short, same), layout.slice(s![1.., .., 1..;2, -1]).unwrap().0.drop_axis(0, 0).unwrap());
        let backwards = AxisSlice::Range { start: Some(5), stop: Some(1), step: -2 };
        let numpy = layout.slice_numpy([AxisSlice::ALL, backwards]).unwrap();
        assert_eq!(
            (numpy.0.shape(), numpy.0.strides(), numpy.1),
            (&[2, 1, 4, 5][..], &[60, -40, 5, 1][..], 40)
        );
        assert!(layout.slice_numpy(s![.., ..;0]).unwrap_err().to_string().contains("axis 1 is 0"));
    }
}
